//! Budgets that keep nothing, or keep what is broken.

use crate::{
    k8s::{disruption, object::PodDisruptionBudget},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

use super::sizes::{ANY_SIZE, bound, of_selected};

/// `pdb-protects-nothing`
pub static PDB_PROTECTS_NOTHING: Rule = Rule {
    id: "pdb-protects-nothing",
    family: Family::Disruption,
    summary: "a PodDisruptionBudget keeps at least one Pod of several",
    why: "With minAvailable 0, maxUnavailable 100% or as many as there are replicas, a drain may take all Pods at once; without a selector the budget is about none.",
    remedy: "Use maxUnavailable: 1.",
    severity: Severity::Warn,
    severity_because: "nothing is worse than without the budget, only nobody expects it",
    applies: Applies::Budgets,
    needs: &[],
    sources: &["Kubernetes disruption controller", "policy/v1: an absent selector selects no Pods"],
    check: Check::Case(nothing),
};

/// `pdb-keeps-broken-pods`
pub static PDB_KEEPS_BROKEN_PODS: Rule = Rule {
    id: "pdb-keeps-broken-pods",
    family: Family::Disruption,
    summary: "a PodDisruptionBudget lets Pods go that are not Ready",
    why: "With IfHealthyBudget, the default, a Pod that is not Ready may be evicted only while enough others are: a model that crashes on a broken card keeps the node from being drained.",
    remedy: "Set unhealthyPodEvictionPolicy: AlwaysAllow.",
    severity: Severity::Audit,
    severity_because: "the default is right for what must not lose a replica that is about to be Ready",
    applies: Applies::Budgets,
    needs: &[],
    sources: &["Kubernetes: unhealthy Pod eviction policy"],
    check: Check::Case(broken),
};

fn nothing(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Budget(budget) = &case.subject.body else { return };
    findings.under("");
    if budget.spec.selector.is_none() {
        let is = "absent: the budget is about no Pod";
        findings.add(rule, "spec.selector", is, "a selector", "add the labels of the Pods as spec.selector");
        return;
    }
    let sizes = of_selected(case, budget);
    let all_may_go = |size: &i64| *size > 1 && protects_nothing(budget, *size);
    let found = match &sizes {
        // One Pod alone cannot both be drained and stay.
        None => ANY_SIZE.iter().filter(|size| **size > 1).all(all_may_go),
        Some(sizes) => all_may_go(&sizes.most),
    };
    if found {
        let (field, value) = bound(budget);
        let whose =
            sizes.map_or_else(String::new, |sizes| format!(" of the {} of {}", sizes.most, sizes.whose));
        findings.add(
            rule,
            format!("spec.{field}"),
            format!("{value}, which lets all Pods{whose} go at once"),
            "at least one Pod that stays",
            "use maxUnavailable: 1",
        );
    }
}

fn broken(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Budget(budget) = &case.subject.body else { return };
    let policy = budget.spec.unhealthy_pod_eviction_policy.as_deref();
    if policy == Some("AlwaysAllow") || of_selected(case, budget).is_none() {
        return;
    }
    findings.under("");
    findings.add(
        rule,
        "spec.unhealthyPodEvictionPolicy",
        policy.unwrap_or("IfHealthyBudget, the default"),
        "AlwaysAllow",
        "set unhealthyPodEvictionPolicy: AlwaysAllow",
    );
}

fn protects_nothing(budget: &PodDisruptionBudget, size: i64) -> bool {
    // A budget that cannot be read is refused by the API server; nothing is asserted about it here.
    let bounded = budget.spec.max_unavailable.is_some() || budget.spec.min_available.is_some();
    bounded
        && disruption::expectation(&budget.spec, size, size)
            .is_ok_and(|expectation| expectation.protects_nothing())
}
