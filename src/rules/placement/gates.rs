//! `scheduling-gated`: a GPU Pod that nobody schedules until somebody takes its gates away.

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
};

/// `scheduling-gated`
pub static SCHEDULING_GATED: Rule = Rule {
    id: "scheduling-gated",
    family: Family::Placement,
    summary: "a GPU Pod is free to be scheduled",
    why: "While a gate is left no scheduler and no extender looks at the Pod, and nothing says why it is Pending. A queue (Kueue) takes its own gate away; one that no controller knows stays for ever.",
    remedy: "Nothing to do where a queue set it; else remove schedulingGates.",
    severity: Severity::Audit,
    severity_because: "queues work so; it is counted, to explain Pods that wait",
    applies: Applies::Pods,
    needs: &[],
    sources: &["KEP-3521: Pod scheduling readiness"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, placement, .. } in &case.pods {
        if !placement.asks_gpu || written.spec.scheduling_gates.is_empty() {
            continue;
        }
        let names: Vec<&str> = written.spec.scheduling_gates.iter().map(|gate| gate.name.as_str()).collect();
        findings.under(prefix);
        findings.add(
            rule,
            "spec.schedulingGates",
            format!("gated by {}", names.join(", ")),
            "no gate that nobody takes away",
            "wait for the controller of the gate, or remove it",
        );
    }
}
