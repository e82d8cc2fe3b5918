//! Selectors, affinity and tolerations against live nodes.

pub mod added;
pub mod anti_affinity;
pub mod cpu_pod;
pub mod daemonset;
pub mod pool_affinity;
pub mod selector;
pub mod steering;
