//! A budget that never lets a Pod go: at every size of its workloads, or at their smallest.

use crate::{
    cluster::Workload,
    k8s::{
        disruption,
        labels::Selector,
        object::{IntOrText, LabelSelector, PodDisruptionBudget},
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

/// Sizes at which a budget without a known workload is tried: blocked at all of them means blocked at any.
const ANY_SIZE: [i64; 3] = [1, 2, 100];

/// Smallest and largest number of Pods that a budget selects, and whose.
struct Sizes {
    least: i64,
    most: i64,
    whose: String,
}

fn always(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    findings.under("");
    match &case.subject.body {
        Body::Budget(budget) => {
            let sizes = of_selected(case, budget);
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
            if sizes.most > 0 && blocks(budget, sizes.most) {
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

/// The workloads that a budget selects, as far as they ask for GPUs; `None` where there is none.
fn of_selected(case: &Case<'_>, budget: &PodDisruptionBudget) -> Option<Sizes> {
    let selector = compiled(budget.spec.selector.as_ref())?;
    let mut sizes = Sizes { least: 0, most: 0, whose: String::new() };
    let mut names = Vec::new();
    for workload in case.world.cluster.workloads(&case.subject.namespace) {
        if workload.object.metadata.controller().is_some() || !selector.matches(&workload.pod_labels) {
            continue;
        }
        let (least, most) = reach(case, workload);
        sizes.least = sizes.least.saturating_add(least);
        sizes.most = sizes.most.saturating_add(most);
        names.push(format!("{} {}", workload.object.kind, workload.object.metadata.name));
    }
    sizes.whose = names.join(", ");
    (!names.is_empty()).then_some(sizes)
}

/// An autoscaler whose target the budget means by name, where the target itself is not in the picture.
fn of_namesake(case: &Case<'_>, budget: &PodDisruptionBudget) -> Option<Sizes> {
    let selector = budget.spec.selector.as_ref()?;
    let mut hpas = case.world.cluster.hpas(&case.subject.namespace);
    let hpa = hpas.find(|hpa| {
        let target = &hpa.spec.scale_target_ref;
        case.world.cluster.workload(&target.kind, &case.subject.namespace, &target.name).is_none()
            && selector.match_labels.values().any(|value| *value == target.name)
    })?;
    Some(Sizes {
        least: hpa.spec.min_replicas.unwrap_or(1),
        most: hpa.spec.max_replicas,
        whose: format!("{} {}", hpa.spec.scale_target_ref.kind, hpa.spec.scale_target_ref.name),
    })
}

/// A workload with every budget of its namespace that selects it.
fn of_template(case: &Case<'_>, mut look: impl FnMut(&PodDisruptionBudget, &Sizes)) {
    let Body::Template(template) = &case.subject.body else { return };
    let Some(group) = template.groups.first() else { return };
    let Some(count) = group.count else { return };
    let (least, most) = scaled(case, &case.subject.kind, &case.subject.name).unwrap_or((count, count));
    let sizes = Sizes { least, most, whose: String::new() };
    for budget in case.world.cluster.budgets(&case.subject.namespace) {
        let labels = &group.pod.metadata.labels;
        if budget.spec.selector.as_ref().is_some_and(|selector| selector.selects(labels)) {
            look(budget, &sizes);
        }
    }
}

/// Fewest and most Pods of a workload: the autoscaler's bounds, else its replicas.
fn reach(case: &Case<'_>, workload: &Workload) -> (i64, i64) {
    let replicas = rollout::replicas(&workload.object.spec);
    let name = &workload.object.metadata.name;
    scaled(case, &workload.object.kind, name).unwrap_or((replicas, replicas))
}

fn scaled(case: &Case<'_>, kind: &str, name: &str) -> Option<(i64, i64)> {
    let mut hpas = case.world.cluster.hpas(&case.subject.namespace);
    let hpa = hpas.find(|hpa| {
        let target = &hpa.spec.scale_target_ref;
        target.kind == kind && target.name == name
    })?;
    Some((hpa.spec.min_replicas.unwrap_or(1), hpa.spec.max_replicas))
}

fn compiled(selector: Option<&LabelSelector>) -> Option<Selector> {
    selector.and_then(|selector| Selector::compile(selector).ok())
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
