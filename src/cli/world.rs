//! The World that a command works with: policies from a folder or built in, a cluster from a file or live.

use std::{path::PathBuf, sync::Arc};

use anyhow::bail;

use super::input;
use crate::{
    cluster::Cluster,
    policy::{self, PolicySet},
    rules,
    world::World,
};

/// Flags of commands that need policies and may need a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct WorldArguments {
    /// Folder of policy files; the built-in policies without it
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Objects of a cluster, as `kubectl get -o yaml` or `sluice snapshot` prints them; - for standard input
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
}

impl WorldArguments {
    /// Whether a cluster was named.
    pub fn has_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// For commands that say nothing without a cluster.
    ///
    /// # Errors
    /// Where none was named.
    pub fn need_cluster(&self) -> anyhow::Result<()> {
        if self.has_cluster() {
            return Ok(());
        }
        bail!(
            "no cluster: give --cluster FILE (what `sluice snapshot` or `kubectl get nodes -o yaml` prints)"
        )
    }

    /// Reads policies and cluster.
    ///
    /// # Errors
    /// Every fault of the policies, or why the cluster cannot be read.
    pub fn world(&self) -> anyhow::Result<World> {
        let policies = self.policies()?;
        let cluster = match &self.cluster {
            Some(file) => cluster_of(&file.to_string_lossy(), input::objects_of(file)?)?,
            None => Cluster::none(),
        };
        Ok(World::new(policies, cluster))
    }

    fn policies(&self) -> anyhow::Result<Arc<PolicySet>> {
        if self.policies.is_some() {
            bail!("--policies is not read yet");
        }
        Ok(Arc::new(policy::built_in(&rules::ids())))
    }
}

/// The picture that objects of a file make.
///
/// # Errors
/// Every object that cannot be read.
pub(super) fn cluster_of(
    file: &str,
    objects: impl IntoIterator<Item = serde_json::Value>,
) -> anyhow::Result<Cluster> {
    Cluster::from_documents(objects).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(|error| format!("{file}: {error}")).collect();
        anyhow::anyhow!("{}", errors.join("\n"))
    })
}
