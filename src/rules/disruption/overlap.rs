//! `pdb-overlap`: two budgets on one Pod.

use crate::{
    k8s::{
        labels::Selector,
        object::{Labels, PodDisruptionBudget},
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `pdb-overlap`
pub static PDB_OVERLAP: Rule = Rule {
    id: "pdb-overlap",
    family: Family::Disruption,
    summary: "at most one PodDisruptionBudget selects a Pod",
    why: "The eviction API does not support more than one budget a Pod: every eviction fails with an error, and drains never end.",
    remedy: "Keep one of the two, or narrow a selector.",
    severity: Severity::Deny,
    severity_because: "from then on no node that runs such a Pod can be drained",
    applies: Applies::Budgets,
    needs: &[],
    sources: &["Kubernetes eviction API"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    findings.under("");
    match &case.subject.body {
        Body::Budget(budget) => of_budget(case, budget, rule, findings),
        Body::Template(template) => {
            for group in &template.groups {
                let path = format!("{}.metadata.labels", group.path);
                of_labels(case, &group.pod.metadata.labels, &path, rule, findings);
            }
        }
        _ => {}
    }
}

fn of_budget(case: &Case<'_>, budget: &PodDisruptionBudget, rule: &'static Rule, findings: &mut Findings) {
    let Some(own) = selector(budget) else { return };
    for other in case.world.cluster.budgets(&case.subject.namespace) {
        if other.metadata.name == case.subject.name {
            continue;
        }
        let Some(theirs) = selector(other) else { continue };
        if let Some(sample) = both(case, &own, &theirs) {
            let (name, other) = (&case.subject.name, &other.metadata.name);
            findings.add(
                rule,
                "spec.selector",
                format!("a selection of {sample}, which PodDisruptionBudget {other} selects too"),
                "Pods that no other budget selects",
                format!("remove {name} or {other}, or narrow one of their selectors"),
            );
        }
    }
}

/// A workload that two budgets would select. It is not what is wrong, so it is only told.
fn of_labels(case: &Case<'_>, labels: &Labels, path: &str, rule: &'static Rule, findings: &mut Findings) {
    let budgets = case.world.cluster.budgets(&case.subject.namespace);
    let selecting: Vec<&str> = budgets
        .filter(|budget| selector(budget).is_some_and(|selector| selector.matches(labels)))
        .map(|budget| budget.metadata.name.as_str())
        .collect();
    if selecting.len() > 1 {
        findings
            .add(
                rule,
                path,
                format!("selected by PodDisruptionBudgets {}", selecting.join(" and ")),
                "at most one of them",
                "remove one, or narrow its selector",
            )
            .at_most(Severity::Warn);
    }
}

/// Something that both select: a Pod, or a workload.
fn both(case: &Case<'_>, own: &Selector, theirs: &Selector) -> Option<String> {
    let namespace = &case.subject.namespace;
    let selected = |labels: &Labels| own.matches(labels) && theirs.matches(labels);
    let workloads = case.world.cluster.workloads(namespace).filter(|w| selected(&w.pod_labels));
    let mut workloads =
        workloads.map(|w| format!("the Pods of {} {}", w.object.kind, w.object.metadata.name));
    workloads.next().or_else(|| {
        let mut pods = case.world.cluster.pods_in(namespace).filter(|pod| selected(&pod.labels));
        pods.next().map(|pod| format!("Pod {}", pod.name))
    })
}

fn selector(budget: &PodDisruptionBudget) -> Option<Selector> {
    budget.spec.selector.as_ref().and_then(|selector| Selector::compile(selector).ok())
}
