//! `pdb-blocks-drain`: a budget that never lets a Pod go.

use crate::{
    k8s::{
        disruption,
        labels::Selector,
        object::{IntOrText, Labels, PodDisruptionBudget},
        rollout,
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `pdb-blocks-drain`
pub static PDB_BLOCKS_DRAIN: Rule = Rule {
    id: "pdb-blocks-drain",
    family: Family::Disruption,
    summary: "a PodDisruptionBudget lets at least one Pod go while all are healthy",
    why: "With no disruption allowed even in full health, every drain of the node hangs: MIG layouts, driver upgrades and autoscaling wait until somebody deletes the budget.",
    remedy: "Use maxUnavailable: 1, or one replica more than minAvailable.",
    severity: Severity::Warn,
    severity_because: "the workload runs; it is the next maintenance that hangs",
    applies: Applies::Budgets,
    needs: &[],
    sources: &["Kubernetes disruption controller", "Kubernetes eviction API"],
    check: Check::Case(check),
};

/// Sizes at which a budget without a known workload is tried: blocked at all of them means blocked at any.
const ANY_SIZE: [i64; 3] = [1, 2, 100];

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    findings.under("");
    match &case.subject.body {
        Body::Budget(budget) => of_budget(case, budget, rule, findings),
        Body::Template(_) => of_template(case, rule, findings),
        _ => {}
    }
}

/// A budget on its own: blocked whatever it selects, or at the size of the workloads that it selects.
fn of_budget(case: &Case<'_>, budget: &PodDisruptionBudget, rule: &'static Rule, findings: &mut Findings) {
    let Some(selector) = budget.spec.selector.as_ref().and_then(|s| Selector::compile(s).ok()) else {
        return;
    };
    let selected: Vec<_> = case
        .world
        .cluster
        .workloads(&case.subject.namespace)
        .filter(|workload| workload.object.metadata.controller().is_none())
        .filter(|workload| selector.matches(&workload.pod_labels))
        .collect();
    let replicas: i64 = selected.iter().map(|workload| rollout::replicas(&workload.object.spec)).sum();
    let blocked = match selected.as_slice() {
        [] => ANY_SIZE.iter().all(|size| blocks(budget, *size)),
        _ => replicas > 0 && blocks(budget, replicas),
    };
    if !blocked {
        return;
    }
    let names: Vec<String> =
        selected.iter().map(|w| format!("{} {}", w.object.kind, w.object.metadata.name)).collect();
    let whose = if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) };
    let (field, value) = bound(budget);
    findings.add(
        rule,
        format!("spec.{field}"),
        format!("{value}, which never lets a Pod{whose} go"),
        "at least one disruption allowed while all Pods are healthy",
        remedy(replicas),
    );
}

/// A workload whose labels a budget of its namespace selects.
fn of_template(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Some((labels, replicas)) = template_of(case) else { return };
    for budget in case.world.cluster.budgets(&case.subject.namespace) {
        let selector = budget.spec.selector.as_ref().and_then(|selector| Selector::compile(selector).ok());
        let selects = selector.is_some_and(|selector| selector.matches(labels));
        if !selects || replicas == 0 || !blocks(budget, replicas) {
            continue;
        }
        let (field, value) = bound(budget);
        findings.add(
            rule,
            "spec.replicas",
            format!("{replicas}, under PodDisruptionBudget {} with {field}: {value}", budget.metadata.name),
            "at least one disruption allowed while all Pods are healthy",
            remedy(replicas),
        );
    }
}

fn template_of<'a>(case: &'a Case<'_>) -> Option<(&'a Labels, i64)> {
    let Body::Template(template) = &case.subject.body else { return None };
    let group = template.groups.first()?;
    Some((&group.pod.metadata.labels, group.count?))
}

fn blocks(budget: &PodDisruptionBudget, replicas: i64) -> bool {
    // A budget that cannot be read is refused by the API server; nothing is asserted about it here.
    disruption::blocks_every_drain(&budget.spec, replicas).unwrap_or(false)
}

fn bound(budget: &PodDisruptionBudget) -> (&'static str, String) {
    let (field, value) = match (&budget.spec.max_unavailable, &budget.spec.min_available) {
        (Some(value), _) => ("maxUnavailable", Some(value)),
        (None, value) => ("minAvailable", value.as_ref()),
    };
    let text = match value {
        Some(IntOrText::Int(number)) => number.to_string(),
        Some(IntOrText::Text(text)) => text.clone(),
        // policy/v1: a budget with neither bound keeps one Pod.
        None => "1".to_owned(),
    };
    (field, text)
}

fn remedy(replicas: i64) -> &'static str {
    if replicas == 1 { "use maxUnavailable: 1, or run 2 replicas" } else { "use maxUnavailable: 1" }
}
