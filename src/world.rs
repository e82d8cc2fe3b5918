//! The join of one PolicySet and one Cluster: which nodes make which pool, what each pool can prove, and
//! what speaks against it. One value, swapped as one Arc, so that no reader sees halves.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod build;
mod discovered;
mod documents;
mod pools;
mod selection;
mod standing;
pub mod taints;

use std::sync::Arc;

use crate::{
    cluster::Cluster,
    gpu::resource,
    k8s::object::{ClaimSpec, Pod, PodResourceClaim},
    policy::PolicySet,
    subject::templates::{AddedKind, AddedTemplate},
};

pub use documents::pools_as_policies;
pub use pools::{LivePool, Outside, Pools};
pub use standing::{ShapeStanding, Standing};

/// Policies and picture, and what follows from the two together.
#[derive(Clone, Debug)]
pub struct World {
    /// The policies.
    pub policies: Arc<PolicySet>,
    /// The picture.
    pub cluster: Cluster,
    /// The pools: declared ones, and those found among nodes that no declared pool covers.
    pub pools: Arc<Pools>,
    /// What the cluster's control plane does beyond the default.
    pub features: Features,
    /// Kinds that hold Pod templates, which policies add to the known ones.
    pub template_kinds: Arc<[AddedKind]>,
}

/// Feature gates of the cluster that change what is legal or what matches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Tolerations with `Lt` and `Gt` (`TaintTolerationComparisonOperators`).
    pub comparison_operators: bool,
    /// The API server adds a toleration of a taint that is called like a resource to Pods that ask for it (admission
    /// plugin `ExtendedResourceToleration`).
    pub extended_resource_toleration: bool,
}

impl World {
    /// Joins policies and picture.
    #[must_use]
    pub fn new(policies: Arc<PolicySet>, cluster: Cluster) -> Self {
        let pools = Arc::new(Pools::new(&policies, &cluster));
        let template_kinds = added_kinds(&policies);
        Self { policies, cluster, pools, features: Features::default(), template_kinds }
    }

    /// The same policies over another picture. Pools are kept where nothing that they are made of changed.
    #[must_use]
    pub fn with_cluster(&self, cluster: Cluster) -> Self {
        let pools = if self.pools.hold_for(&self.cluster, &cluster) {
            Arc::clone(&self.pools)
        } else {
            Arc::new(Pools::new(&self.policies, &cluster))
        };
        Self { cluster, pools, ..self.clone() }
    }

    /// Other policies over the same picture.
    #[must_use]
    pub fn with_policies(&self, policies: Arc<PolicySet>) -> Self {
        let features = self.features;
        Self { features, ..Self::new(policies, self.cluster.clone()) }
    }

    /// The revision of the policies.
    #[must_use]
    pub fn revision(&self) -> &str {
        &self.policies.revision
    }

    /// What a Pod's claim asks for, where the claim or template that it names is in the picture.
    #[must_use]
    pub fn claim_spec(&self, namespace: &str, claim: &PodResourceClaim) -> Option<&ClaimSpec> {
        match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
            (Some(name), _) => self.cluster.claim(namespace, name).map(|claim| &claim.spec),
            (None, Some(name)) => {
                self.cluster.claim_template(namespace, name).map(|template| &template.spec.spec)
            }
            (None, None) => None,
        }
    }

    /// Names of the DeviceClasses that a Pod of that namespace asks for by claims, as far as its claims and
    /// templates are in the picture; sorted, without repetition.
    #[must_use]
    pub fn claimed_device_classes(&self, namespace: &str, pod: &Pod) -> Vec<String> {
        let specs = pod.spec.resource_claims.iter().filter_map(|claim| self.claim_spec(namespace, claim));
        let mut classes: Vec<String> = specs.flat_map(device_classes).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }
}

/// Whether a DeviceClass hands out GPUs: by its name, by the extended resource that it backs, or by the
/// driver that its selectors name.
#[must_use]
pub fn hands_out_gpus(world: &World, name: &str) -> bool {
    let speaks = |text: &str| text.contains("gpu") || text.contains("mig.nvidia.com");
    speaks(name)
        || world.cluster.device_class(name).is_some_and(|class| {
            class.spec.extended_resource_name.as_deref().is_some_and(resource::is_gpu_like)
                || class.spec.selectors.iter().any(|selector| speaks(&selector.to_string()))
        })
}

fn added_kinds(policies: &PolicySet) -> Arc<[AddedKind]> {
    let template =
        |(path, count): &(String, Option<String>)| AddedTemplate { path: path.clone(), count: count.clone() };
    let kinds = policies.policies.iter().flat_map(|policy| &policy.template_kinds);
    let added = kinds.map(|kind| AddedKind {
        group: kind.group.clone(),
        kind: kind.kind.clone(),
        templates: kind.templates.iter().map(template).collect(),
    });
    added.collect()
}

/// The DeviceClasses of a claim, of every alternative.
fn device_classes(claim: &ClaimSpec) -> impl Iterator<Item = String> {
    claim
        .devices
        .requests
        .iter()
        .flat_map(|request| request.exactly.iter().chain(&request.first_available))
        .map(|exact| exact.device_class_name.clone())
}

#[cfg(test)]
mod tests;
