//! `anti-affinity-exceeds-nodes`: more replicas than places that keep them apart.

use std::collections::BTreeSet;

use crate::{
    cluster::{Kind, Node},
    k8s::{
        labels::Selector,
        object::PodAffinityTerm,
        rollout::{self, Rollout},
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
    subject::{self, Body, PodGroup},
};

use super::eligible;

/// `anti-affinity-exceeds-nodes`
pub static ANTI_AFFINITY_EXCEEDS_NODES: Rule = Rule {
    id: "anti-affinity-exceeds-nodes",
    family: Family::Placement,
    summary: "there are as many nodes as replicas that must not share one",
    why: "Required anti-affinity on the host allows one such Pod a node: the others stay Pending, and a rollout that starts the new Pod first waits for ever already when there are as many replicas as nodes.",
    remedy: "Prefer the anti-affinity, or spread with whenUnsatisfiable: ScheduleAnyway; or run fewer replicas.",
    severity: Severity::Warn,
    severity_because: "the replicas that find a node run",
    applies: Applies::Templates,
    needs: &[Kind::Node],
    sources: &["kube-scheduler InterPodAffinity"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(template) = &case.subject.body else { return };
    for pod in &case.pods {
        let path = pod.prefix.trim_end_matches('.');
        let Some(group) = template.groups.iter().find(|group| group.path == path) else { continue };
        let Some(count) = group.count.filter(|_| pod.placement.asks_gpu) else { continue };
        for (index, term) in pod.written.spec.affinity.pod_anti_affinity.required.iter().enumerate() {
            if !keeps_apart(term, group) {
                continue;
            }
            let Some(places) = places(case, pod, &term.topology_key) else { continue };
            let most = places.saturating_add(to_come(case, pod));
            let spare = spare(group, &template.workload.spec, count);
            if count.saturating_add(spare) <= most {
                continue;
            }
            findings.under(&pod.prefix);
            findings.add(
                rule,
                format!(
                    "spec.affinity.podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution[{index}]"
                ),
                is(count, spare, &term.topology_key),
                format!("at most {}", in_words(most, places)),
                "prefer the anti-affinity, or spread with whenUnsatisfiable: ScheduleAnyway",
            );
        }
    }
}

/// Whether the term keeps Pods of the group from each other.
fn keeps_apart(term: &PodAffinityTerm, group: &PodGroup) -> bool {
    let selector = term.label_selector.as_ref().and_then(|selector| Selector::compile(selector).ok());
    selector.is_some_and(|selector| selector.matches(&group.pod.metadata.labels))
}

/// Domains of the topology key among the nodes that could run the Pod at all; `None` where one of them has no such
/// label: there the term keeps nothing apart (scheduler plugin `interpodaffinity`).
fn places(case: &Case<'_>, pod: &PodCase<'_>, key: &str) -> Option<i64> {
    let cluster = &case.world.cluster;
    let mut domains: BTreeSet<String> = BTreeSet::new();
    let mut unbounded = false;
    eligible::each_eligible(case, pod, |found| {
        if eligible::is_open(case, found.shape, &pod.pod.spec.tolerations) {
            for node in found.nodes.names().filter_map(|name| cluster.node(name)) {
                match domain(node, key) {
                    Some(domain) => drop(domains.insert(domain.to_owned())),
                    None => unbounded = true,
                }
            }
        }
    });
    (!unbounded).then(|| i64::try_from(domains.len()).unwrap_or(i64::MAX))
}

/// The kubelet labels every node with its host name; pictures in files may lack the label.
pub(super) fn domain<'a>(node: &'a Node, key: &str) -> Option<&'a str> {
    let written = node.labels.get(key).map(String::as_str);
    written.or_else(|| (key == "kubernetes.io/hostname").then_some(&*node.name))
}

/// Nodes that an autoscaler may still add to the Pod's pools.
pub(super) fn to_come(case: &Case<'_>, pod: &PodCase<'_>) -> i64 {
    let pools = pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool));
    let growth = |live: &crate::world::LivePool| {
        let now = i64::try_from(live.node_count(&case.world.cluster)).unwrap_or(i64::MAX);
        live.pool.autoscaling.map_or(0, |bounds| i64::from(bounds.max).saturating_sub(now).max(0))
    };
    pools.map(growth).fold(0, i64::saturating_add)
}

/// Places beyond the replicas without which a rollout never takes its first step.
pub(super) fn spare(group: &PodGroup, spec: &crate::k8s::object::WorkloadSpec, count: i64) -> i64 {
    if group.rollout != subject::Rollout::Deployment {
        return 0;
    }
    rollout::deployment(&spec.strategy, count)
        .map_or(0, |rollout: Rollout| rollout.spare_places_needed(count))
}

fn is(count: i64, spare: i64, key: &str) -> String {
    let rollout = if spare > 0 { format!(" and {spare} more during a rollout") } else { String::new() };
    format!("{count} replicas{rollout}, each with a {key} of its own")
}

fn in_words(most: i64, now: i64) -> String {
    let nodes = format!("the {most} that can run it");
    if most > now { format!("{nodes} once the pool has grown ({now} now)") } else { nodes }
}
