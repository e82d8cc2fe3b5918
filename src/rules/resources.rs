//! Requests and limits of GPU resources.

pub mod class;
pub mod extended;
pub mod large;
pub mod missing;
pub mod mixed;
pub mod names;
