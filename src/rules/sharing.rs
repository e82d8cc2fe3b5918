//! Sharing and memory.

pub mod units;
