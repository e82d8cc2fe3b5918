//! Nodes as the picture holds them.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    cluster::{
        IDENTITY_LABELS, Shape, is_gpu,
        read::{self, ReadError, kept},
        time::unix_seconds,
    },
    k8s::{
        object::{self, Labels, Taint},
        quantity::Quantity,
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
    pub allocatable: BTreeMap<String, Quantity>,
    /// What there is of GPU resources; above `allocatable` while devices are unhealthy.
    pub gpu_capacity: BTreeMap<String, Quantity>,
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
    allocatable: BTreeMap<String, Quantity>,
    gpu_capacity: BTreeMap<String, Quantity>,
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
                .collect::<Result<BTreeMap<_, _>, _>>()
                .map_err(|(name, problem)| {
                    read::fault("Node", object, &format!("status.{field}[{name}]"), problem)
                })
        };
        let mut taints = node.spec.taints;
        taints.sort_unstable();
        Ok(Self {
            allocatable: amounts(&node.status.allocatable, "allocatable", |_| true)?,
            gpu_capacity: amounts(&node.status.capacity, "capacity", is_gpu)?,
            annotations: kept(&node.metadata.annotations, NODE_ANNOTATIONS),
            labels: node.metadata.labels,
            taints,
            unschedulable: node.spec.unschedulable,
            ready: node.status.conditions.iter().find(|c| c.kind == "Ready").and_then(truth),
            kubelet_version: node.status.node_info.kubelet_version,
            boot_id: node.status.node_info.boot_id,
            created: node.metadata.creation_timestamp.as_deref().and_then(unix_seconds),
        })
    }

    /// What the node has in common with nodes like it.
    pub(super) fn shape(&self) -> Shape {
        let gpus = self.allocatable.iter().filter(|(name, _)| is_gpu(name));
        Shape {
            labels: self
                .labels
                .iter()
                .filter(|(key, _)| !IDENTITY_LABELS.contains(&key.as_str()))
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            taints: self.taints.clone(),
            unschedulable: self.unschedulable,
            allocatable: gpus.map(|(name, amount)| (name.clone(), *amount)).collect(),
            kubernetes: minor_version(&self.kubelet_version),
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
