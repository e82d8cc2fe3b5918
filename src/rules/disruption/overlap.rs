//! `pdb-overlap`: two budgets on one Pod.

use std::fmt;

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
    let selected = selected(case, budget);
    if selected.is_empty() {
        return;
    }
    for other in case.world.cluster.budgets(&case.subject.namespace) {
        if other.metadata.name == case.subject.name {
            continue;
        }
        let Some(theirs) = &other.spec.selector else { continue };
        if let Some(sample) = selected.iter().find(|one| theirs.selects(one.labels)) {
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
        .filter(|budget| budget.spec.selector.as_ref().is_some_and(|selector| selector.selects(labels)))
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

/// A workload or a Pod that a budget selects.
struct Selected<'a> {
    labels: &'a Labels,
    /// Kind of the workload; `None` for a Pod.
    workload: Option<&'a str>,
    name: &'a str,
}

impl fmt::Display for Selected<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.workload {
            Some(kind) => write!(f, "the Pods of {kind} {}", self.name),
            None => write!(f, "Pod {}", self.name),
        }
    }
}

/// What the budget selects, workloads first. Looked up once, because a namespace may hold many budgets.
fn selected<'a>(case: &Case<'a>, budget: &PodDisruptionBudget) -> Vec<Selected<'a>> {
    let Some(own) = budget.spec.selector.as_ref().and_then(|own| Selector::compile(own).ok()) else {
        return Vec::new();
    };
    let (cluster, namespace) = (&case.world.cluster, &case.subject.namespace);
    let workloads = cluster.workloads(namespace).map(|workload| Selected {
        labels: &workload.pod_labels,
        workload: Some(&workload.object.kind),
        name: &workload.object.metadata.name,
    });
    let pods = cluster.pods_in(namespace).map(|pod| Selected {
        labels: &pod.labels,
        workload: None,
        name: &pod.name,
    });
    workloads.chain(pods).filter(|one| own.matches(one.labels)).collect()
}
