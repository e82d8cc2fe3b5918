//! What the scheduler cannot know of a node: its pool, its mode, its MIG layout, whether it is up.

use std::sync::Arc;

use super::{Need, Obstacle};
use crate::{
    cluster::{Node, Shape},
    gpu::evidence::{MigCapability, MigLayoutState, Standing},
    gpu::resource::GpuResource,
    rules,
    world::{LivePool, ShapeStanding, World},
};

/// The first thing that stands in the way on every node of a shape; impossible before busy.
pub(super) fn of_shape(need: &Need, shape: &Arc<Shape>, pools: &[&LivePool]) -> Option<Obstacle> {
    hardware(need, shape)
        .or_else(|| share(need, pools))
        .or_else(|| layout(shape))
        .or_else(|| pool(need, shape, pools))
}

/// What stands in the way on this one node.
pub(super) fn of_node(world: &World, need: &Need, node: &Node) -> Option<Obstacle> {
    if !need.asks_gpu {
        return None;
    }
    if node.taints.iter().any(|taint| taint.key == "sluice.dev/not-ready") {
        return Some(Obstacle::Busy(&rules::NODE_GPU_NOT_INITIALISED));
    }
    if is_being_changed(node) {
        return Some(Obstacle::Busy(&rules::NODE_DRIVER_NOT_READY));
    }
    // The agent spoke of an earlier boot: what the node advertises is from then.
    let seen = world.cluster.agent(&node.name).and_then(|agent| agent.facts.status.boot_id.as_deref());
    let rebooted = seen.is_some_and(|seen| !node.boot_id.is_empty() && seen != node.boot_id);
    rebooted.then_some(Obstacle::Busy(&rules::NODE_REJOINING))
}

/// What NVIDIA's operator says of its own work on a node: components that it paused, and a driver upgrade from the
/// removal of its users to the end (`nvidia.com/gpu-driver-upgrade-state` of k8s-operator-libs).
fn is_being_changed(node: &Node) -> bool {
    const UPGRADING: [&str; 5] = [
        "pod-deletion-required",
        "drain-required",
        "pod-restart-required",
        "validation-required",
        "upgrade-failed",
    ];
    let upgrade = node.labels.get("nvidia.com/gpu-driver-upgrade-state").map(String::as_str);
    let mut paused = ["nvidia.com/gpu.deploy.driver", "nvidia.com/gpu.deploy.device-plugin"]
        .into_iter()
        .filter_map(|label| node.labels.get(label));
    upgrade.is_some_and(|state| UPGRADING.contains(&state))
        || paused.any(|state| state.starts_with("paused-for-"))
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
    // Where nobody proves a pool it may still be the only one; placement said so.
    let seems = |live: &LivePool| {
        live.usable_shapes().next().is_none() && live.seeming_shapes().any(|own| Arc::ptr_eq(own, shape))
    };
    let usable = |live: &LivePool| live.shape_standing(shape) == Some(&ShapeStanding::Usable) || seems(live);
    let served = pools.iter().copied().filter(candidate).any(usable);
    let why = || pools.iter().find_map(|live| need.refused.get(&*live.pool.name).copied());
    (!served).then(|| Obstacle::Never(why().unwrap_or(&rules::POOL_NOT_CANDIDATE)))
}
