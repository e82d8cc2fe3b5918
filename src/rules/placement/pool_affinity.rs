//! `no-pool-affinity`: a GPU Pod that may land on pools of different modes.

use std::collections::BTreeMap;

use crate::{
    cluster::Kind,
    k8s::affinity::RequiredNodeAffinity,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand,
};

/// `no-pool-affinity`
pub static NO_POOL_AFFINITY: Rule = Rule {
    id: "no-pool-affinity",
    family: Family::Placement,
    summary: "a GPU Pod says which kind of pool it needs",
    why: "Taints repel, they do not attract, and a shared unit has the same resource name as a whole card unless it is renamed: the Pod lands on whichever node scores best.",
    remedy: "Name the class by the label sluice.dev/class, or require a pool by node affinity.",
    severity: Severity::Warn,
    severity_because: "it may land well, or beside neighbours that it must not have",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["Kubernetes: taints and tolerations"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, pod, class, .. } in &case.pods {
        findings.under(prefix);
        let open = |pod: &crate::k8s::object::Pod| RequiredNodeAffinity::of(&pod.spec).is_unrestricted();
        if !open(written) || !written.spec.node_name.is_empty() {
            continue;
        }
        for resource in demand::units(&pod.spec).keys() {
            let mut modes: BTreeMap<&str, &str> = BTreeMap::new();
            for shape in offers::advertisers(case.world, resource) {
                for pool in case.world.pools.of_shape(shape) {
                    modes.entry(pool.pool.mode.as_str()).or_insert(&pool.pool.name);
                }
            }
            if modes.len() > 1 {
                // A Pod of a class is steered, or refused because no pool can serve it.
                let steered = class.is_some() || !open(pod);
                let pools: Vec<String> =
                    modes.iter().map(|(mode, pool)| format!("{pool} ({mode})")).collect();
                let finding = findings.add(
                    rule,
                    "spec.affinity",
                    format!("no choice between pools that all offer {resource}: {}", pools.join(", ")),
                    "a required node affinity to the kind of pool that the workload needs",
                    "add the label sluice.dev/class: llm, embedding, asr or batch, or a node affinity",
                );
                if steered {
                    // Placement has made the choice; that the author had not is only counted.
                    finding.at_most(Severity::Audit);
                }
            }
        }
    }
}
