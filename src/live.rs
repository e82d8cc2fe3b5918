//! The live World: watches on the cluster, files in place of a cluster, and who waits for what they bring.
//!
//! Readers never wait for a writer: one task applies what the watches bring and swaps in a new World. Only
//! here are the API server and the clock asked; what they say goes through the same reader as a file.

mod changes;
mod file;
mod keeper;
pub mod ledger;
mod list_watch;
mod object;
mod picture;
pub mod policies;
pub mod questions;
pub mod snapshot;
mod status;

pub use file::{FileError, read_cluster};
pub use picture::Picture;
pub use status::{Counters, KindState, KindStatus, Readiness};

#[cfg(test)]
mod tests;
