//! Probes and rollout.

pub mod startup;
pub mod surge;
