//! Priority classes.

pub mod class;
pub mod fields;
pub mod guard;
pub mod order;
pub mod values;
