//! `sluice completion`: completion scripts for shells.

use std::{io::Write, process::ExitCode};

use clap::CommandFactory;
use clap_complete::Shell;

use super::output;

/// Print a completion script for a shell
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  source <(sluice completion bash)
  sluice completion zsh > \"${fpath[1]}/_sluice\"
  sluice completion fish > ~/.config/fish/completions/sluice.fish")]
pub(super) struct Arguments {
    /// The shell
    shell: Shell,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    // The generator panics where it cannot write, so it writes into memory.
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut super::Arguments::command(), "sluice", &mut script);
    output::standard().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
