//! Priorities against what the classes need: a class that counts on preemption and has `Never`, and Pods that
//! outrank models which must not be pushed away.

use crate::{
    cluster::Kind,
    k8s::{
        object::PriorityClass,
        priority::{self, NEVER},
    },
    policy::{Class, Severity},
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `priority-never-for-critical`
pub static PRIORITY_NEVER_FOR_CRITICAL: Rule = Rule {
    id: "priority-never-for-critical",
    family: Family::Priority,
    summary: "a class that counts on pushing others away has a PriorityClass that may",
    why: "preemptionPolicy Never sorts a Pod first in the queue and evicts nobody: the critical model waits behind batch jobs that are running.",
    remedy: "Use preemptionPolicy: PreemptLowerPriority, or drop mustPreempt from the class.",
    severity: Severity::Warn,
    severity_because: "the Pod runs as soon as something is free",
    applies: Applies::Priorities,
    needs: &[],
    sources: &["Kubernetes: non-preempting PriorityClass"],
    check: Check::Case(never),
};

/// `priority-order-violation`
pub static PRIORITY_ORDER_VIOLATION: Rule = Rule {
    id: "priority-order-violation",
    family: Family::Priority,
    summary: "no Pod outranks the models that count on pushing others away, unless its class may",
    why: "Preemption looks at the number alone: a short job with a higher value evicts a model that takes half an hour to load, and its PodDisruptionBudget is no guard against that.",
    remedy: "Name a PriorityClass that the Pod's class allows, or lower the value.",
    severity: Severity::Deny,
    severity_because: "it would evict running models of a class that must not be evicted",
    applies: Applies::Priorities,
    needs: &[Kind::PriorityClass],
    sources: &["kube-scheduler DefaultPreemption: victims by priority, budgets only preferred"],
    check: Check::Case(order),
};

fn never(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    if let Body::Priority(named) = &case.subject.body {
        let is_never = named.preemption_policy.as_deref() == Some(NEVER);
        let of = |class: &&std::sync::Arc<Class>| {
            class.must_preempt && class.priority_class.as_deref() == Some(&*named.metadata.name)
        };
        let classes: Vec<&str> =
            case.policies().classes.iter().filter(of).map(|class| &*class.name).collect();
        if is_never && !classes.is_empty() {
            findings.under("");
            say_never(&classes.join(", "), "preemptionPolicy", rule, findings);
        }
        return;
    }
    for pod in &case.pods {
        let Some(class) = pod.class.as_deref().filter(|class| class.must_preempt) else { continue };
        let spec = &pod.pod.spec;
        let written = spec.preemption_policy.as_deref() == Some(NEVER);
        let named = case.world.cluster.priority_class(&spec.priority_class_name);
        if written || named.is_some_and(|named| named.preemption_policy.as_deref() == Some(NEVER)) {
            findings.under(&pod.prefix);
            let field = if written { "spec.preemptionPolicy" } else { "spec.priorityClassName" };
            say_never(&class.name, field, rule, findings);
        }
    }
}

fn say_never(class: &str, path: &str, rule: &'static Rule, findings: &mut Findings) {
    findings.add(
        rule,
        path,
        format!("Never, for class {class}, which counts on pushing others away"),
        priority::PREEMPT_LOWER_PRIORITY,
        "set preemptionPolicy: PreemptLowerPriority, or drop mustPreempt from the class",
    );
}

fn order(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    match &case.subject.body {
        Body::Priority(named) => of_class(case, named, rule, findings),
        _ => of_pods(case, rule, findings),
    }
}

/// A PriorityClass that puts a class above one that must be able to push it away.
fn of_class(case: &Case<'_>, named: &PriorityClass, rule: &'static Rule, findings: &mut Findings) {
    let name = named.metadata.name.as_str();
    let owners =
        || case.policies().classes.iter().filter(|class| class.priority_class.as_deref() == Some(name));
    findings.under("");
    if is_default_above(case, named, rule, findings) {
        return;
    }
    if owners().next().is_none() {
        return;
    }
    for critical in critical(case) {
        if owners().all(|own| !own.must_preempt) && named.value >= critical.value {
            let owner = owners().next().map_or("", |own| &own.name);
            findings
                .add(
                    rule,
                    "value",
                    format!(
                        "{} for class {owner}, not below {}, the value of class {}, which must be able to push it away",
                        named.value, critical.value, critical.class
                    ),
                    format!("below {}", critical.value),
                    format!("lower the value, or raise PriorityClass {}", critical.priority_class),
                )
                .at_most(Severity::Warn);
            return;
        }
    }
}

/// A default that lets every Pod without a class push models away.
fn is_default_above(
    case: &Case<'_>,
    named: &PriorityClass,
    rule: &'static Rule,
    findings: &mut Findings,
) -> bool {
    let above = critical(case).into_iter().find(|critical| named.value >= critical.value);
    let above = above.filter(|above| named.global_default && above.priority_class != named.metadata.name);
    if let Some(above) = &above {
        findings
            .add(
                rule,
                "globalDefault",
                format!(
                    "true with value {}: every Pod without a class may push away class {} ({})",
                    named.value, above.class, above.value
                ),
                format!("a default below {}", above.value),
                "lower the value, or make another class the default",
            )
            .at_most(Severity::Warn);
    }
    above.is_some()
}

fn of_pods(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        let Some(class) = pod.class.as_deref().filter(|class| !class.must_preempt) else { continue };
        let name = pod.written.spec.priority_class_name.as_str();
        let allowed =
            class.priority_class.as_deref() == Some(name) || class.allowed_priority_classes.contains(name);
        let Some(value) = value_of(case, name).filter(|_| !allowed) else { continue };
        let Some(above) = critical(case).into_iter().find(|critical| value >= critical.value) else {
            continue;
        };
        findings.under(&pod.prefix);
        findings.add(
            rule,
            "spec.priorityClassName",
            format!(
                "{name} ({value}), which lets class {} push away class {} ({})",
                class.name, above.class, above.value
            ),
            match &class.priority_class {
                Some(own) => format!("{own}, or another below {}", above.value),
                None => format!("a class below {}", above.value),
            },
            format!("name another, or list {name} under priority.allowed of class {}", class.name),
        );
    }
}

/// The value of a PriorityClass; Kubernetes' own exist everywhere.
fn value_of(case: &Case<'_>, name: &str) -> Option<i64> {
    let system =
        || priority::SYSTEM_CLASSES.iter().find(|(system, _)| *system == name).map(|(_, value)| *value);
    case.world.cluster.priority_class(name).map(|class| class.value).or_else(system)
}

/// A class that counts on pushing others away, with its value.
struct Critical<'a> {
    class: &'a str,
    priority_class: &'a str,
    value: i64,
}

fn critical<'a>(case: &Case<'a>) -> Vec<Critical<'a>> {
    let classes = case.world.policies.classes.iter().filter(|class| class.must_preempt);
    classes
        .filter_map(|class| {
            let name = class.priority_class.as_deref()?;
            let value = case.world.cluster.priority_class(name)?.value;
            Some(Critical { class: &class.name, priority_class: name, value })
        })
        .collect()
}
