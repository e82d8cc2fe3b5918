//! Ways around the gate: devices without a request, nodes without the scheduler.

pub mod host_namespaces;
pub mod host_path;
pub mod node_name;
pub mod privileged;
pub mod scheduler;
pub mod stamp;
pub mod visible_devices;

use crate::{
    k8s::{
        object::{Container, PodSpec, Toleration},
        taints,
    },
    rules::{Case, PodCase},
    subject::{Facts, Subject, demand},
    world::World,
};

/// How a Pod that asks for no GPU gets to nodes that have one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// It selects them, or tolerates just their taints.
    Aimed,
    /// It tolerates everything, as infrastructure does.
    Anywhere,
    /// Their taints keep it off, or nobody knows of any.
    No,
}

/// How a Pod gets to GPU nodes, whose tolerations are these and whose selector leads to GPU nodes only or not.
#[must_use]
pub fn reach(world: &World, tolerations: &[Toleration], only_gpu_nodes: bool) -> Reach {
    if only_gpu_nodes {
        return Reach::Aimed;
    }
    let covers = |toleration: &&Toleration| {
        world.pools.guarding_taints().iter().any(|taint| taints::tolerates(toleration, taint, false))
    };
    let covering: Vec<&Toleration> = tolerations.iter().filter(covers).collect();
    match covering.as_slice() {
        [] => Reach::No,
        all if all.iter().all(|toleration| toleration.key.is_empty()) => Reach::Anywhere,
        _ => Reach::Aimed,
    }
}

fn reach_of(case: &Case<'_>, pod: &PodCase<'_>) -> Reach {
    reach(case.world, &pod.written.spec.tolerations, pod.placement.only_gpu_nodes)
}

/// Every container, debug containers too, with its path.
pub(super) fn every_container(spec: &PodSpec) -> impl Iterator<Item = (String, &Container)> {
    let ephemeral = spec.ephemeral_containers.iter().enumerate();
    demand::containers(spec)
        .map(|(place, container)| (place.path(), container))
        .chain(ephemeral.map(|(index, container)| (format!("spec.ephemeralContainers[{index}]"), container)))
}

/// Whether the Pod's ServiceAccount is exempt from the bypass rules: named by the policy, never by
/// something that the Pod's author can set on the Pod alone.
pub(super) fn is_exempt(case: &Case<'_>, pod: &crate::k8s::object::Pod) -> bool {
    case.policy.exempts(&case.subject.namespace, pod)
}

/// A mirror Pod of a node's own kubelet: the annotation alone proves nothing, the requester does.
pub(super) fn is_mirror_of_its_node(subject: &Subject, pod: &crate::k8s::object::Pod) -> bool {
    pod.metadata.annotations.contains_key("kubernetes.io/config.mirror")
        && !pod.spec.node_name.is_empty()
        && comes_from_node(&subject.facts, &pod.spec.node_name)
}

fn comes_from_node(facts: &Facts, node: &str) -> bool {
    facts.user.strip_prefix("system:node:") == Some(node)
        && facts.groups.iter().any(|group| group == "system:nodes")
}
