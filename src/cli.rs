//! The command line: one file a command. It reads flags, files and the clock, calls the pure rooms and the
//! other edges, and prints; it decides nothing.
//!
//! Exit status: 0 all is well, 1 something was refused (or did not go as expected), 2 bad usage or input
//! that cannot be read.

mod agent;
mod cases;
mod certs;
mod check;
mod completion;
mod demo;
mod explain;
mod input;
mod judge;
mod live;
mod man;
pub mod manifests;
mod output;
mod pools;
mod scan;
mod scheduler_config;
mod schema;
mod serve;
mod snapshot;
mod test;
mod world;

use std::{io, process::ExitCode};

use clap::{Parser, Subcommand};

/// Exit status of a run in which something was refused.
const REFUSED: u8 = 1;
/// Exit status of a run that could not do what was asked.
const FAILED: u8 = 2;

/// The gate for GPU Pods: admission webhook, scheduler extender, and the same answers offline.
#[derive(Debug, Parser)]
#[command(
    name = "sluice",
    version,
    max_term_width = 100,
    subcommand_required = true,
    arg_required_else_help = true
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Serve(Box<serve::Arguments>),
    Agent(agent::Arguments),
    Demo(demo::Arguments),
    Check(check::Arguments),
    Test(test::Arguments),
    Scan(scan::Arguments),
    Pools(pools::Arguments),
    Snapshot(snapshot::Arguments),
    Explain(explain::Arguments),
    Schema(schema::Arguments),
    Certs(certs::Arguments),
    SchedulerConfig(scheduler_config::Arguments),
    Completion(completion::Arguments),
    Man(man::Arguments),
}

/// Runs the command line and gives the exit status.
#[must_use]
pub fn main() -> ExitCode {
    let result = match Arguments::parse().command {
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Agent(arguments) => agent::run(&arguments),
        Command::Demo(arguments) => demo::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Test(arguments) => test::run(&arguments),
        Command::Scan(arguments) => scan::run(&arguments),
        Command::Pools(arguments) => pools::run(&arguments),
        Command::Snapshot(arguments) => snapshot::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Schema(arguments) => schema::run(&arguments),
        Command::Certs(arguments) => certs::run(&arguments),
        Command::SchedulerConfig(arguments) => scheduler_config::run(&arguments),
        Command::Completion(arguments) => completion::run(&arguments),
        Command::Man(arguments) => man::run(&arguments),
    };
    result.unwrap_or_else(|error| {
        if is_closed_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        output::complain(&format!("{error:#}"));
        ExitCode::from(FAILED)
    })
}

/// Who reads our output has read enough, as `head` does.
fn is_closed_pipe(error: &anyhow::Error) -> bool {
    let kind = error.chain().find_map(|cause| cause.downcast_ref::<io::Error>()).map(io::Error::kind);
    kind == Some(io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_says_what_it_does_and_shows_an_example() {
        let mut command = Arguments::command();
        command.build();
        for command in command.get_subcommands().filter(|command| command.get_name() != "help") {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} says nothing");
            let help = command.clone().render_long_help().to_string();
            assert!(
                help.contains("Examples:") && help.contains(&format!("sluice {name}")),
                "{name}:\n{help}"
            );
        }
    }

    #[test]
    fn flags_do_not_contradict_each_other() {
        Arguments::command().debug_assert();
    }
}
