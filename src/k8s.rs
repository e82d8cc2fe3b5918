//! Kubernetes' own semantics, one file each, exactly as the scheduler, the API server and the controllers
//! give them. Nothing here knows of GPUs, policies or our picture of a cluster.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod object;
