//! A budget that never lets a Pod go: at every size of its workloads, or at their smallest.

use super::sizes::{ANY_SIZE, Sizes, bound, of_namesake, of_selected, of_template};
use crate::{
    k8s::{disruption, object::PodDisruptionBudget},
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
    check: Check::Case(always),
};

/// `pdb-blocks-drain-at-min`
pub static PDB_BLOCKS_DRAIN_AT_MIN: Rule = Rule {
    id: "pdb-blocks-drain-at-min",
    family: Family::Disruption,
    summary: "a PodDisruptionBudget lets a Pod go also at the smallest size that an autoscaler may choose",
    why: "The budget is absolute while the replica count moves: at low load no node of the workload can be drained, until the eviction times out.",
    remedy: "Use maxUnavailable: 1.",
    severity: Severity::Warn,
    severity_because: "it hangs only while the workload is small",
    applies: Applies::Budgets,
    needs: &[],
    sources: &["Kubernetes disruption controller", "Kubernetes HorizontalPodAutoscaler"],
    check: Check::Case(at_min),
};

fn always(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    findings.under("");
    match &case.subject.body {
        Body::Budget(budget) => {
            let sizes = of_selected(case, budget);
            if let Some(kind) = sizes.as_ref().and_then(|sizes| sizes.unscalable(budget)) {
                let (field, value) = bound(budget);
                findings.add(
                    rule,
                    format!("spec.{field}"),
                    format!("{value} over Pods of a {kind}: it has no scale, nobody can count them, and no eviction is allowed"),
                    "a whole number in minAvailable, or no budget over such Pods",
                    "use minAvailable with a whole number, or narrow the selector",
                );
                return;
            }
            let blocked = match &sizes {
                None => ANY_SIZE.iter().all(|size| blocks(budget, *size)),
                Some(sizes) => sizes.most > 0 && blocks(budget, sizes.most),
            };
            if blocked {
                let whose = sizes.as_ref().map_or_else(String::new, |sizes| format!(" of {}", sizes.whose));
                let (field, value) = bound(budget);
                findings.add(
                    rule,
                    format!("spec.{field}"),
                    format!("{value}, which never lets a Pod{whose} go"),
                    "at least one disruption allowed while all Pods are healthy",
                    remedy(sizes.map_or(0, |sizes| sizes.most)),
                );
            }
        }
        Body::Template(_) => of_template(case, |budget, sizes| {
            if sizes.unscalable(budget).is_some() || sizes.most > 0 && blocks(budget, sizes.most) {
                say_template(rule, findings, budget, sizes.most);
            }
        }),
        _ => {}
    }
}

fn at_min(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    findings.under("");
    let hangs = |budget: &PodDisruptionBudget, sizes: &Sizes| {
        sizes.least > 0 && blocks(budget, sizes.least) && !blocks(budget, sizes.most)
    };
    match &case.subject.body {
        Body::Budget(budget) => {
            let sizes = of_selected(case, budget).or_else(|| of_namesake(case, budget));
            if let Some(sizes) = sizes.filter(|sizes| hangs(budget, sizes)) {
                let (field, value) = bound(budget);
                findings.add(
                    rule,
                    format!("spec.{field}"),
                    format!("{value}, which lets no Pod of {} go at {} replicas", sizes.whose, sizes.least),
                    format!("a disruption allowed at {} replicas too, the autoscaler's least", sizes.least),
                    "use maxUnavailable: 1",
                );
            }
        }
        Body::Template(_) => of_template(case, |budget, sizes| {
            if hangs(budget, sizes) {
                say_template(rule, findings, budget, sizes.least);
            }
        }),
        _ => {}
    }
}

fn say_template(rule: &'static Rule, findings: &mut Findings, budget: &PodDisruptionBudget, size: i64) {
    let (field, value) = bound(budget);
    findings.add(
        rule,
        "spec.replicas",
        format!("{size}, under PodDisruptionBudget {} with {field}: {value}", budget.metadata.name),
        "at least one disruption allowed while all Pods are healthy",
        remedy(size),
    );
}

fn blocks(budget: &PodDisruptionBudget, replicas: i64) -> bool {
    // Without a bound the controller expects nothing and allows nothing (`updatePdbStatus`).
    let unbounded = budget.spec.max_unavailable.is_none() && budget.spec.min_available.is_none();
    // A budget that cannot be read is refused by the API server; nothing is asserted about it here.
    unbounded || disruption::blocks_every_drain(&budget.spec, replicas).unwrap_or(false)
}

fn remedy(replicas: i64) -> &'static str {
    if replicas == 1 { "use maxUnavailable: 1, or run 2 replicas" } else { "use maxUnavailable: 1" }
}
