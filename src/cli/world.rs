//! The World that a command works with: policies from a folder or built in, a cluster from a file or live.

use std::{path::PathBuf, sync::Arc};

use super::input;
use crate::{cluster::Cluster, world::World};

/// Flags of commands that need policies and may need a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct WorldArguments {
    /// Folder of policy files; the built-in policies without it
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Objects of a cluster, as `kubectl get -o yaml` or `sluice snapshot` prints them
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
}

impl WorldArguments {
    /// Whether a cluster was named.
    pub fn has_cluster(&self) -> bool {
        self.cluster.is_some()
    }

    /// Reads policies and cluster.
    ///
    /// # Errors
    /// Every fault of the policies, or why the cluster cannot be read.
    pub fn world(&self) -> anyhow::Result<World> {
        let _ = &self.policies;
        let cluster = match &self.cluster {
            Some(file) => {
                let objects = input::objects_of(file)?;
                Cluster::from_documents(objects).map_err(|errors| {
                    let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
                    anyhow::anyhow!("{}: {}", file.display(), errors.join("\n"))
                })?
            }
            None => Cluster::none(),
        };
        Ok(World::new(Arc::default(), cluster))
    }
}
