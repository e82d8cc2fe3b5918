//! `daemonset-misses-pool`: a DaemonSet for GPU nodes that their taints keep off.

use std::collections::BTreeSet;

use crate::{
    cluster::{Kind, matching},
    k8s::{affinity::RequiredNodeAffinity, object::Taint, taints},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    world::taints::is_passing,
};

/// `daemonset-misses-pool`
pub static DAEMONSET_MISSES_POOL: Rule = Rule {
    id: "daemonset-misses-pool",
    family: Family::Placement,
    summary: "a DaemonSet that chooses GPU nodes tolerates their taints",
    why: "The DaemonSet controller passes over nodes whose taints the Pod does not tolerate, without an error or event: no metrics, no device plugin, no GPUs.",
    remedy: "Tolerate the taints of the pools.",
    severity: Severity::Warn,
    severity_because: "it runs on the other nodes, and leaving some out may be meant",
    applies: Applies::Templates,
    needs: &[Kind::Node],
    sources: &["Kubernetes daemon controller: nodeShouldRunDaemonPod"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    if case.subject.kind != "DaemonSet" {
        return;
    }
    for pod in &case.pods {
        if !pod.placement.only_gpu_nodes && !pod.placement.asks_gpu {
            continue;
        }
        let required = RequiredNodeAffinity::of(&pod.pod.spec);
        let mut missed: BTreeSet<&Taint> = BTreeSet::new();
        let mut pools: BTreeSet<&str> = BTreeSet::new();
        for found in matching::matching_shapes(&case.world.cluster, &required) {
            for taint in found.shape.taints.iter().filter(|taint| keeps_off(taint)) {
                if !taints::covers(&pod.pod.spec.tolerations, taint, false) {
                    missed.insert(taint);
                    pools.extend(case.world.pools.of_shape(found.shape).iter().map(|live| &*live.pool.name));
                }
            }
        }
        if missed.is_empty() {
            continue;
        }
        let taints: Vec<String> = missed.iter().map(|taint| in_words(taint)).collect();
        let whose: Vec<&str> = pools.into_iter().collect();
        let of = if whose.is_empty() { String::new() } else { format!(" of {}", whose.join(", ")) };
        findings.under(&pod.prefix);
        findings.add(
            rule,
            "spec.tolerations",
            format!("without a toleration of {}, the taints{of}", taints.join(" and ")),
            "a toleration of each",
            format!("add {}", missed.iter().map(|taint| toleration(taint)).collect::<Vec<_>>().join(", ")),
        );
    }
}

/// States of a node's life are tolerated by the controller, or go away by themselves.
fn keeps_off(taint: &Taint) -> bool {
    taints::repels(taint) && !is_passing(taint)
}

fn in_words(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

fn toleration(taint: &Taint) -> String {
    format!("{{key: {}, operator: Exists, effect: {}}}", taint.key, taint.effect)
}
