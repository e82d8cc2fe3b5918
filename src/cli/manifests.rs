//! The manifests that are made from the tables: webhook configurations, the backstop that works without us,
//! our rights, and the schedulers' configurations.
//!
//! `webhook-config/` and `deploy/` hold them as files, equal to what is made here (`make generate`); `sluice certs` makes
//! them with a CA. This is text only: nothing here reads a file or talks to a cluster.

mod backstop;
mod conditions;
mod gpu_node;
mod rights;
mod scheduler;
mod scope;
mod webhooks;
mod yaml;

pub use backstop::{BYPASS, Backstop, STAMP_PRESENT, STAMP_UNCHANGED, Validation, backstop, policies};
pub use conditions::{asks_for_gpu, could_reach_gpu};
pub use gpu_node::gpu_node_definition;
pub use rights::picture_role;
pub use scheduler::{SCHEDULER, default_scheduler, gpu_resources, gpu_scheduler};
pub use scope::{AGENT_NAMESPACE, EXCLUDED_NAMESPACES, NAMESPACE, excluded_namespaces};
pub use webhooks::{
    ApiRule, Condition, Entry, FailurePolicy, Target, authority_yaml, mutating, mutating_yaml, validating,
    validating_yaml,
};
