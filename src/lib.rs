//! sluice: the gate for GPU Pods.
//!
//! Reading order is the order of the modules: the pure rooms first, then the edges. A room may use
//! only rooms that stand above it; `tests/offline/layers.rs` holds the arrows.

#![warn(missing_docs)]

pub mod gpu;
pub mod k8s;

pub mod cluster;
pub mod policy;
pub mod subject;

pub mod world;

pub mod rules;

pub mod decide;

pub mod report;

// Edges: everything that reads a clock, a file or a socket.
pub mod agent;
pub mod cli;
pub mod control;
pub mod live;
pub mod serve;
pub mod telemetry;
