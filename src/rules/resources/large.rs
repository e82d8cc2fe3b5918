//! `no-node-large-enough`: more units at once than any node has.

use crate::{
    cluster::Kind,
    k8s::object::PodSpec,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand,
};

/// `no-node-large-enough`
pub static NO_NODE_LARGE_ENOUGH: Rule = Rule {
    id: "no-node-large-enough",
    family: Family::Resources,
    summary: "one node has as many units as the Pod needs at once",
    why: "Containers of a Pod run on one node and their GPUs add up; devices are given per container and not shared between them. The Pod waits for ever although cards are idle.",
    remedy: "Ask for fewer units, use a pool with more cards a node, or share one device between containers by a DRA claim.",
    severity: Severity::Deny,
    severity_because: "no node, however free, can run it",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["kube-scheduler NodeResourcesFit", "NVIDIA device plugin: allocation per container"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, placement, .. } in &case.pods {
        findings.under(prefix);
        for (resource, needed) in demand::units(&pod.spec) {
            let chosen = |shape: &&std::sync::Arc<crate::cluster::Shape>| {
                placement.selected.is_empty() || placement.selected.contains(shape)
            };
            let most = offers::advertisers(case.world, &resource)
                .filter(chosen)
                .map(|shape| offers::units(shape, &resource))
                .max();
            let larger_may_come = case.world.pools.iter().any(|live| {
                live.pool.autoscaling.is_some()
                    && live.shapes.is_empty()
                    && live.resources.contains(&resource)
                    && i64::from(live.pool.cards_per_node.unwrap_or(u32::MAX)) >= needed
            });
            let Some(most) = most.filter(|most| *most < needed && !larger_may_come) else { continue };
            let is = format!("{needed} {resource} at once{}", from(&pod.spec, &resource, needed));
            findings
                .add(
                    rule,
                    "spec.containers",
                    is,
                    format!("at most {most}, what the largest node has"),
                    remedy(&pod.spec, &resource),
                )
                .on_absence();
        }
    }
}

/// Which containers need so many at once: the most that one of them asks for may already be all.
fn from(spec: &PodSpec, resource: &str, needed: i64) -> String {
    let asks = demand::asks(spec);
    let mut asking = asks.iter().filter(|ask| ask.resource == resource);
    let alone = asking.clone().find(|ask| ask.count() == Some(needed));
    match alone {
        Some(ask) if ask.place.list == "initContainers" => {
            format!(", in init container {}", ask.container.name)
        }
        Some(_) => String::new(),
        None => format!(", from {} containers", asking.by_ref().count()),
    }
}

fn remedy(spec: &PodSpec, resource: &str) -> String {
    let several = demand::asks(spec).iter().filter(|ask| ask.resource == resource).count() > 1;
    let share = if several { ", or share one device between the containers by a DRA claim" } else { "" };
    format!("ask for fewer{share}")
}
