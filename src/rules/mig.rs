//! MIG: profiles, hardware and layouts.

pub mod layout;
pub mod node_change;
pub mod profile;
