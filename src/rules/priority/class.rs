//! `priorityclass-not-found` and the reason of the change `priority-set`.

use crate::{
    cluster::Kind,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
};

/// `priorityclass-not-found`
pub static PRIORITYCLASS_NOT_FOUND: Rule = Rule {
    id: "priorityclass-not-found",
    family: Family::Priority,
    summary: "the PriorityClass that is named exists",
    why: "The Priority plugin looks when a Pod is made, not when a template is written: the Deployment is accepted, its Pods never are, and the reason sits in ReplicaSet events.",
    remedy: "Name a PriorityClass that exists, or apply the missing one.",
    severity: Severity::Deny,
    severity_because: "the API server refuses every such Pod; asserted only from a synced picture of the PriorityClasses",
    applies: Applies::Pods,
    needs: &[Kind::PriorityClass],
    sources: &["Kubernetes admission plugin Priority"],
    check: Check::Case(check),
};

/// `priority-set`
pub static PRIORITY_SET: Rule = Rule {
    id: "priority-set",
    family: Family::Priority,
    summary: "the Pod has the priority of its class: name, value and preemption policy together",
    why: "The Priority plugin runs before the webhooks and again after a change; it refuses a Pod whose priority or preemptionPolicy differs from the class that is named.",
    remedy: "Nothing to do; write priorityClassName yourself if you want to see it in git.",
    severity: Severity::Audit,
    severity_because: "it is a change, not a problem",
    applies: Applies::Pods,
    needs: &[Kind::PriorityClass],
    sources: &["Kubernetes admission plugin Priority"],
    check: Check::Placement,
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, class, .. } in &case.pods {
        let named = written.spec.priority_class_name.as_str();
        if !named.is_empty() {
            findings.under(prefix);
            if case.world.cluster.priority_class(named).is_none() && !named.starts_with("system-") {
                say(case, named, "spec.priorityClassName", class.as_deref(), rule, findings);
            }
            continue;
        }
        // The class's own PriorityClass is the policy's promise: without it the Pod runs, only at no
        // particular priority. First use has none of them, and nobody wants that said at every Pod.
        let Some(class) = class else { continue };
        let Some(promised) = &class.priority_class else { continue };
        if case.world.cluster.priority_class(promised).is_none() {
            findings.under("");
            let path = format!("WorkloadClass {} spec.priorityClassName", class.name);
            say(case, promised, &path, Some(&**class), rule, findings).at_most(Severity::Audit);
        }
    }
}

fn say<'f>(
    case: &Case<'_>,
    named: &str,
    path: &str,
    class: Option<&crate::policy::Class>,
    rule: &'static Rule,
    findings: &'f mut Findings,
) -> &'f mut crate::rules::Finding {
    let allowed = class.into_iter().flat_map(|c| c.priority_class.iter().chain(&c.allowed_priority_classes));
    let existing: Vec<&str> = case
        .world
        .cluster
        .priority_classes()
        .map(|class| class.metadata.name.as_str())
        .filter(|name| !name.starts_with("system-"))
        .collect();
    let fitting: Vec<&str> = allowed.map(String::as_str).filter(|name| existing.contains(name)).collect();
    let offered = if fitting.is_empty() { existing } else { fitting };
    let (should, remedy) = match offered.as_slice() {
        [] => (
            "a class that exists; this cluster has none of its own".to_owned(),
            format!("apply a PriorityClass {named} first"),
        ),
        names => (names.join(" or "), format!("name one of them, or apply a PriorityClass {named} first")),
    };
    findings.add(rule, path, format!("{named}, which does not exist"), should, remedy).on_absence()
}
