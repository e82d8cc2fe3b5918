//! Sample Nodes as a GPU cluster has them, and a fleet of them whose names and order are shuffled.
//!
//! A story that passes only because the right node comes first in the alphabet, or was created first, proves
//! nothing. So a story names nodes by role, and the fleet gives each a name that sorts by chance.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use futures::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::{Node, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo, Taint};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{Api, ObjectMeta, PostParams};

use super::components::LOST;
use super::controlplane::ControlPlane;
use super::http::block_on;

/// Seed of everything that is shuffled; `SLUICE_SEED` repeats a run.
pub static SEED: LazyLock<u64> = LazyLock::new(|| match std::env::var("SLUICE_SEED") {
    Ok(seed) => seed.parse().expect("SLUICE_SEED is a number"),
    Err(_) => fastrand::u64(..1_000_000),
});

/// A Node in the making: Ready, 64 cores, 512 GiB, 110 Pods, until told otherwise.
#[derive(Debug, Clone)]
pub struct SampleNode {
    role: String,
    labels: BTreeMap<String, String>,
    allocatable: BTreeMap<String, Quantity>,
    taints: Vec<Taint>,
}

/// A Node that plays `role` in a story.
pub fn node(role: &str) -> SampleNode {
    let allocatable = [("cpu", "64"), ("memory", "512Gi"), ("pods", "110"), ("ephemeral-storage", "1Ti")];
    SampleNode {
        role: role.into(),
        labels: BTreeMap::new(),
        allocatable: allocatable.map(|(name, amount)| (name.into(), Quantity(amount.into()))).into(),
        taints: Vec::new(),
    }
}

impl SampleNode {
    /// Sets a label.
    pub fn label(mut self, key: &str, value: &str) -> SampleNode {
        self.labels.insert(key.into(), value.into());
        self
    }

    /// Sets an amount of a resource, in capacity and allocatable.
    pub fn allocatable(mut self, resource: &str, amount: impl ToString) -> SampleNode {
        self.allocatable.insert(resource.into(), Quantity(amount.to_string()));
        self
    }

    /// Adds a taint.
    pub fn taint(mut self, key: &str, value: &str, effect: &str) -> SampleNode {
        let value = (!value.is_empty()).then(|| value.into());
        self.taints.push(Taint { key: key.into(), value, effect: effect.into(), time_added: None });
        self
    }

    /// The object, status included: the API server keeps the status of a create call.
    fn build(self, name: &str) -> Node {
        let SampleNode { mut labels, allocatable, taints, .. } = self;
        labels.insert("kubernetes.io/hostname".into(), name.into());
        labels.entry("kubernetes.io/os".into()).or_insert("linux".into());
        labels.entry("kubernetes.io/arch".into()).or_insert("amd64".into());
        let ready = NodeCondition { type_: "Ready".into(), status: "True".into(), ..Default::default() };
        let node_info = NodeSystemInfo { kubelet_version: "v1.37.2".into(), ..Default::default() };
        Node {
            metadata: ObjectMeta { name: Some(name.into()), labels: Some(labels), ..Default::default() },
            spec: Some(NodeSpec { taints: Some(taints), ..Default::default() }),
            status: Some(NodeStatus {
                capacity: Some(allocatable.clone()),
                allocatable: Some(allocatable),
                conditions: Some(vec![ready]),
                node_info: Some(node_info),
                ..Default::default()
            }),
        }
    }
}

/// The Nodes of a story, by role.
#[derive(Debug, Clone)]
pub struct Fleet {
    names: BTreeMap<String, String>,
}

impl Fleet {
    /// The name of the Node that plays `role`.
    pub fn name(&self, role: &str) -> &str {
        self.names.get(role).unwrap_or_else(|| panic!("no node plays {role}: {self:?}"))
    }

    /// The role of a Node.
    pub fn role(&self, name: &str) -> &str {
        let found = self.names.iter().find(|(_, known)| *known == name);
        found.unwrap_or_else(|| panic!("node {name} is not of this fleet: {self:?}")).0
    }
}

impl ControlPlane {
    /// Takes the kubelet of a Node away: no Lease, no status. The node lifecycle controller notices after its
    /// grace period (50 s; less by `--node-monitor-grace-period`).
    pub fn lose_node(&self, name: &str) {
        self.kubectl().run(&["label", "node", name, &format!("{LOST}=true")]).succeeded();
    }

    /// Gives a lost Node its kubelet back.
    pub fn rejoin_node(&self, name: &str) {
        self.kubectl().run(&["label", "node", name, &format!("{LOST}-")]).succeeded();
    }

    /// Creates these Nodes in shuffled order under names that sort by chance.
    pub fn create_nodes(&self, nodes: Vec<SampleNode>) -> Fleet {
        let mut random = fastrand::Rng::with_seed(*SEED);
        let mut order: Vec<usize> = (0..nodes.len()).collect();
        random.shuffle(&mut order);
        let ranks = order.iter().zip(&nodes).map(|(rank, node)| {
            let name = format!("n{:02x}{:02x}-{}", rank, random.u8(..), node.role);
            (node.role.clone(), name)
        });
        let names: BTreeMap<String, String> = ranks.collect();
        assert!(names.len() == nodes.len(), "two nodes play the same role");
        let mut created: Vec<Node> = nodes
            .into_iter()
            .map(|node| {
                let name = names[&node.role].clone();
                node.build(&name)
            })
            .collect();
        random.shuffle(&mut created);
        let api: Api<Node> = Api::all(self.client());
        let parameters = PostParams::default();
        // A few at a time: a story may want a thousand.
        let calls =
            futures::stream::iter(&created).map(|node| api.create(&parameters, node)).buffer_unordered(8);
        block_on(calls.try_collect::<Vec<Node>>()).expect("Nodes are created");
        Fleet { names }
    }
}
