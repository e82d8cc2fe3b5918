//! Pools from policies and picture.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    cluster::{Cluster, Shape, matching},
    gpu::{Assessment, Mebibytes, MigProfile, Mode, Unit, UnitKind, resource},
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{Labels, NodeSelector, Taint},
    },
    policy::{MigLayout, PolicySet, Pool},
    world::{
        discovered,
        pools::{LivePool, Pools, id},
        standing::{ShapeStanding, Standing},
    },
};

/// Nodes of a pool: shapes, and the names where not every node of a shape belongs.
#[derive(Debug, Default)]
pub(super) struct Membership {
    pub(super) shapes: Vec<Arc<Shape>>,
    pub(super) only: Option<BTreeSet<Arc<str>>>,
}

impl Pools {
    /// Finds the nodes of every declared pool, and makes pools of the GPU nodes that are left.
    pub(super) fn new(policies: &PolicySet, cluster: &Cluster) -> Self {
        let mut pools = Self::default();
        let mut memberships = Vec::new();
        for pool in &policies.pools {
            let membership = membership(pool, cluster);
            pools.by_node |= membership.only.is_some() || asks_identity(pool);
            pools.pools.push(LivePool::new(Arc::clone(pool), true, &membership));
            memberships.push(membership);
        }
        report_overlaps(&mut pools.pools, &memberships, cluster);
        let found = discovered::discover(policies, cluster, &memberships);
        pools.pools.extend(found.pools);
        pools.outside = found.outside;
        let mut by_shape = BTreeMap::<_, Vec<usize>>::new();
        for (index, pool) in pools.pools.iter().enumerate() {
            for shape in &pool.shapes {
                by_shape.entry(id(shape)).or_default().push(index);
            }
        }
        pools.by_shape = by_shape;
        let guards: BTreeSet<&Taint> = pools.pools.iter().flat_map(LivePool::guarding_taints).collect();
        pools.guards = guards.into_iter().cloned().collect();
        pools
    }
}

impl LivePool {
    /// What a pool with these nodes is.
    pub(super) fn new(pool: Arc<Pool>, declared: bool, membership: &Membership) -> Self {
        let shapes = membership.shapes.clone();
        let standings: Vec<_> = shapes.iter().map(|shape| ShapeStanding::of(&pool, shape)).collect();
        let standing = Standing::of(standings.iter(), pool.autoscaling.is_some());
        let proven = standing == Standing::Proven;
        let speaking: Vec<&Assessment> = shapes
            .iter()
            .zip(&standings)
            .filter(|(_, standing)| standing.is_usable() || !proven)
            .map(|(shape, _)| &shape.assessment)
            .collect();
        let resources = resources(&pool, &speaking);
        let memory = memory(&pool, &speaking, &resources);
        let model = speaking.first().and_then(|first| first.model);
        let model = model.filter(|model| speaking.iter().all(|other| other.model == Some(*model)));
        let conflicts = if declared { disagreements(&pool, &speaking) } else { Vec::new() };
        let only = membership.only.clone();
        Self { pool, declared, shapes, standing, resources, memory, model, conflicts, standings, only }
    }
}

fn membership(pool: &Pool, cluster: &Cluster) -> Membership {
    let selector = NodeSelector { node_selector_terms: pool.nodes.clone() };
    let affinity = RequiredNodeAffinity::new(&Labels::new(), Some(&selector));
    let matches = matching::matching_shapes(cluster, &affinity);
    let split = matches.iter().any(|found| !found.nodes.is_all());
    let names = || matches.iter().flat_map(|found| found.nodes.names()).cloned().collect();
    Membership {
        only: split.then(names),
        shapes: matches.iter().map(|found| Arc::clone(found.shape)).collect(),
    }
}

/// Whether its terms ask for what tells equal nodes apart.
fn asks_identity(pool: &Pool) -> bool {
    pool.nodes.iter().any(|term| {
        let identity = |key: &str| crate::cluster::IDENTITY_LABELS.contains(&key);
        !term.match_fields.is_empty() || term.match_expressions.iter().any(|e| identity(&e.key))
    })
}

/// A node that two declared pools claim is a conflict of both.
fn report_overlaps(pools: &mut [LivePool], memberships: &[Membership], cluster: &Cluster) {
    let mut claims = BTreeMap::<usize, Vec<usize>>::new();
    for (index, membership) in memberships.iter().enumerate() {
        for shape in &membership.shapes {
            claims.entry(id(shape)).or_default().push(index);
        }
    }
    let mut pairs = BTreeSet::new();
    for claimants in claims.values().filter(|claimants| claimants.len() > 1) {
        for (at, one) in claimants.iter().enumerate() {
            pairs.extend(claimants[at + 1..].iter().map(|other| (*one, *other)));
        }
    }
    for (one, other) in pairs {
        let Some(node) = shared_node(&memberships[one], &memberships[other], cluster) else { continue };
        for (own, their) in [(one, other), (other, one)] {
            let text = format!("pool {} claims the same nodes, such as {node}", pools[their].pool.name);
            pools[own].conflicts.push(text);
        }
    }
}

fn shared_node(one: &Membership, other: &Membership, cluster: &Cluster) -> Option<Arc<str>> {
    let shared = one.shapes.iter().filter(|shape| other.shapes.iter().any(|o| Arc::ptr_eq(shape, o)));
    let mut names = shared.filter_map(|shape| cluster.members(shape)).flatten();
    names.find(|name| one.has(name) && other.has(name)).cloned()
}

impl Membership {
    /// Whether a node of one of its shapes belongs to it.
    pub(super) fn has(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }
}

/// The names by which the pool serves.
fn resources(pool: &Pool, members: &[&Assessment]) -> BTreeSet<String> {
    if members.is_empty() {
        return declared_resources(pool);
    }
    let units = members.iter().flat_map(|assessment| &assessment.units);
    let served = units.filter(|unit| match &pool.resource {
        Some(resource) => unit.resource == *resource,
        None => serves(pool.mode, unit.kind),
    });
    served.map(|unit| unit.resource.clone()).collect()
}

/// Whether units of that kind are what the mode hands out. A node with MIG strategy `mixed` may have whole
/// cards beside its slices; they are no part of a MIG pool.
pub(super) const fn serves(mode: Mode, kind: UnitKind) -> bool {
    match mode {
        Mode::Exclusive => matches!(kind, UnitKind::Card | UnitKind::Other),
        Mode::TimeSlicing | Mode::Mps => matches!(kind, UnitKind::SharedCard | UnitKind::SharedSlice(_)),
        Mode::Mig => matches!(kind, UnitKind::Slice(_) | UnitKind::SharedSlice(_)),
        Mode::CudaFraction | Mode::HamiCore => true,
    }
}

/// What a pool without nodes will advertise, as far as its declaration says.
fn declared_resources(pool: &Pool) -> BTreeSet<String> {
    if let Some(resource) = &pool.resource {
        return BTreeSet::from([resource.clone()]);
    }
    if let Some(class) = &pool.device_class {
        return BTreeSet::from([format!("{}{class}", resource::DEVICE_CLASS_PREFIX)]);
    }
    match &pool.mig {
        Some(MigLayout { strategy: crate::gpu::MigStrategy::Mixed, profiles }) => profiles
            .iter()
            .filter_map(|profile| profile.parse::<MigProfile>().ok())
            .map(mig_resource)
            .collect(),
        _ => BTreeSet::from([resource::WHOLE.to_owned()]),
    }
}

fn mig_resource(profile: MigProfile) -> String {
    profile.resource_name()
}

/// The least memory of what the pool hands out.
fn memory(pool: &Pool, members: &[&Assessment], resources: &BTreeSet<String>) -> Option<Mebibytes> {
    if members.is_empty() {
        return pool.requires.memory;
    }
    let mut least: Option<Mebibytes> = None;
    for assessment in members {
        let served = assessment.units.iter().filter(|unit| resources.contains(&unit.resource));
        for unit in served {
            let memory = unit_memory(pool.mode, assessment, unit)?;
            least = Some(least.map_or(memory, |least| least.min(memory)));
        }
    }
    least
}

/// What one tenant of a unit may use. The device plugin's MPS daemon limits each client to its share; a
/// time-sliced tenant sees the whole card.
pub(super) fn unit_memory(mode: Mode, assessment: &Assessment, unit: &Unit) -> Option<Mebibytes> {
    let memory = unit.memory.or(assessment.memory)?;
    match mode {
        Mode::Mps => Some(Mebibytes(memory.0 / u64::from(assessment.replicas?.max(1)))),
        _ => Some(memory),
    }
}

/// Where nodes do what the pool says, but not as it says.
fn disagreements(pool: &Pool, members: &[&Assessment]) -> Vec<String> {
    let mut conflicts = BTreeSet::new();
    for assessment in members {
        if let (Some(declared), Some(seen)) = (pool.replicas, assessment.replicas)
            && declared != seen
        {
            conflicts.insert(format!("{declared} replicas are declared, the nodes show {seen}"));
        }
        if let (Some(layout), Some(seen)) = (&pool.mig, assessment.mig.strategy)
            && layout.strategy != seen
        {
            conflicts.insert("another MIG strategy is declared than the nodes have".to_owned());
        }
        if let (Some(declared), Some(seen)) = (pool.cards_per_node, assessment.cards)
            && declared != seen
        {
            conflicts.insert(format!("{declared} cards a node are declared, some nodes have {seen}"));
        }
        let offered: Vec<&str> = assessment.units.iter().map(|unit| unit.resource.as_str()).collect();
        for profile in pool.mig.iter().filter(|_| pool.mode == Mode::Mig).flat_map(|mig| &mig.profiles) {
            let Ok(parsed) = profile.parse::<MigProfile>() else { continue };
            let mixed = assessment.mig.strategy == Some(crate::gpu::MigStrategy::Mixed);
            if mixed && !offered.contains(&mig_resource(parsed).as_str()) {
                conflicts.insert(format!("profile {profile} is declared, some nodes do not have it"));
            }
        }
    }
    conflicts.into_iter().collect()
}
