//! Dynamic resource allocation.

pub mod shared_claim;
