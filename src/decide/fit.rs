//! Can this Pod run on that node: asked per node, only where nodes are asked for.

mod beyond;
mod scheduler;

use std::{collections::BTreeMap, sync::Arc};

use super::Decision;
use crate::{
    cluster::Node,
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{ContainerPort, Toleration},
        resources::{Amounts, PodResources},
    },
    policy::Class,
    rules::{self, Candidate, Fit, PodCase, Rule, Score, Skipped},
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
    /// Why other pools cannot serve it.
    pub(super) refused: BTreeMap<String, &'static Rule>,
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
            refused: refused(&case.placement.skipped),
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

/// The rule by which each pool was passed over.
fn refused(skipped: &[Skipped]) -> BTreeMap<String, &'static Rule> {
    let of_pool = |skipped: &Skipped| {
        Some((skipped.what.strip_prefix("pool ")?.to_owned(), rules::find(skipped.rule)?))
    };
    skipped.iter().filter_map(of_pool).collect()
}

/// Preference of the node's pool first, then fullness as the class wants it.
fn score(world: &World, need: &Need, node: &Arc<Node>) -> Score {
    let pools = world.pools.of_shape(&node.shape);
    let candidate = need.candidates.iter().find(|c| pools.iter().any(|live| live.pool.name == c.pool));
    let mut ranks: Vec<usize> = need.candidates.iter().map(|candidate| candidate.rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let place = candidate.and_then(|candidate| ranks.iter().position(|rank| *rank == candidate.rank));
    let preference =
        place.map_or(Score::NEUTRAL, |place| 10_u8.saturating_sub(u8::try_from(place).unwrap_or(10)));
    let fullness = fullness(world, need, node, candidate);
    let spreads = need.class.as_ref().is_some_and(|class| class.spread);
    Score { preference, packing: if spreads { 10 - fullness } else { fullness } }
}

/// Tenths of the node's units that are taken; of its cards' tenants where the class bounds those.
fn fullness(world: &World, need: &Need, node: &Node, candidate: Option<&Candidate>) -> u8 {
    let tenants = i64::try_from(world.cluster.tenants_on(&node.name).len()).unwrap_or(i64::MAX);
    let resource = candidate.map_or("", |candidate| &candidate.resource);
    let units = node.allocatable(resource).value();
    let (taken, all) = if units > 0 {
        (world.cluster.load(&node.name).requested(resource).value(), units)
    } else {
        (tenants, 10)
    };
    let cards = i64::from(node.shape.assessment.cards.unwrap_or(1).max(1));
    let most = need.class.as_ref().and_then(|class| class.sharing.max_tenants);
    let all = most.map_or(all, |most| all.min(i64::from(most).saturating_mul(cards))).max(1);
    u8::try_from(taken.clamp(0, all).saturating_mul(10) / all).unwrap_or(10)
}
