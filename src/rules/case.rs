//! What a rule looks at.

use std::sync::Arc;

use crate::{
    cluster::Shape,
    k8s::object::Pod,
    policy::{AdmissionPolicy, Class, PolicySet, Severity},
    subject::{Stage, Subject},
    world::World,
};

/// One subject before the rules.
#[derive(Debug)]
pub struct Case<'a> {
    /// Policies and picture.
    pub world: &'a World,
    /// What is judged.
    pub subject: &'a Subject,
    /// The policy that applies in its namespace.
    pub policy: &'a AdmissionPolicy,
    /// The Pods that it is or makes, each with what placement found.
    pub pods: Vec<PodCase<'a>>,
}

/// One Pod of the subject.
#[derive(Debug)]
pub struct PodCase<'a> {
    /// Path prefix: empty for a Pod itself, else ending in a dot (`spec.template.`).
    pub prefix: String,
    /// The Pod as the user wrote it.
    pub written: &'a Pod,
    /// The Pod with every change of the engine applied: what would run.
    pub pod: Pod,
    /// Pods of this kind at full size, where known.
    pub count: Option<i64>,
    /// The class that it belongs to.
    pub class: Option<Arc<Class>>,
    /// Where it may go.
    pub placement: Placement,
}

/// What placement found for one Pod.
#[derive(Clone, Debug, Default)]
pub struct Placement {
    /// Whether the Pod asks for a GPU in any form.
    pub asks_gpu: bool,
    /// Pools that can serve it, in order of preference.
    pub candidates: Vec<Candidate>,
    /// Pools and terms that cannot, with the reason; in the order in which they were looked at.
    pub skipped: Vec<Skipped>,
    /// Whether placement steered the Pod (a class was recognised and the picture shows nodes).
    pub steered: bool,
    /// GPU shapes that the author's own selector and affinity choose; empty where they choose nothing in
    /// particular, or no GPU node at all.
    pub selected: Vec<Arc<Shape>>,
    /// Whether some node, with a GPU or without, meets the author's selector and affinity.
    pub any_node_matches: bool,
    /// Whether some node with a GPU meets them.
    pub gpu_node_matches: bool,
    /// Whether some node that is just starting meets them: it may get GPUs yet.
    pub starting_node_matches: bool,
    /// Whether they choose nodes, and only nodes with GPUs.
    pub only_gpu_nodes: bool,
    /// Whether a declared pool that has no node now would meet them.
    pub declared_match: bool,
}

/// A pool that can serve the Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Pool.
    pub pool: Arc<str>,
    /// Index of the class's term that chose it; equal ranks are equally good.
    pub rank: usize,
    /// GPU resource by which the Pod gets its units there.
    pub resource: String,
}

/// A pool or term that cannot serve the Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Skipped {
    /// Pool name, or the term in words where it has no pool.
    pub what: String,
    /// Rule whose condition fails.
    pub rule: &'static str,
    /// Why, in the inventory's own words.
    pub reason: String,
    /// Index of the class's term; `None` for pools that no term names.
    pub rank: Option<usize>,
}

impl Case<'_> {
    /// Policies.
    #[must_use]
    pub fn policies(&self) -> &PolicySet {
        &self.world.policies
    }

    /// A Pod that exists already: it stands in a picture, not in a request.
    #[must_use]
    pub fn is_running_pod(&self) -> bool {
        self.subject.facts.stage == Stage::Check
            && self.pods.iter().any(|pod| !pod.written.metadata.uid.is_empty())
    }

    /// Severity of a rule under the policy in force.
    #[must_use]
    pub fn severity(&self, rule: &super::Rule) -> Severity {
        self.policy.rules.get(rule.id).copied().unwrap_or(rule.severity)
    }
}
