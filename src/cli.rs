//! The command line: one file a command.

pub mod manifests;

use std::process::ExitCode;

/// Runs the command line and gives the exit status.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
