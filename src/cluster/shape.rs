//! Node shapes: nodes that are equal in everything that a rule reads are judged once.
//!
//! A shape is immutable and says nothing about who has it; [`crate::cluster::Cluster::members`] does. So
//! what is derived from shapes alone (pools) stays valid while nodes of known shapes come and go.

use std::sync::Arc;

use imbl::{OrdMap, OrdSet};

use crate::{
    gpu::Assessment,
    k8s::{
        object::{Labels, Taint},
        resources::Amounts,
    },
};

/// Labels that tell equal nodes apart, or change without meaning. They are no part of a shape;
/// requirements on them are asked of each node ([`crate::cluster::matching`]).
pub const IDENTITY_LABELS: &[&str] = &[
    "alibabacloud.com/ecs-instance-id",
    "beta.kubernetes.io/hostname",
    "cloud.google.com/gce-topology-host",
    "kubernetes.io/hostname",
    "nvidia.com/gfd.timestamp",
    "oci.oraclecloud.com/host.id",
];

/// What equal nodes have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Shape {
    /// Labels without [`IDENTITY_LABELS`].
    pub labels: Labels,
    /// Taints, sorted.
    pub taints: Vec<Taint>,
    /// Cordoned.
    pub unschedulable: bool,
    /// GPU resources only: cpu and memory differ by a little between equal nodes and are asked per node.
    pub allocatable: Amounts,
    /// Major and minor version of the kubelet.
    pub kubernetes: Option<(u32, u32)>,
    /// What its nodes can do, and how we know.
    pub assessment: Assessment,
}

/// Names of nodes.
pub type NodeNames = OrdSet<Arc<str>>;

/// The shapes that exist, each with the nodes that have it.
#[derive(Clone, Debug, Default)]
pub(super) struct Shapes {
    members: OrdMap<Arc<Shape>, NodeNames>,
    /// Host name and name of the nodes where these differ.
    hosts: OrdSet<(Arc<str>, Arc<str>)>,
    /// Another one after every change of the set of shapes. A token and not a count, because copies of a
    /// picture change independently.
    set: Token,
    /// Another one after every change of any shape's members.
    membership: Token,
}

/// Equal only to its own copies.
#[derive(Clone, Debug, Default)]
struct Token(Arc<()>);

impl Shape {
    /// Whether its nodes have GPUs: advertised by the device plugin or by DRA, or known by name only,
    /// as while drivers are being installed.
    #[must_use]
    pub fn has_gpu(&self) -> bool {
        let Assessment { units, dra, model, product, cards, .. } = &self.assessment;
        self.allocatable.values().any(|amount| amount.is_positive())
            || !units.is_empty()
            || *dra
            || model.is_some()
            || product.is_some()
            || cards.is_some_and(|cards| cards > 0)
    }
}

impl Shapes {
    /// Makes `node` a member of `shape`, and gives the shared copy of the shape.
    pub(super) fn join(&mut self, shape: Shape, node: &Arc<str>) -> Arc<Shape> {
        self.membership = Token::default();
        if let Some((known, _)) = self.members.get_key_value(&shape) {
            let known = Arc::clone(known);
            if let Some(members) = self.members.get_mut(&known) {
                members.insert(Arc::clone(node));
            }
            return known;
        }
        self.set = Token::default();
        let shape = Arc::new(shape);
        self.members.insert(Arc::clone(&shape), NodeNames::unit(Arc::clone(node)));
        shape
    }

    /// Moves `node` from one shape to another, and gives the shared copy of the new one.
    pub(super) fn change(&mut self, old: &Arc<Shape>, new: Shape, node: &Arc<str>) -> Arc<Shape> {
        let new = self.join(new, node);
        self.leave(old, node);
        new
    }

    /// Takes `node` out of `shape`; a shape without members is gone.
    pub(super) fn leave(&mut self, shape: &Arc<Shape>, node: &Arc<str>) {
        self.membership = Token::default();
        let Some(members) = self.members.get_mut(shape) else { return };
        members.remove(node);
        if members.is_empty() {
            self.set = Token::default();
            self.members.remove(shape);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Arc<Shape>, &NodeNames)> {
        self.members.iter()
    }

    pub(super) fn members(&self, shape: &Shape) -> Option<&NodeNames> {
        self.members.get(shape)
    }

    pub(super) fn len(&self) -> usize {
        self.members.len()
    }

    /// Says which host name a node had and has now.
    pub(super) fn rename_host(&mut self, node: &Arc<str>, old: Option<&str>, new: Option<&str>) {
        if old == new {
            return;
        }
        let entry = |host: &str| (*host != **node).then(|| (Arc::from(host), Arc::clone(node)));
        if let Some(old) = old.and_then(entry) {
            self.hosts.remove(&old);
        }
        if let Some(new) = new.and_then(entry) {
            self.hosts.insert(new);
        }
    }

    /// The nodes with that host name that have another name.
    pub(super) fn hosts(&self, host: &str) -> impl Iterator<Item = &Arc<str>> {
        let from: (Arc<str>, Arc<str>) = (host.into(), "".into());
        let host = Arc::clone(&from.0);
        self.hosts.range(from..).take_while(move |(other, _)| *other == host).map(|(_, node)| node)
    }

    pub(super) fn same_set(&self, other: &Self) -> bool {
        self.set.is(&other.set)
    }

    pub(super) fn same_membership(&self, other: &Self) -> bool {
        self.membership.is(&other.membership)
    }
}

impl PartialEq for Shapes {
    fn eq(&self, other: &Self) -> bool {
        self.members == other.members
    }
}

impl Token {
    fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
