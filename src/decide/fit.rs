//! Can this Pod run on that node: asked per node, only where nodes are asked for.

mod beyond;
mod company;
mod promised;
mod scheduler;
#[cfg(test)]
mod tests;

use std::{cell::RefCell, collections::BTreeMap, sync::Arc};

use super::{Decision, score};
use crate::{
    cluster::Node,
    gpu::Mode,
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{ContainerPort, Toleration},
        resources::{Amounts, PodResources},
    },
    policy::{Class, Severity},
    rules::{self, Candidate, Finding, Fit, PodCase, Rule, Score, Skipped},
    subject::demand,
    world::{LivePool, World},
};

pub(super) use company::Company;
pub use promised::{Promise, Promised};

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
    /// Resolved priority; 0 where none.
    pub(super) priority: i64,
    /// UID; empty where the Pod is not stored yet.
    pub(super) uid: String,
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

/// One Pod's question about many nodes: what nodes have in common is worked out once a shape, and a node that
/// is refused costs no allocation.
pub struct Ask<'a> {
    world: &'a World,
    need: Option<&'a Need>,
    reach: Reach,
    promised: &'a Promised,
    /// Tenants that are thought away, by UID: what would be if they had gone.
    gone: &'a [Arc<str>],
    refused: Option<Obstacle>,
    by_shape: RefCell<BTreeMap<usize, OfShape>>,
}

/// The rule by which a node is refused, and whether time or evictions can change that.
#[derive(Clone, Copy, Debug)]
pub(super) enum Obstacle {
    Busy(&'static Rule),
    Never(&'static Rule),
}

/// What the nodes of one shape have in common for one Pod.
#[derive(Clone, Copy, Debug)]
struct OfShape {
    obstacle: Option<Obstacle>,
    /// The mode in which several tenants share its cards in software; `None` where they do not.
    shared: Option<Mode>,
    /// Whether only we keep the account of what is left: of neighbours, and of GPU memory.
    accounts: bool,
    standing: score::Standing,
}

/// Whether the Pod of a decision can run on a node.
#[must_use]
pub fn fit(world: &World, decision: &Decision, node: &str, reach: Reach) -> Fit {
    Ask::new(world, decision, reach).of(node)
}

impl<'a> Ask<'a> {
    /// Asks about the Pod of a decision.
    #[must_use]
    pub fn new(world: &'a World, decision: &'a Decision, reach: Reach) -> Self {
        static NOTHING: Promised = Promised::NONE;
        let need = decision.need.as_ref();
        // Whoever asks for everything gets the decision with its findings beside the answer.
        let refused = refusal(decision).filter(|_| reach == Reach::BeyondScheduler);
        let by_shape = RefCell::default();
        Self { world, need, reach, promised: &NOTHING, gone: &[], refused, by_shape }
    }

    /// With room that is promised to others laid over the World.
    #[must_use]
    pub fn over(self, promised: &'a Promised) -> Self {
        Self { promised, ..self }
    }

    /// As if the tenants with these UIDs had gone.
    #[must_use]
    pub fn without(self, gone: &'a [Arc<str>]) -> Self {
        Self { gone, ..self }
    }

    /// Whatever the decision says against the Pod itself.
    pub(super) fn about_nodes_alone(self) -> Self {
        Self { refused: None, ..self }
    }

    /// The answer for one node.
    #[must_use]
    pub fn of(&self, node: &str) -> Fit {
        self.of_accounted(node).0
    }

    /// The answer for one node; and where the room that is left there is known to nobody but us, so that an
    /// answer that offers it is a promise, the picture's own name of the node.
    #[must_use]
    pub fn of_accounted(&self, node: &str) -> (Fit, Option<&'a Arc<str>>) {
        let Some(need) = self.need else { return (Fit::Yes(Score::default()), None) };
        let Some(node) = self.world.cluster.node(node) else {
            return (Fit::Never(&rules::NODE_UNKNOWN), None);
        };
        let shape = self.shape(need, node);
        (self.fit(need, node, shape), shape.accounts.then_some(&node.name))
    }

    fn fit(&self, need: &Need, node: &Arc<Node>, shape: OfShape) -> Fit {
        let company = shape.shared.map(|mode| Company::of(self, need, node, mode));
        let mut obstacle = shape.obstacle.or_else(|| beyond::of_node(self.world, need, node));
        if obstacle.is_none() {
            obstacle = company.as_ref().and_then(|company| company.obstacle(need, shape.accounts));
        }
        // What is impossible wins over what is busy, so that preemption is not asked in vain.
        if self.reach == Reach::Everything && !matches!(obstacle, Some(Obstacle::Never(_))) {
            match scheduler::obstacle(self.world, need, node, self.gone) {
                Some(Obstacle::Never(rule)) => obstacle = Some(Obstacle::Never(rule)),
                Some(busy) if obstacle.is_none() => obstacle = Some(busy),
                _ => {}
            }
        }
        match obstacle.or(self.refused) {
            Some(Obstacle::Never(rule)) => Fit::Never(rule),
            Some(Obstacle::Busy(rule)) => Fit::Busy(rule),
            None => Fit::Yes(score::score(self.world, need, node, shape.standing, company.as_ref())),
        }
    }

    fn shape(&self, need: &Need, node: &'a Arc<Node>) -> OfShape {
        let make = || OfShape::of(self.world, need, node);
        if self.world.pools.split_shapes() {
            return make();
        }
        *self.by_shape.borrow_mut().entry(Arc::as_ptr(&node.shape).addr()).or_insert_with(make)
    }
}

impl OfShape {
    fn of(world: &World, need: &Need, node: &Arc<Node>) -> Self {
        let pools: Vec<&LivePool> = world.pools.of_node(node).collect();
        let shared = pools.iter().map(|live| live.pool.mode).find(|mode| mode.is_software_shared());
        let shared = shared.filter(|_| need.asks_gpu);
        Self {
            obstacle: need.asks_gpu.then(|| beyond::of_shape(need, &node.shape, &pools)).flatten(),
            shared,
            accounts: shared.is_some_and(|mode| company::is_limited(world, mode)),
            standing: score::Standing::of(world, need, node, &pools),
        }
    }
}

/// What the whole decision says against every node: a Pod that admission would refuse now, and that came in
/// before, or past it. What rests on something missing may appear yet.
fn refusal(decision: &Decision) -> Option<Obstacle> {
    let denied = decision.findings.iter().filter(|finding| finding.severity == Severity::Deny);
    let known = |finding: &Finding| Some((rules::find(finding.rule)?, finding.on_absence));
    let worst = denied.filter_map(known).min_by_key(|(_, on_absence)| *on_absence)?;
    Some(match worst {
        (rule, true) => Obstacle::Busy(rule),
        (rule, false) => Obstacle::Never(rule),
    })
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
            priority: spec.priority.unwrap_or_default(),
            uid: meta.uid.clone(),
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
