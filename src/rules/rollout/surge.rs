//! `rollout-needs-spare-gpu`: a rolling update that waits for a GPU which the old Pod holds.

use std::sync::Arc;

use crate::{
    cluster::{Kind, Shape},
    k8s::{
        labels::Selector,
        rollout::{self, Rollout},
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::{self, Body, demand},
};

/// `rollout-needs-spare-gpu`
pub static ROLLOUT_NEEDS_SPARE_GPU: Rule = Rule {
    id: "rollout-needs-spare-gpu",
    family: Family::ProbesAndRollout,
    summary: "the next rollout finds the GPUs that it needs beside those of the old Pods",
    why: "A Deployment rounds maxSurge up and maxUnavailable down: with one replica and the defaults it starts the new Pod before it may delete the old one. Where no GPU is spare, the rollout never ends.",
    remedy: "Set maxSurge: 0 and maxUnavailable: 1, or strategy Recreate, or keep one GPU spare.",
    severity: Severity::Warn,
    severity_because: "the first rollout succeeds, and capacity may come before the next",
    applies: Applies::Templates,
    needs: &[Kind::Node, Kind::Pod],
    sources: &["Kubernetes deployment controller: ResolveFenceposts"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(template) = &case.subject.body else { return };
    let spec = &template.workload.spec;
    for (group, pod) in template.groups.iter().zip(&case.pods) {
        let rolls = group.rollout == subject::Rollout::Deployment;
        let replicas = rollout::replicas(spec);
        let Ok(rollout) = rollout::deployment(&spec.strategy, replicas) else { continue };
        if rolls && rollout.spare_places_needed(replicas) > 0 && !may_grow(case, pod) {
            say(case, pod, rollout, replicas, rule, findings);
        }
    }
}

fn say(
    case: &Case<'_>,
    pod: &PodCase<'_>,
    rollout: Rollout,
    replicas: i64,
    rule: &'static Rule,
    findings: &mut Findings,
) {
    let Some((resource, each)) = demand::units(&pod.pod.spec).into_iter().next() else { return };
    let places = places(case, pod, &resource, each);
    let needed = replicas.saturating_add(rollout.spare_places_needed(replicas));
    let Rollout::Rolling(bounds) = rollout else { return };
    if places >= needed {
        return;
    }
    let pools: Vec<&str> = pod.placement.candidates.iter().map(|candidate| &*candidate.pool).collect();
    let here = if pools.is_empty() { String::new() } else { format!(" in {}", pools.join(", ")) };
    findings.under("");
    findings.add(
        rule,
        "spec.strategy",
        format!(
            "maxSurge {}, maxUnavailable {}: {needed} Pods of {each} {resource} at once during a rollout",
            bounds.surge, bounds.unavailable
        ),
        format!("no more than the {places} that find a place{here}"),
        "set maxSurge: 0 and maxUnavailable: 1, or strategy: Recreate",
    );
}

/// An autoscaler may bring the GPU that is missing.
fn may_grow(case: &Case<'_>, pod: &PodCase<'_>) -> bool {
    let members = |shape: &Arc<Shape>| case.world.cluster.members(shape).map_or(0, imbl::OrdSet::len);
    pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool)).any(|live| {
        let nodes: usize = live.shapes.iter().map(members).sum();
        live.pool.autoscaling.is_some_and(|bounds| usize::try_from(bounds.max).unwrap_or(usize::MAX) > nodes)
    })
}

/// How many of these Pods the nodes can hold at once, those of the workload itself not counted against it.
fn places(case: &Case<'_>, pod: &PodCase<'_>, resource: &str, each: i64) -> i64 {
    let world = case.world;
    let own = case.subject.selector().and_then(|selector| Selector::compile(selector).ok());
    let candidates = &pod.placement.candidates;
    let is_candidate = |shape: &Arc<Shape>| {
        let pools = world.pools.of_shape(shape);
        candidates.is_empty() || pools.iter().any(|live| candidates.iter().any(|c| c.pool == live.pool.name))
    };
    let selected = &pod.placement.selected;
    let shapes = offers::advertisers(world, resource)
        .filter(|shape| selected.is_empty() || selected.contains(shape))
        .filter(|shape| !shape.unschedulable && is_candidate(shape));
    let mut places = 0_i64;
    for shape in shapes {
        let has = offers::units(shape, resource);
        for node in world.cluster.members(shape).into_iter().flatten() {
            let own: i64 = world
                .cluster
                .tenants_on(node)
                .iter()
                .filter(|tenant| *tenant.namespace == *case.subject.namespace)
                .filter(|tenant| own.as_ref().is_some_and(|selector| selector.matches(&tenant.labels)))
                .filter_map(|tenant| tenant.gpus.get(resource))
                .map(|amount| amount.value())
                .sum();
            let others = world.cluster.load(node).requested(resource).value().saturating_sub(own);
            places = places.saturating_add(has.saturating_sub(others).max(0) / each.max(1));
        }
    }
    places
}
