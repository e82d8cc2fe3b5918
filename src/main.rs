//! The `sluice` program: choose the TLS provider, hand over to the command line.

use std::process::ExitCode;

fn main() -> ExitCode {
    // The only one built in (docs/adr/0004), so the choice cannot have been made otherwise before.
    let _ = rustls::crypto::ring::default_provider().install_default();
    sluice::cli::main()
}
