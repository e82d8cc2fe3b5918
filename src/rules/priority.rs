//! Priority classes.

pub mod class;
