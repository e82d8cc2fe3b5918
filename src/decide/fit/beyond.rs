//! What the scheduler cannot know of a node: its pool, its mode, its MIG layout, its neighbours.

use std::sync::Arc;

use super::{Need, Obstacle};
use crate::{
    cluster::{Node, Shape, Tenant},
    gpu::evidence::{MigCapability, MigLayoutState, Standing},
    gpu::resource::GpuResource,
    policy::Class,
    rules,
    world::{LivePool, ShapeStanding, World},
};

/// The first thing that stands in the way; impossible before busy.
pub(super) fn obstacle(world: &World, need: &Need, node: &Arc<Node>) -> Option<Obstacle> {
    if !need.asks_gpu {
        return None;
    }
    let shape = &node.shape;
    let pools: Vec<&LivePool> = world.pools.of_node(node).collect();
    hardware(need, shape)
        .or_else(|| share(need, &pools))
        .or_else(|| layout(shape))
        .or_else(|| pool(need, shape, &pools))
        .or_else(|| lifecycle(world, node))
        .or_else(|| neighbours(world, need, node, &pools))
}

/// MIG on a card that has none, contradicting evidence, two allocators.
fn hardware(need: &Need, shape: &Shape) -> Option<Obstacle> {
    let asks_mig = need
        .widest
        .as_ref()
        .is_some_and(|(name, _)| GpuResource::parse(name).is_some_and(|r| r.profile().is_some()));
    let assessment = &shape.assessment;
    if asks_mig && matches!(assessment.mig.capability, MigCapability::NotCapable(_)) {
        return Some(Obstacle::Never(&rules::MIG_UNSUPPORTED_HARDWARE));
    }
    if assessment.double_allocator {
        return Some(Obstacle::Never(&rules::DOUBLE_ALLOCATOR_NODE));
    }
    let steered = need.steered && assessment.mode.standing == Standing::Contradicted;
    steered.then_some(Obstacle::Never(&rules::EVIDENCE_CONTRADICTED))
}

/// Several shares of a card for one container.
fn share(need: &Need, pools: &[&LivePool]) -> Option<Obstacle> {
    let several = need.widest.as_ref().is_some_and(|(_, count)| *count > 1);
    let refused = pools.iter().any(|live| live.refuses_several_units());
    (several && refused).then_some(Obstacle::Never(&rules::SHARED_REQUEST_GT_ONE))
}

/// A layout that is not what the node will be, or that hides its slices.
fn layout(shape: &Shape) -> Option<Obstacle> {
    match &shape.assessment.mig.layout {
        MigLayoutState::Settled if shape.assessment.whole_count_stale => {
            Some(Obstacle::Busy(&rules::MIG_CONFIG_PENDING))
        }
        MigLayoutState::Settled => None,
        MigLayoutState::Pending(_) | MigLayoutState::Failed => {
            Some(Obstacle::Busy(&rules::MIG_CONFIG_PENDING))
        }
        MigLayoutState::Invalid => Some(Obstacle::Never(&rules::MIG_SINGLE_NEEDS_UNIFORM_LAYOUT)),
    }
}

/// Not one of the pools that can serve the Pod.
fn pool(need: &Need, shape: &Arc<Shape>, pools: &[&LivePool]) -> Option<Obstacle> {
    if !need.steered {
        return None;
    }
    let candidate = |live: &&LivePool| need.candidates.iter().any(|c| c.pool == live.pool.name);
    let usable = |live: &LivePool| live.shape_standing(shape) == Some(&ShapeStanding::Usable);
    let served = pools.iter().copied().filter(candidate).any(usable);
    let why = || pools.iter().find_map(|live| need.refused.get(&*live.pool.name).copied());
    (!served).then(|| Obstacle::Never(why().unwrap_or(&rules::POOL_NOT_CANDIDATE)))
}

fn lifecycle(world: &World, node: &Node) -> Option<Obstacle> {
    if node.taints.iter().any(|taint| taint.key == "sluice.dev/not-ready") {
        return Some(Obstacle::Busy(&rules::NODE_GPU_NOT_INITIALISED));
    }
    // The agent spoke of an earlier boot: what the node advertises is from then.
    let seen = world.cluster.agent(&node.name).and_then(|agent| agent.facts.status.boot_id.as_deref());
    let rebooted = seen.is_some_and(|seen| !node.boot_id.is_empty() && seen != node.boot_id);
    rebooted.then_some(Obstacle::Busy(&rules::NODE_REJOINING))
}

/// Too many tenants, or one of a class that the Pod's class does not sit beside, or the other way round.
///
/// The device plugin and the kubelet choose the card, so on a node of several cards the limit is kept for
/// the node as a whole: as many tenants as its cards allow together.
fn neighbours(world: &World, need: &Need, node: &Node, pools: &[&LivePool]) -> Option<Obstacle> {
    if !pools.iter().any(|live| live.pool.mode.is_software_shared()) {
        return None;
    }
    let class = need.class.as_deref()?;
    let is_self = |tenant: &Tenant| {
        need.own.as_ref().is_some_and(|(ns, name)| *tenant.namespace == **ns && *tenant.name == **name)
    };
    let tenants: Vec<&Arc<Tenant>> =
        world.cluster.tenants_on(&node.name).iter().filter(|tenant| !is_self(tenant)).collect();
    let cards = usize::try_from(node.shape.assessment.cards.unwrap_or(1).max(1)).unwrap_or(1);
    let most = class.sharing.max_tenants.map(|most| usize::try_from(most).unwrap_or(usize::MAX));
    if most.is_some_and(|most| tenants.len() >= most.saturating_mul(cards)) {
        return Some(Obstacle::Busy(&rules::COLOCATION_LIMIT));
    }
    let disturbed = tenants.iter().any(|tenant| match &tenant.class {
        Some(other) => !may_sit_together(world, class, other),
        None => false,
    });
    // With several cards the two may well sit apart; only one card makes it certain.
    (disturbed && cards == 1).then_some(Obstacle::Busy(&rules::NEIGHBOUR_NOT_ALLOWED))
}

fn may_sit_together(world: &World, class: &Class, other: &str) -> bool {
    let allows =
        |class: &Class, name: &str| class.sharing.with.as_ref().is_none_or(|with| with.contains(name));
    allows(class, other) && world.policies.class(other).is_none_or(|other| allows(other, &class.name))
}
