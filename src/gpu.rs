//! GPU vocabulary: sharing modes, resource names, MIG profiles, models, and how we know what a node can do.
//! Knows NVIDIA's facts and nothing of policies or Pods.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod agent_facts;
pub mod dra;
pub mod evidence;
pub mod mig;
pub mod mode;
pub mod model;
pub mod resource;
pub mod units;
pub mod version;

pub use agent_facts::{
    AgentCondition, AgentDevice, AgentFacts, AgentMigDevice, AgentProfile, AgentTenant, GpuNodeStatus,
    MigMode,
};
pub use dra::{DraDevice, DraKind, GpuDeviceClass};
pub use evidence::{Assessment, Observed, Standing, Unit, UnitKind, assess};
pub use mig::{MigProfile, MigStrategy};
pub use mode::{Isolation, Mode};
pub use model::{Model, ModelName, lookup, model_matches};
pub use resource::{GpuResource, ResourceKind, is_gpu_like};
pub use units::Mebibytes;
pub use version::{is_at_least, parse_version};
