//! GPU vocabulary: sharing modes, resource names, MIG profiles, models, and how we know what a node can do.
//! Knows NVIDIA's facts and nothing of policies or Pods.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod mode;
pub mod units;

pub use mode::{Isolation, Mode};
pub use units::Mebibytes;
