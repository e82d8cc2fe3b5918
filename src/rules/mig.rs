//! MIG: profiles, hardware and layouts.

pub mod profile;
