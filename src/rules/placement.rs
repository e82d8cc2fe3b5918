//! Selectors, affinity and tolerations against live nodes.

pub mod added;
pub mod pool_affinity;
pub mod selector;
pub mod steering;
