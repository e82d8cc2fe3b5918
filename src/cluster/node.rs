//! Nodes as the picture holds them.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    cluster::{
        IDENTITY_LABELS, Shape,
        read::{self, ReadError, kept},
        sharing::compact,
        time::unix_seconds,
    },
    gpu::{Observed, assess, is_gpu_like},
    k8s::{
        object::{self, Labels, Taint},
        quantity::Quantity,
        resources::Amounts,
    },
};

/// Annotations of Nodes that are kept: nothing else of a Node's annotations is read anywhere.
pub const NODE_ANNOTATIONS: &[&str] = &[
    "cluster-autoscaler.kubernetes.io/scale-down-disabled",
    "nvidia.com/gpu-driver-upgrade-requested",
    "sluice.dev/wake-up",
];

/// A node.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Name.
    pub name: Arc<str>,
    /// All labels.
    pub labels: Labels,
    /// The annotations of [`NODE_ANNOTATIONS`].
    pub annotations: Labels,
    /// Taints, sorted, so that their order in the object makes no difference.
    pub taints: Vec<Taint>,
    /// Cordoned.
    pub unschedulable: bool,
    /// Condition `Ready`; `None` where it is absent or `Unknown`.
    pub ready: Option<bool>,
    /// What Pods may use, every resource.
    pub allocatable: Amounts,
    /// What there is of GPU resources; above `allocatable` while devices are unhealthy.
    pub gpu_capacity: Amounts,
    /// Such as `v1.37.2`.
    pub kubelet_version: String,
    /// Changes with every boot.
    pub boot_id: String,
    /// Unix seconds of creation.
    pub created: Option<i64>,
    /// What it has in common with nodes like it.
    pub shape: Arc<Shape>,
}

/// A node without its shape: what an object says, before the picture finds equal nodes.
#[derive(Debug)]
pub(super) struct NodeFacts {
    labels: Labels,
    annotations: Labels,
    taints: Vec<Taint>,
    unschedulable: bool,
    ready: Option<bool>,
    allocatable: Amounts,
    /// The GPU resources of `allocatable`.
    gpus: Amounts,
    gpu_capacity: Amounts,
    kubelet_version: String,
    boot_id: String,
    created: Option<i64>,
}

impl Node {
    /// The allocatable amount of a resource; zero where the node does not advertise it.
    #[must_use]
    pub fn allocatable(&self, resource: &str) -> Quantity {
        self.allocatable.get(resource).copied().unwrap_or_default()
    }

    /// Its label `kubernetes.io/hostname`.
    #[must_use]
    pub fn host(&self) -> Option<&str> {
        self.labels.get(HOSTNAME).map(String::as_str)
    }

    /// Major and minor version of the kubelet.
    #[must_use]
    pub fn kubernetes(&self) -> Option<(u32, u32)> {
        self.shape.kubernetes
    }
}

impl NodeFacts {
    /// What an object says.
    pub(super) fn read(node: object::Node, object: &Value) -> Result<Self, ReadError> {
        let amounts = |list, field: &str, wanted: fn(&str) -> bool| {
            read::quantities(list, wanted)
                .map(|entry| entry.map(|(name, amount)| (name.to_owned(), amount)))
                .collect::<Result<Amounts, _>>()
                .map_err(|(name, problem)| {
                    read::fault("Node", object, &format!("status.{field}[{name}]"), problem)
                })
        };
        let mut taints = node.spec.taints;
        taints.sort_unstable();
        let allocatable = amounts(&node.status.allocatable, "allocatable", |_| true)?;
        Ok(Self {
            gpus: gpus(&allocatable),
            allocatable,
            gpu_capacity: amounts(&node.status.capacity, "capacity", is_gpu_like)?,
            annotations: kept(&node.metadata.annotations, NODE_ANNOTATIONS),
            labels: compact(node.metadata.labels),
            taints,
            unschedulable: node.spec.unschedulable,
            ready: node.status.conditions.iter().find(|c| c.kind == "Ready").and_then(truth),
            kubelet_version: node.status.node_info.kubelet_version,
            boot_id: node.status.node_info.boot_id,
            created: node.metadata.creation_timestamp.as_deref().and_then(unix_seconds),
        })
    }

    /// The host name that it says.
    pub(super) fn host(&self) -> Option<&str> {
        self.labels.get(HOSTNAME).map(String::as_str)
    }

    /// What a node of the picture says.
    pub(super) fn of(node: &Node) -> Self {
        Self {
            labels: node.labels.clone(),
            annotations: node.annotations.clone(),
            taints: node.taints.clone(),
            unschedulable: node.unschedulable,
            ready: node.ready,
            gpus: gpus(&node.allocatable),
            allocatable: node.allocatable.clone(),
            gpu_capacity: node.gpu_capacity.clone(),
            kubelet_version: node.kubelet_version.clone(),
            boot_id: node.boot_id.clone(),
            created: node.created,
        }
    }

    pub(super) const fn labels(&self) -> &Labels {
        &self.labels
    }

    pub(super) const fn gpus(&self) -> &Amounts {
        &self.gpus
    }

    pub(super) const fn gpu_capacity(&self) -> &Amounts {
        &self.gpu_capacity
    }

    /// What the node has in common with nodes like it, given all that is known of its cards.
    pub(super) fn shape(&self, observed: &Observed) -> Shape {
        Shape {
            labels: self
                .labels
                .iter()
                .filter(|(key, _)| !IDENTITY_LABELS.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            taints: self.taints.clone(),
            unschedulable: self.unschedulable,
            allocatable: self.gpus.clone(),
            kubernetes: minor_version(&self.kubelet_version),
            assessment: assess(observed),
        }
    }

    pub(super) fn into_node(self, name: Arc<str>, shape: Arc<Shape>) -> Node {
        let Self { labels, annotations, taints, unschedulable, ready, allocatable, .. } = self;
        let Self { gpu_capacity, kubelet_version, boot_id, created, .. } = self;
        Node {
            name,
            labels,
            annotations,
            taints,
            unschedulable,
            ready,
            allocatable,
            gpu_capacity,
            kubelet_version,
            boot_id,
            created,
            shape,
        }
    }
}

/// The well-known label of the host name.
pub(super) const HOSTNAME: &str = "kubernetes.io/hostname";

fn gpus(amounts: &Amounts) -> Amounts {
    let gpus = amounts.iter().filter(|(name, _)| is_gpu_like(name));
    gpus.map(|(name, amount)| (name.clone(), *amount)).collect()
}

fn truth(condition: &object::Condition) -> Option<bool> {
    match condition.status.as_str() {
        "True" => Some(true),
        "False" => Some(false),
        _ => None,
    }
}

/// `v1.37.2-gke.100` gives (1, 37).
fn minor_version(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix('v').unwrap_or(version).split('.');
    let major = parts.next()?.parse().ok()?;
    let minor: String = parts.next()?.chars().take_while(char::is_ascii_digit).collect();
    Some((major, minor.parse().ok()?))
}
