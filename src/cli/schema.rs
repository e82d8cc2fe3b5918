//! `sluice schema`: JSON Schemas of what people write and programs read.

use std::{io::Write, process::ExitCode};

use clap::ValueEnum;

use super::output;
use crate::report;

/// Print the JSON Schema of the policy files, of their tests or of the report
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice schema > policies/schema.json
  sluice schema tests > policies/tests/schema.json
  sluice schema report")]
pub(super) struct Arguments {
    /// What the schema describes
    #[arg(value_enum, default_value_t = Subject::Policies)]
    of: Subject,
}

/// What has a schema.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Subject {
    /// The files of a policy directory
    Policies,
    /// The tests of a policy directory, for `sluice test`
    Tests,
    /// The report of `sluice check -o json`
    Report,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let schema = match arguments.of {
        Subject::Policies => crate::policy::schema(),
        Subject::Tests => crate::policy::test_schema(),
        Subject::Report => report::json::schema(),
    };
    let mut out = output::standard();
    serde_json::to_writer_pretty(&mut out, &schema)?;
    writeln!(out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
