//! Rules about what makes Pods as a whole: groups that start together, and kinds without a Pod.

pub mod gang;
pub mod missing;
