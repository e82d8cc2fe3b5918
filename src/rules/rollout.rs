//! Probes and rollout.

pub mod deadline;
pub mod grace;
pub mod job_deadline;
pub mod liveness;
pub mod readiness;
pub mod startup;
pub mod surge;
