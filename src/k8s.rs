//! Kubernetes' own semantics, one file each, exactly as the scheduler, the API server and the controllers
//! give them. Nothing here knows of GPUs, policies or our picture of a cluster.
//!
//! Everything is pure and total: no panic, arithmetic saturates. Each rule names the upstream file that it
//! follows (read at Kubernetes 1.37.2).

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod affinity;
pub mod decimal;
pub mod disruption;
pub mod duration;
pub mod expansion;
pub mod extended;
pub mod int_or_string;
pub mod labels;
pub mod names;
pub mod object;
pub mod priority;
pub mod probe;
pub mod qos;
pub mod quantity;
pub mod resources;
pub mod rollout;
pub mod taints;
pub mod yaml;
