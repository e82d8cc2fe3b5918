//! The `world` room.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

use std::sync::Arc;

use crate::{cluster::Cluster, policy::PolicySet};

/// The join of one PolicySet and one Cluster.
#[derive(Clone, Debug)]
pub struct World {
    /// Policies.
    pub policies: Arc<PolicySet>,
    /// Picture.
    pub cluster: Cluster,
}
