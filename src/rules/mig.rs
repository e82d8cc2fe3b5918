//! MIG: profiles, hardware and layouts.

pub mod node_change;
pub mod profile;
