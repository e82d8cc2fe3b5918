//! The `sluice` program: choose the TLS provider, hand over to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    sluice::cli::main()
}
