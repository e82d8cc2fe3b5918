//! The live picture against an API server that answers as the test says.

mod server;
mod snapshot;
mod watches;
