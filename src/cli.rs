//! The command line: one file a command.

use std::process::ExitCode;

/// Runs the command line and gives the exit status.
#[must_use]
pub fn main() -> ExitCode {
    ExitCode::SUCCESS
}
