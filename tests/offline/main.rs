//! Checks that need no control plane: they take seconds, and each holds one habit of the repository.

#![allow(clippy::panic, clippy::unwrap_used, reason = "a test says by a panic what is wrong")]

mod agent;
mod architecture;
mod cases;
mod command_line;
mod generated;
mod golden;
mod layers;
mod licences;
mod make;
mod manifests;
mod policies;
mod properties;
mod readme;
mod real;
mod rules;
mod serving;
mod size;
mod sources;
mod spared;
mod workloads;
