//! Dynamic resource allocation.

pub mod claims;
pub mod shared_claim;
