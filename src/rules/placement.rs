//! Selectors, affinity and tolerations against live nodes.

pub mod added;
pub mod anti_affinity;
pub mod at_zero;
pub mod cpu_pod;
pub mod daemonset;
mod eligible;
pub mod gates;
pub mod pool_affinity;
pub mod selector;
pub mod spread;
pub mod steering;
pub mod tolerations;
