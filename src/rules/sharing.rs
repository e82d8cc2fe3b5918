//! Sharing and memory.

pub mod autoscaler;
pub mod memory;
pub mod oversized;
pub mod units;
