//! How much of a resource the nodes have on which a Pod may run, for rules that count Pods of a workload.

use std::sync::Arc;

use super::{Case, PodCase, offers};
use crate::{cluster::Shape, k8s::labels::Selector, world::LivePool};

/// Shapes that advertise the resource and that the Pod may run on, cordoned ones left out.
pub fn shapes<'a>(
    case: &'a Case<'_>,
    pod: &'a PodCase<'_>,
    resource: &'a str,
) -> impl Iterator<Item = &'a Arc<Shape>> {
    let candidates = &pod.placement.candidates;
    let is_candidate = move |shape: &Arc<Shape>| {
        let pools = case.world.pools.of_shape(shape);
        candidates.is_empty() || pools.iter().any(|live| candidates.iter().any(|c| c.pool == live.pool.name))
    };
    let selected = &pod.placement.selected;
    offers::advertisers(case.world, resource)
        .filter(move |shape| selected.is_empty() || selected.contains(shape))
        .filter(move |shape| !shape.unschedulable && is_candidate(shape))
}

/// Nodes of a shape.
#[must_use]
pub fn nodes(case: &Case<'_>, shape: &Arc<Shape>) -> i64 {
    let nodes = case.world.cluster.members(shape).map_or(0, imbl::OrdSet::len);
    i64::try_from(nodes).unwrap_or(i64::MAX)
}

/// How many of these Pods the nodes can hold at once, those that `own` selects in the subject's namespace not
/// counted against it.
#[must_use]
pub fn places(case: &Case<'_>, pod: &PodCase<'_>, resource: &str, each: i64, own: Option<&Selector>) -> i64 {
    let cluster = &case.world.cluster;
    let mut places = 0_i64;
    for shape in shapes(case, pod, resource) {
        let has = offers::units(shape, resource);
        for node in cluster.members(shape).into_iter().flatten() {
            let own: i64 = cluster
                .tenants_on(node)
                .iter()
                .filter(|tenant| *tenant.namespace == *case.subject.namespace)
                .filter(|tenant| own.is_some_and(|selector| selector.matches(&tenant.labels)))
                .filter_map(|tenant| tenant.gpus.get(resource))
                .map(|amount| amount.value())
                .sum();
            let others = cluster.load(node).requested(resource).value().saturating_sub(own);
            places = places.saturating_add(has.saturating_sub(others).max(0) / each.max(1));
        }
    }
    places
}

/// An autoscaler may bring the GPUs that are missing.
#[must_use]
pub fn may_grow(case: &Case<'_>, pod: &PodCase<'_>) -> bool {
    let grows = |live: &LivePool| {
        let nodes: i64 = live.shapes.iter().map(|shape| nodes(case, shape)).sum();
        live.pool.autoscaling.is_some_and(|bounds| i64::from(bounds.max) > nodes)
    };
    pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool)).any(grows)
}
