//! Can this Pod run on that node: asked per node, only where nodes are asked for.

mod beyond;
mod scheduler;

use std::sync::Arc;

use super::Decision;
use crate::{
    cluster::Node,
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{ContainerPort, Toleration},
        resources::{Amounts, PodResources},
    },
    policy::Class,
    rules::{self, Candidate, Fit, PodCase, Rule, Score},
    subject::demand,
    world::World,
};

/// What a Pod needs of a node; made by `decide`.
#[derive(Clone, Debug)]
pub struct Need {
    pub(super) class: Option<Arc<Class>>,
    pub(super) steered: bool,
    pub(super) asks_gpu: bool,
    pub(super) candidates: Vec<Candidate>,
    pub(super) affinity: RequiredNodeAffinity,
    pub(super) tolerations: Vec<Toleration>,
    pub(super) requests: Amounts,
    /// The most units of one GPU resource that one container asks for: `(resource, count)`.
    pub(super) widest: Option<(String, i64)>,
    pub(super) host_ports: Vec<ContainerPort>,
    /// The Pod's own footprint is not counted against it: a running Pod that is judged again.
    pub(super) own: Option<(String, String)>,
}

/// How much of the scheduler's own work is done again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reach {
    /// Everything: for people who ask without a scheduler at hand.
    Everything,
    /// Only what the scheduler cannot know: it has just filtered by the rest, with a fresher picture.
    BeyondScheduler,
}

/// The rule by which a node is refused, and whether time or evictions can change that.
pub(super) enum Obstacle {
    Busy(&'static Rule),
    Never(&'static Rule),
}

/// Whether the Pod of a decision can run on a node.
#[must_use]
pub fn fit(world: &World, decision: &Decision, node: &str, reach: Reach) -> Fit {
    let Some(need) = &decision.need else { return Fit::Yes(Score::default()) };
    let Some(node) = world.cluster.node(node) else { return Fit::Never(&rules::NODE_UNKNOWN) };
    let mut obstacle = beyond::obstacle(world, need, node);
    // What is impossible wins over what is busy, so that preemption is not asked in vain.
    if reach == Reach::Everything && !matches!(obstacle, Some(Obstacle::Never(_))) {
        match scheduler::obstacle(world, need, node) {
            Some(Obstacle::Never(rule)) => obstacle = Some(Obstacle::Never(rule)),
            Some(busy) if obstacle.is_none() => obstacle = Some(busy),
            _ => {}
        }
    }
    match obstacle {
        Some(Obstacle::Never(rule)) => Fit::Never(rule),
        Some(Obstacle::Busy(rule)) => Fit::Busy(rule),
        None => Fit::Yes(score(world, need, node)),
    }
}

impl Need {
    /// What a judged Pod needs.
    pub(super) fn of(world: &World, case: &PodCase<'_>) -> Self {
        let spec = &case.pod.spec;
        let widest = demand::asks(spec)
            .iter()
            .filter_map(|ask| Some((ask.resource.to_owned(), ask.count()?)))
            .max_by_key(|(_, count)| *count);
        let meta = &case.written.metadata;
        let bound = world.cluster.footprint(&meta.namespace, &meta.name).is_some();
        Self {
            class: case.class.clone(),
            steered: case.placement.steered || case.class.is_some() && case.placement.asks_gpu,
            asks_gpu: case.placement.asks_gpu,
            candidates: case.placement.candidates.clone(),
            affinity: RequiredNodeAffinity::of(spec),
            tolerations: spec.tolerations.clone(),
            requests: PodResources::written(spec).with_defaults().requests(),
            widest,
            host_ports: spec
                .containers
                .iter()
                .chain(&spec.init_containers)
                .flat_map(|container| container.ports.iter().filter(|port| port.host_port > 0).cloned())
                .collect(),
            own: bound.then(|| (meta.namespace.clone(), meta.name.clone())),
        }
    }
}

/// Preference of the node's pool first, then fullness as the class wants it.
fn score(world: &World, need: &Need, node: &Arc<Node>) -> Score {
    let rank = world
        .pools
        .of_shape(&node.shape)
        .iter()
        .filter_map(|live| need.candidates.iter().find(|candidate| candidate.pool == live.pool.name))
        .map(|candidate| candidate.rank)
        .min();
    let preference = rank.map_or(5, |rank| 10_u8.saturating_sub(u8::try_from(rank * 3).unwrap_or(10)));
    let tenants = world.cluster.tenants_on(&node.name).len();
    let fullness = u8::try_from(tenants.min(10)).unwrap_or(10);
    let spreads = need.class.as_ref().is_some_and(|class| class.spread);
    Score { preference, packing: if spreads { 10 - fullness } else { fullness } }
}
