//! The World that a command works with: policies from a folder or built in, a cluster from a file or live.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::bail;
use serde_json::Value;

use super::{
    input::{self, Object},
    live, output,
};
use crate::{
    cluster::Cluster,
    live::policies::PolicyFolder,
    policy::{self, PolicySet},
    rules,
    world::{Features, World},
};

/// Flags of commands that need policies and may need a cluster.
#[derive(Debug, clap::Args)]
pub(super) struct WorldArguments {
    /// Folder of policy files; the built-in policies without it
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Objects of a cluster, as `kubectl get -o yaml` or `sluice snapshot` prints them; - for standard input
    #[arg(long, value_name = "FILE", conflicts_with = "context")]
    cluster: Option<PathBuf>,
    /// Context of the kubeconfig: the live cluster, as it is now
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    #[command(flatten)]
    features: FeatureArguments,
}

/// Flags for what nobody outside the control plane can see: the API server tells of its own feature gates only, and
/// of no admission plugin. What is not named counts as off.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct FeatureArguments {
    /// What is turned on in the control plane beyond the default; may be repeated
    #[arg(long, value_name = "NAME", value_enum, value_delimiter = ',', ignore_case = true)]
    control_plane: Vec<ControlPlaneFeature>,
}

/// A feature gate or admission plugin that changes what the rules say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(super) enum ControlPlaneFeature {
    /// Feature gate of API server and scheduler: tolerations with Gt and Lt
    #[value(name = "TaintTolerationComparisonOperators")]
    ComparisonOperators,
    /// Admission plugin: a toleration for each extended resource that a Pod asks for
    #[value(name = "ExtendedResourceToleration")]
    ExtendedResourceToleration,
}

impl FeatureArguments {
    /// As the rules ask for them.
    pub fn features(&self) -> Features {
        let has = |feature| self.control_plane.contains(&feature);
        Features {
            comparison_operators: has(ControlPlaneFeature::ComparisonOperators),
            extended_resource_toleration: has(ControlPlaneFeature::ExtendedResourceToleration),
        }
    }
}

impl WorldArguments {
    /// Whether a cluster was named.
    pub fn has_cluster(&self) -> bool {
        self.cluster.is_some() || self.context.is_some()
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
            "no cluster: give --context NAME, or --cluster FILE with what `sluice snapshot` or `kubectl get nodes -o yaml` prints"
        )
    }

    /// Reads policies and cluster.
    ///
    /// # Errors
    /// Every fault of the policies, or why the cluster cannot be read.
    pub fn world(&self) -> anyhow::Result<World> {
        let policies = policies(self.policies.as_deref())?;
        let cluster = match (&self.cluster, &self.context) {
            (Some(file), _) => cluster_of(&file.to_string_lossy(), input::objects_of(file)?)?,
            (None, Some(context)) => {
                let documents = live::run(live::documents(Some(context)))?;
                cluster_of(context, documents)?
            }
            (None, None) => Cluster::none(),
        };
        Ok(World { features: self.features.features(), ..World::new(policies, cluster) })
    }

    /// Reads policies and cluster, and gives every object of the cluster beside.
    ///
    /// # Errors
    /// As [`WorldArguments::world`].
    pub fn world_and_objects(&self) -> anyhow::Result<(World, Vec<Object>)> {
        let policies = policies(self.policies.as_deref())?;
        let (name, objects) = match (&self.cluster, &self.context) {
            (Some(file), _) => {
                let read = input::read(std::slice::from_ref(file), "default")?;
                anyhow::ensure!(read.faults.is_empty(), "{}", read.faults.join("\nerror: "));
                (file.to_string_lossy().into_owned(), read.objects)
            }
            (None, context) => {
                let documents = live::run(live::documents(context.as_deref()))?;
                let objects =
                    documents.into_iter().map(|object| Object::of_value(object, "", "default")).collect();
                (context.clone().unwrap_or_default(), objects)
            }
        };
        let cluster = cluster_of(&name, objects.iter().map(|object| Value::clone(&object.value)))?;
        Ok((World::new(policies, cluster), objects))
    }
}

/// The policies of a folder, doubts told on standard error; the built-in ones without a folder.
///
/// # Errors
/// Every fault of every file.
pub(super) fn policies(folder: Option<&Path>) -> anyhow::Result<Arc<PolicySet>> {
    let Some(folder) = folder else { return Ok(Arc::new(policy::built_in(&rules::ids()))) };
    match PolicyFolder::new(folder, rules::ids()).load() {
        Ok(set) => {
            for warning in &set.warnings {
                output::say(&format!("warning: {}: {}", warning.id, warning.at));
            }
            Ok(Arc::new(set))
        }
        Err(errors) => {
            let errors: Vec<String> = errors.iter().map(ToString::to_string).collect();
            bail!("policies in {}: {}", folder.display(), errors.join("\nerror: "))
        }
    }
}

/// The picture that objects of a file make.
///
/// # Errors
/// Every object that cannot be read.
pub(super) fn cluster_of(file: &str, objects: impl IntoIterator<Item = Value>) -> anyhow::Result<Cluster> {
    Cluster::from_documents(objects).map_err(|errors| {
        let errors: Vec<String> = errors.iter().map(|error| format!("{file}: {error}")).collect();
        anyhow::anyhow!("{}", errors.join("\nerror: "))
    })
}
