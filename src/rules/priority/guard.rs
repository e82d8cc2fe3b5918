//! `budget-guards-no-preemption`: a budget that is thought to keep a model from being pushed away.

use crate::{
    cluster::Kind,
    k8s::priority::{NEVER, SYSTEM_CLASSES},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `budget-guards-no-preemption`
pub static BUDGET_GUARDS_NO_PREEMPTION: Rule = Rule {
    id: "budget-guards-no-preemption",
    family: Family::Priority,
    summary: "a model that is slow to load is kept by its priority, not by its PodDisruptionBudget",
    why: "Preemption prefers victims without a budget and takes the others where it has no choice. Only a higher priority, or a class that the extender protects, keeps a Pod where it is.",
    remedy: "Give it the higher priority, or `preemptionPolicy: Never` to what outranks it.",
    severity: Severity::Audit,
    severity_because: "it is as it is meant wherever the higher class may push the lower one away",
    applies: Applies::Templates,
    needs: &[Kind::PriorityClass],
    sources: &["kube-scheduler DefaultPreemption: PodDisruptionBudgets are best effort"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(_) = &case.subject.body else { return };
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        if pod.class.as_ref().is_none_or(|class| class.startup_budget.is_none() || class.runs_to_end) {
            continue;
        }
        let labels = &pod.pod.metadata.labels;
        let mut budgets = case.world.cluster.budgets(&case.subject.namespace);
        let budget = budgets.find(|budget| budget.spec.selector.as_ref().is_some_and(|s| s.selects(labels)));
        let named = case.world.cluster.priority_class(&pod.pod.spec.priority_class_name);
        let own = named.map_or(0, |class| class.value);
        let is_system = |name: &str| SYSTEM_CLASSES.iter().any(|(system, _)| *system == name);
        let above = case.world.cluster.priority_classes().find(|class| {
            class.value > own
                && class.preemption_policy.as_deref() != Some(NEVER)
                && !is_system(&class.metadata.name)
        });
        let (Some(budget), Some(above)) = (budget, above) else { continue };
        findings.under(&pod.prefix);
        findings.add(
            rule,
            "spec.priorityClassName",
            format!(
                "of value {own}, under PodDisruptionBudget {}, which does not keep PriorityClass {} ({}) from pushing it away",
                budget.metadata.name, above.metadata.name, above.value
            ),
            "the higher of the two, if it must stay",
            format!("raise its priority, or set preemptionPolicy: Never in {}", above.metadata.name),
        );
    }
}
