//! `autoscaler-unaware-of-sharing`: a shared pool that starts from nothing.

use crate::{
    cluster::Kind,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
};

/// `autoscaler-unaware-of-sharing`
pub static AUTOSCALER_UNAWARE_OF_SHARING: Rule = Rule {
    id: "autoscaler-unaware-of-sharing",
    family: Family::NodeLifecycle,
    summary: "a shared pool keeps a node, so that the autoscaler knows how many Pods one takes",
    why: "Until a node has registered, the autoscaler counts the cards of the machine type and not the shares: it starts a node for each Pod, and removes most of them later; for more units than a machine has cards it starts none.",
    remedy: "Keep min at 1 or more, or tell the node template the shared count.",
    severity: Severity::Warn,
    severity_because: "the Pod runs, and too many nodes are paid for",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["cluster-autoscaler: scale from 0", "Karpenter: instance types"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, placement, .. } in &case.pods {
        let Some(first) = placement.candidates.first() else { continue };
        let pool = case.world.pools.get(&first.pool);
        let Some(live) = pool.filter(|live| live.is_empty() && live.pool.mode.is_software_shared()) else {
            continue;
        };
        if live.pool.autoscaling.is_none() {
            continue;
        }
        let replicas = live.pool.replicas.map_or_else(String::new, |n| format!(" of {n} units a card"));
        findings.under(prefix);
        findings.add(
            rule,
            "spec",
            format!("bound for pool {}, which has no node yet; its autoscaler does not know its shares{replicas}", live.pool.name),
            "a pool with a node, or with the shared count in its node template",
            "expect too many new nodes; whoever runs the pool sets autoscaling.min to 1 or labels the template",
        );
    }
}
