//! `pool-at-zero`: a Pod that waits for a node which an autoscaler has yet to start.

use crate::{
    cluster::Kind,
    k8s::affinity::RequiredNodeAffinity,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
    world::LivePool,
};

/// `pool-at-zero`
pub static POOL_AT_ZERO: Rule = Rule {
    id: "pool-at-zero",
    family: Family::Placement,
    summary: "some pool that can serve the Pod has a node",
    why: "A pool behind an autoscaler may have no node now. What its nodes will offer is then known from its declaration only, and the Pod stays Pending until one has started, drivers and device plugin included.",
    remedy: "Wait; keep autoscaling.min at 1 where starting a node takes too long.",
    severity: Severity::Warn,
    severity_because: "the Pod runs once a node has come",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["cluster-autoscaler: scale from 0"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu && !case.is_running_pod()) {
        let pools = awaited(case, pod);
        // That an autoscaler does not know shares is said by its own rule.
        let Some(first) = pools.first().filter(|first| !first.pool.mode.is_software_shared()) else {
            continue;
        };
        if !pools.iter().all(|live| live.is_empty()) {
            continue;
        }
        let most = first.pool.autoscaling.map_or(0, |bounds| bounds.max);
        if most == 0 {
            continue;
        }
        findings.under(&pod.prefix);
        findings.add(
            rule,
            "spec",
            format!("bound for pool {}, which has no node now and may have up to {most}", first.pool.name),
            "a pool with a node",
            "wait until the autoscaler has started one; set autoscaling.min to 1 if that takes too long",
        );
    }
}

/// The pools that the Pod may get to: its candidates, or without a class those that its own selector promises.
fn awaited<'a>(case: &'a Case<'_>, pod: &PodCase<'_>) -> Vec<&'a LivePool> {
    let placement = &pod.placement;
    if placement.candidates.is_empty() {
        if pod.class.is_some() || placement.any_node_matches || !placement.declared_match {
            return Vec::new();
        }
        let required = RequiredNodeAffinity::of(&pod.written.spec);
        let empty = case.world.pools.declared().filter(|live| live.is_empty());
        return empty.filter(|live| live.declared_labels_match(&required)).collect();
    }
    placement.candidates.iter().filter_map(|candidate| case.world.pools.get(&candidate.pool)).collect()
}
