//! The cluster as seen through the API: objects in, a [`Cluster`] out. One reader for watch and file.
//!
//! A Cluster is immutable to its readers: a clone costs the same for any size, and an event changes only
//! the clone that it is applied to. Only what a rule reads is kept. Nothing here knows policies.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod apply;
mod documents;
mod evidence;
mod kind;
mod load;
pub mod matching;
mod node;
mod pod;
mod read;
mod shape;
mod sharing;
mod synced;
mod table;
mod tenant;
mod time;
mod workload;

use std::sync::Arc;

use crate::k8s::object;

pub use apply::Change;
pub use documents::{SNAPSHOT_KIND, unfold};
pub use evidence::Agent;
pub use kind::{Kind, KindRow};
pub use load::{Footprint, HostPort, Load};
pub use node::{NODE_ANNOTATIONS, Node};
pub use read::ReadError;
pub use shape::{IDENTITY_LABELS, NodeNames, Shape};
pub use table::Key;
pub use tenant::{CLASS_LABEL, Owner, POD_ANNOTATIONS, Phase, STAMPED_CLASS, Tenant};
pub use time::unix_seconds;
pub use workload::Workload;

/// What is known of one cluster at one time.
#[derive(Clone, Debug, Default)]
pub struct Cluster {
    nodes: table::Table<Node>,
    shapes: shape::Shapes,
    loads: load::Loads,
    tenants: tenant::Tenants,
    namespaces: table::Table<object::Namespace>,
    priority_classes: table::Table<object::PriorityClass>,
    budgets: table::Table<object::PodDisruptionBudget>,
    autoscalers: table::Table<object::HorizontalPodAutoscaler>,
    quotas: table::Table<object::ResourceQuota>,
    limits: table::Table<object::LimitRange>,
    workloads: [table::Table<Workload>; 6],
    device_classes: table::Table<object::DeviceClass>,
    claims: table::Table<object::ResourceClaim>,
    claim_templates: table::Table<object::ResourceClaimTemplate>,
    /// By node and name.
    slices: table::Table<object::ResourceSlice>,
    agents: table::Table<Agent>,
    synced: synced::Synced,
}

/// How much a picture holds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Size {
    /// Nodes.
    pub nodes: usize,
    /// Shapes that they have.
    pub shapes: usize,
    /// Bound, unfinished Pods.
    pub bound_pods: usize,
    /// GPU Pods, bound or waiting.
    pub gpu_pods: usize,
}

/// Nodes and their shapes.
impl Cluster {
    /// All nodes, by name.
    pub fn nodes(&self) -> impl Iterator<Item = &Arc<Node>> {
        self.nodes.all()
    }

    /// The node of that name.
    #[must_use]
    pub fn node(&self, name: &str) -> Option<&Arc<Node>> {
        self.nodes.get("", name)
    }

    /// Every shape that some node has.
    pub fn shapes(&self) -> impl Iterator<Item = &Arc<Shape>> {
        self.shapes.iter().map(|(shape, _)| shape)
    }

    /// The shape of a node.
    #[must_use]
    pub fn shape<'a>(&self, node: &'a Node) -> &'a Arc<Shape> {
        &node.shape
    }

    /// The names of the nodes that have a shape; `None` for a shape that no node has.
    #[must_use]
    pub fn members(&self, shape: &Shape) -> Option<&NodeNames> {
        self.shapes.members(shape)
    }

    /// Whether the other picture came from this one, or this from it, without a change of the set of
    /// shapes: what was derived from shapes then holds for both.
    #[must_use]
    pub fn same_shapes(&self, other: &Self) -> bool {
        self.shapes.same_set(&other.shapes)
    }

    /// The same, without a change of any shape's members either.
    #[must_use]
    pub fn same_members(&self, other: &Self) -> bool {
        self.shapes.same_membership(&other.shapes)
    }

    /// How much the picture holds.
    #[must_use]
    pub fn size(&self) -> Size {
        Size {
            nodes: self.nodes.len(),
            shapes: self.shapes.len(),
            bound_pods: self.loads.len(),
            gpu_pods: self.tenants.len(),
        }
    }
}

/// Pods.
impl Cluster {
    /// What the bound, unfinished Pods of a node take together.
    #[must_use]
    pub fn load(&self, node: &str) -> &Load {
        self.loads.of(node)
    }

    /// What a bound, unfinished Pod takes: so that it can be thought away.
    #[must_use]
    pub fn footprint(&self, namespace: &str, name: &str) -> Option<&Arc<Footprint>> {
        self.loads.footprint(&table::KeyRef { namespace, name })
    }

    /// GPU Pods that are bound to a node.
    #[must_use]
    pub fn tenants_on(&self, node: &str) -> &[Arc<Tenant>] {
        self.tenants.on(node)
    }

    /// The GPU Pod with that UID.
    #[must_use]
    pub fn tenant(&self, uid: &str) -> Option<&Arc<Tenant>> {
        self.tenants.by_uid(uid)
    }

    /// All GPU Pods, bound or waiting, by namespace and name.
    pub fn tenants(&self) -> impl Iterator<Item = &Arc<Tenant>> {
        self.tenants.all()
    }

    /// The GPU Pods of a namespace.
    pub fn pods_in(&self, namespace: &str) -> impl Iterator<Item = &Arc<Tenant>> {
        self.tenants.within(namespace)
    }
}

/// Everything else.
impl Cluster {
    /// The PriorityClass of that name.
    #[must_use]
    pub fn priority_class(&self, name: &str) -> Option<&Arc<object::PriorityClass>> {
        self.priority_classes.get("", name)
    }

    /// All PriorityClasses.
    pub fn priority_classes(&self) -> impl Iterator<Item = &Arc<object::PriorityClass>> {
        self.priority_classes.all()
    }

    /// The Namespace of that name.
    #[must_use]
    pub fn namespace(&self, name: &str) -> Option<&Arc<object::Namespace>> {
        self.namespaces.get("", name)
    }

    /// The PodDisruptionBudgets of a namespace.
    pub fn budgets(&self, namespace: &str) -> impl Iterator<Item = &Arc<object::PodDisruptionBudget>> {
        self.budgets.within(namespace)
    }

    /// The HorizontalPodAutoscalers of a namespace.
    pub fn hpas(&self, namespace: &str) -> impl Iterator<Item = &Arc<object::HorizontalPodAutoscaler>> {
        self.autoscalers.within(namespace)
    }

    /// The ResourceQuotas of a namespace.
    pub fn quotas(&self, namespace: &str) -> impl Iterator<Item = &Arc<object::ResourceQuota>> {
        self.quotas.within(namespace)
    }

    /// The LimitRanges of a namespace.
    pub fn limits(&self, namespace: &str) -> impl Iterator<Item = &Arc<object::LimitRange>> {
        self.limits.within(namespace)
    }

    /// The workload of that kind and name, if its Pods ask for GPUs: others are not kept, so `None` does
    /// not say that there is none.
    #[must_use]
    pub fn workload(&self, kind: &str, namespace: &str, name: &str) -> Option<&Arc<Workload>> {
        self.workloads.get(workload_index(Kind::named(kind)?)?)?.get(namespace, name)
    }

    /// The workloads of a namespace whose Pods ask for GPUs, by kind and name.
    pub fn workloads(&self, namespace: &str) -> impl Iterator<Item = &Arc<Workload>> {
        self.workloads.iter().flat_map(move |table| table.within(namespace))
    }

    /// The ResourceClaim of that name.
    #[must_use]
    pub fn claim(&self, namespace: &str, name: &str) -> Option<&Arc<object::ResourceClaim>> {
        self.claims.get(namespace, name)
    }

    /// The ResourceClaimTemplate of that name.
    #[must_use]
    pub fn claim_template(&self, namespace: &str, name: &str) -> Option<&Arc<object::ResourceClaimTemplate>> {
        self.claim_templates.get(namespace, name)
    }

    /// The DeviceClass of that name.
    #[must_use]
    pub fn device_class(&self, name: &str) -> Option<&Arc<object::DeviceClass>> {
        self.device_classes.get("", name)
    }

    /// All DeviceClasses.
    pub fn device_classes(&self) -> impl Iterator<Item = &Arc<object::DeviceClass>> {
        self.device_classes.all()
    }

    /// The ResourceSlices of a node.
    pub fn slices_of(&self, node: &str) -> impl Iterator<Item = &Arc<object::ResourceSlice>> {
        self.slices.within(node)
    }

    /// What the agent of a node published.
    #[must_use]
    pub fn agent(&self, node: &str) -> Option<&Arc<Agent>> {
        self.agents.get("", node)
    }
}

/// Two pictures are equal if they hold the same objects; how they came to it makes no difference.
impl PartialEq for Cluster {
    fn eq(&self, other: &Self) -> bool {
        self.nodes == other.nodes
            && self.shapes == other.shapes
            && self.loads == other.loads
            && self.tenants == other.tenants
            && self.namespaces == other.namespaces
            && self.priority_classes == other.priority_classes
            && self.budgets == other.budgets
            && self.autoscalers == other.autoscalers
            && self.quotas == other.quotas
            && self.limits == other.limits
            && self.workloads == other.workloads
            && self.device_classes == other.device_classes
            && self.claims == other.claims
            && self.claim_templates == other.claim_templates
            && self.slices == other.slices
            && self.agents == other.agents
            && self.synced == other.synced
    }
}

/// Where a workload kind stands in `Cluster::workloads`.
const fn workload_index(kind: Kind) -> Option<usize> {
    match kind {
        Kind::Deployment => Some(0),
        Kind::ReplicaSet => Some(1),
        Kind::StatefulSet => Some(2),
        Kind::DaemonSet => Some(3),
        Kind::Job => Some(4),
        Kind::CronJob => Some(5),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
