//! Priority classes.

pub mod class;
pub mod order;
