//! What writes to the API server: once for each scheduler, by whoever holds the lease.
//!
//! So far that is the wake-up of Pods that the extender turned away. Nothing here is on the path of a request,
//! and nothing that is written is ever read as a truth.

mod lease;
mod wake;

pub use lease::{Lease, LeaseError};
pub use wake::WakeUp;
