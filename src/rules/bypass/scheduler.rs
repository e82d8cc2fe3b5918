//! `wrong-scheduler`: a scheduler that does not ask sluice.

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::Stage,
};

/// `wrong-scheduler`
pub static WRONG_SCHEDULER: Rule = Rule {
    id: "wrong-scheduler",
    family: Family::Bypass,
    summary: "a GPU Pod is placed by the scheduler that asks sluice, where the policy names one",
    why: "Another scheduler places it without what only sluice knows: layouts that are about to change, neighbours, units that are shares of a card.",
    remedy: "Leave schedulerName away, or write a PolicyException where another scheduler is meant.",
    severity: Severity::Deny,
    severity_because: "it may be put beside models that must not have it as a neighbour; the default scheduler's name is replaced, not refused",
    applies: Applies::Pods,
    needs: &[],
    sources: &["kube-scheduler: extenders belong to one scheduler"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    // Whichever scheduler asks about nodes, it asks us: the cluster's own too, while admission is away.
    if case.subject.facts.stage == Stage::Schedule {
        return;
    }
    let Some(wanted) = &case.policy.scheduler_name else {
        foreign(case, rule, findings);
        return;
    };
    for PodCase { prefix, pod, placement, written, .. } in &case.pods {
        let named = pod.spec.scheduler_name.as_str();
        let excused = bypass::is_exempt(case, written) || case.is_running_pod();
        if !placement.asks_gpu || named.is_empty() || named == wanted || excused {
            continue;
        }
        findings.under(prefix);
        findings.add(
            rule,
            "spec.schedulerName",
            format!("{named}, which does not ask sluice"),
            wanted,
            format!("remove schedulerName, or write {wanted}"),
        );
    }
}

/// Where no policy names a scheduler, a foreign one is only counted: whether it asks sluice is not known here.
fn foreign(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, placement, written, .. } in &case.pods {
        let named = written.spec.scheduler_name.as_str();
        if !placement.asks_gpu
            || matches!(named, "" | "default-scheduler")
            || bypass::is_exempt(case, written)
        {
            continue;
        }
        findings.under(prefix);
        findings
            .add(
                rule,
                "spec.schedulerName",
                format!("{named}, of which nobody said whether it asks sluice"),
                "a scheduler with the extender, named by the policy's schedulerName",
                "nothing to do where this scheduler is meant",
            )
            .at_most(Severity::Audit);
    }
}
