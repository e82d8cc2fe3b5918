//! Values of PriorityClasses that no API server takes, or that mean more than a number.

use crate::{
    cluster::Kind,
    k8s::priority,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `priorityclass-invalid`
pub static PRIORITYCLASS_INVALID: Rule = Rule {
    id: "priorityclass-invalid",
    family: Family::Priority,
    summary: "a PriorityClass has a name and a value that users may give",
    why: "Values above a billion and names that begin with system- are Kubernetes' own: the API server refuses the class, and then every Pod that names it.",
    remedy: "Use a value of at most 1000000000 and another name.",
    severity: Severity::Deny,
    severity_because: "the API server refuses it",
    applies: Applies::Priorities,
    needs: &[],
    sources: &["Kubernetes pkg/apis/scheduling/validation/validation.go"],
    check: Check::Case(invalid),
};

/// `priority-system-class`
pub static PRIORITY_SYSTEM_CLASS: Rule = Rule {
    id: "priority-system-class",
    family: Family::Priority,
    summary: "a workload has no priority of the cluster's own",
    why: "system-cluster-critical and system-node-critical outrank everything: a model with one pushes network, storage and monitoring away to get a GPU, and nothing can ever take its place.",
    remedy: "Name a PriorityClass of your own.",
    severity: Severity::Warn,
    severity_because: "it runs, and there are clusters whose quota allows it on purpose",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: guaranteed scheduling for critical add-on Pods"],
    check: Check::Case(system),
};

/// `priority-below-cutoff`
pub static PRIORITY_BELOW_CUTOFF: Rule = Rule {
    id: "priority-below-cutoff",
    family: Family::Priority,
    summary: "GPU Pods have a priority for which an autoscaler adds nodes",
    why: "The cluster autoscaler takes Pods with a priority below -10 for expendable: it adds no node for them and removes their nodes under them.",
    remedy: "Use a value of -10 or more.",
    severity: Severity::Warn,
    severity_because: "it is right for work that may only use what is left over",
    applies: Applies::Priorities,
    needs: &[Kind::PriorityClass],
    sources: &["cluster-autoscaler: expendable-pods-priority-cutoff"],
    check: Check::Case(below),
};

/// The autoscaler's default.
const CUTOFF: i64 = -10;

fn invalid(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Priority(class) = &case.subject.body else { return };
    findings.under("");
    for problem in priority::class_problems(class) {
        use priority::ClassProblem::{PreemptionPolicy, ReservedName, SystemDefault};
        let (path, is) = match &problem {
            ReservedName => ("metadata.name", class.metadata.name.clone()),
            SystemDefault => ("globalDefault", "true".to_owned()),
            PreemptionPolicy { policy } => ("preemptionPolicy", policy.clone()),
            _ => ("value", class.value.to_string()),
        };
        let remedy = format!("correct {path}: the API server refuses this class");
        findings.add(rule, path, format!("{is}: {problem}"), "what a user may give", remedy);
    }
}

fn system(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let namespace = case.subject.namespace.as_str();
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        let name = pod.written.spec.priority_class_name.as_str();
        let is_system = priority::SYSTEM_CLASSES.iter().any(|(system, _)| *system == name);
        if !is_system || namespace == "kube-system" || case.policy.exempts(namespace, pod.written) {
            continue;
        }
        let own = pod.class.as_ref().and_then(|class| class.priority_class.as_deref());
        let should = own.map_or_else(|| "a class of your own".to_owned(), str::to_owned);
        findings.under(&pod.prefix);
        let is = format!("{name}, which pushes the cluster's own Pods away");
        let remedy = format!("name {should}");
        findings.add(rule, "spec.priorityClassName", is, should, remedy);
    }
}

fn below(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    if let Body::Priority(class) = &case.subject.body {
        let uses = |own: &&std::sync::Arc<crate::policy::Class>| {
            own.priority_class.as_deref() == Some(&*class.metadata.name)
                || own.allowed_priority_classes.contains(&class.metadata.name)
        };
        let users: Vec<&str> = case.policies().classes.iter().filter(uses).map(|own| &*own.name).collect();
        if class.value < CUTOFF && !users.is_empty() {
            findings.under("");
            say(class.value, "value", &format!("class {}", users.join(", ")), rule, findings);
        }
        return;
    }
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        let name = pod.written.spec.priority_class_name.as_str();
        let Some(class) = case.world.cluster.priority_class(name).filter(|class| class.value < CUTOFF) else {
            continue;
        };
        let pools = pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool));
        let mut growing = pools.filter(|live| live.pool.autoscaling.is_some());
        if let Some(live) = growing.next() {
            findings.under(&pod.prefix);
            let whom = format!("Pods on pool {}, which an autoscaler makes larger", live.pool.name);
            say(class.value, "spec.priorityClassName", &whom, rule, findings);
        }
    }
}

fn say(value: i64, path: &str, whom: &str, rule: &'static Rule, findings: &mut Findings) {
    findings.add(
        rule,
        path,
        format!("{value} for {whom}: no node is added below {CUTOFF}"),
        format!("{CUTOFF} or more"),
        format!("use a value of {CUTOFF} or more, or add the nodes by hand"),
    );
}
