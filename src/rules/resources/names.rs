//! Names of GPU resources: does anybody offer what is asked for?

use std::sync::Arc;

use crate::{
    cluster::{Kind, Shape},
    gpu::resource::{self, GpuResource, ResourceKind, is_gpu_like},
    k8s::object::Pod,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand,
};

/// `unknown-gpu-resource`
pub static UNKNOWN_GPU_RESOURCE: Rule = Rule {
    id: "unknown-gpu-resource",
    family: Family::Resources,
    summary: "some node or pool offers the GPU resource that is asked for",
    why: "The API server does not know which extended resources exist. A misspelt or retired name is accepted, and the Pod stays Pending for ever.",
    remedy: "Ask for a name that this cluster offers; `sluice pools` lists them.",
    severity: Severity::Deny,
    severity_because: "no node can ever run the Pod; asserted only from a synced picture of the nodes",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA device plugin: resource names"],
    check: Check::Case(unknown),
};

/// `resource-not-in-pool`
pub static RESOURCE_NOT_IN_POOL: Rule = Rule {
    id: "resource-not-in-pool",
    family: Family::Resources,
    summary: "the nodes that the Pod selects offer the GPU resource that it asks for",
    why: "With renamed sharing or MIG strategy mixed a node offers nvidia.com/gpu.shared or nvidia.com/mig-…, not nvidia.com/gpu; to the scheduler these are different resources, and the Pod stays Pending.",
    remedy: "Ask for the name that the pool offers, or let the class rewrite it (`rewrite: {resource: true}`).",
    severity: Severity::Deny,
    severity_because: "none of the selected nodes can ever run the Pod",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA device plugin: renameByDefault, migStrategy"],
    check: Check::Case(not_in_pool),
};

fn unknown(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let offered = offers::names(case.world);
    for PodCase { prefix, pod, .. } in &case.pods {
        findings.under(prefix);
        for ask in demand::asks(&pod.spec) {
            let known = offered.contains(ask.resource) || ask.is_zero() || is_mig(ask.resource);
            if known {
                continue;
            }
            let names = offered.iter().map(String::as_str);
            let (should, remedy) = match resource::nearest(ask.resource, names) {
                Some(near) => (near.to_owned(), format!("write {near}")),
                None if offered.is_empty() => (
                    "a cluster with GPU nodes".to_owned(),
                    "no node of this cluster offers any GPU".to_owned(),
                ),
                None => {
                    let names: Vec<&str> = offered.iter().map(String::as_str).collect();
                    (format!("one of {}", names.join(", ")), "ask for a name that is offered".to_owned())
                }
            };
            findings
                .add(
                    rule,
                    format!("{}.resources", ask.path),
                    format!("{}, which no node offers", ask.resource),
                    should,
                    remedy,
                )
                .in_container(&ask.container.name)
                .on_absence();
        }
    }
}

fn not_in_pool(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, placement, .. } in &case.pods {
        findings.under(prefix);
        let selected = &placement.selected;
        if selected.is_empty() {
            not_handed_out(case, pod, rule, findings);
            continue;
        }
        for ask in demand::asks(&pod.spec) {
            let elsewhere = offers::advertisers(case.world, ask.resource).next().is_some();
            let here = selected.iter().any(|shape| offers::units(shape, ask.resource) > 0);
            if here || !elsewhere && !is_whole(ask.resource) || ask.is_zero() || is_mig(ask.resource) {
                continue;
            }
            let offered = offered_by(selected);
            if offered.is_empty() {
                continue;
            }
            let pools = pools_of(case, selected);
            findings
                .add(
                    rule,
                    format!("{}.resources", ask.path),
                    format!("{}, which {pools} does not offer", ask.resource),
                    format!("{} ({pools} offers it)", offered.join(" or ")),
                    format!("write {}, or drop the selector that leads to {pools}", offered.join(" or ")),
                )
                .in_container(&ask.container.name);
        }
    }
}

/// A whole card where every card is cut or shared under another name. Nodes may be cut anew, so it only warns.
fn not_handed_out(case: &Case<'_>, pod: &Pod, rule: &'static Rule, findings: &mut Findings) {
    let all: Vec<Arc<Shape>> = case.world.cluster.shapes().cloned().collect();
    let offered = offered_by(&all);
    let known = offers::names(case.world);
    let elsewhere = |name: &str| case.world.pools.iter().any(|live| live.resources.contains(name));
    for ask in demand::asks(&pod.spec).iter().filter(|ask| is_whole(ask.resource) && !ask.is_zero()) {
        if offered.is_empty() || offers::advertisers(case.world, ask.resource).next().is_some() {
            continue;
        }
        // A name that nobody knows is said by its own rule.
        if !known.contains(ask.resource)
            || elsewhere(ask.resource)
            || offers::dra_backed(case.world).any(|name| name == ask.resource)
        {
            continue;
        }
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!("{}, of which no node has any now", ask.resource),
                offered.join(" or "),
                format!("write {}, or wait for a node with whole cards", offered.join(" or ")),
            )
            .in_container(&ask.container.name)
            .on_absence()
            .at_most(Severity::Warn);
    }
}

fn offered_by(shapes: &[Arc<Shape>]) -> Vec<String> {
    let mut offered: Vec<String> = shapes
        .iter()
        .flat_map(|shape| {
            let some = shape.allocatable.iter().filter(|(name, n)| n.is_positive() && is_gpu_like(name));
            some.map(|(name, _)| name.clone())
        })
        .collect();
    offered.sort_unstable();
    offered.dedup();
    offered
}

/// `pool a` or `pools a, b` of the selected shapes.
fn pools_of(case: &Case<'_>, shapes: &[Arc<Shape>]) -> String {
    let mut names: Vec<String> = shapes
        .iter()
        .flat_map(|shape| case.world.pools.of_shape(shape))
        .map(|pool| pool.pool.name.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => "the selected nodes".to_owned(),
        [one] => format!("pool {one}"),
        _ => format!("each of the pools {}", names.join(", ")),
    }
}

fn is_mig(name: &str) -> bool {
    GpuResource::parse(name).is_some_and(|resource| resource.profile().is_some())
}

fn is_whole(name: &str) -> bool {
    GpuResource::parse(name).is_some_and(|r| matches!(r.kind(), ResourceKind::Whole))
}
