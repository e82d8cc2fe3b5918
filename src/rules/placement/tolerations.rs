//! Tolerations of GPU Pods: what the API server takes, what is missing, what ends too soon, what opens nodes that
//! are not ready.

use std::collections::BTreeSet;

use crate::{
    cluster::Kind,
    k8s::{
        object::{Taint, Toleration},
        taints::{self, TolerationProblem},
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::demand,
    world::taints::is_startup,
};

use super::{cpu_pod::is_daemon, eligible};

const SOURCES: &[&str] = &[
    "Kubernetes API validation: ValidateTolerations",
    "kube-scheduler TaintToleration",
    "taint eviction controller: getMinTolerationTime",
];

const fn rule(
    id: &'static str,
    summary: &'static str,
    why: &'static str,
    remedy: &'static str,
    severity: Severity,
    severity_because: &'static str,
    check: fn(&Case<'_>, &'static Rule, &mut Findings),
) -> Rule {
    Rule {
        id,
        family: Family::Taints,
        summary,
        why,
        remedy,
        severity,
        severity_because,
        applies: Applies::Pods,
        needs: &[],
        sources: SOURCES,
        check: Check::Case(check),
    }
}

/// `toleration-invalid`
pub static TOLERATION_INVALID: Rule = rule(
    "toleration-invalid",
    "the API server takes every toleration",
    "A toleration that it does not take fails the Pod, and whoever wrote the template only sees a workload that makes none. Gt and Lt exist behind the feature gate TaintTolerationComparisonOperators, which is off unless somebody turned it on; tolerationSeconds belongs to NoExecute alone.",
    "Write Exists without a value, or Equal with one; leave tolerationSeconds to NoExecute.",
    Severity::Deny,
    "the API server refuses such a Pod in any case; Gt and Lt only warn, because whether the gate is on is not known here",
    invalid,
);

/// `toleration-missing`
pub static TOLERATION_MISSING: Rule = Rule {
    needs: &[Kind::Node],
    ..rule(
        "toleration-missing",
        "a GPU Pod tolerates the taints of some node that it may get",
        "An affinity leads to nodes and lifts no barrier: without the toleration the Pod stays Pending beside free cards. A value that differs tolerates nothing.",
        "Tolerate the taint, or name the class: tolerations of its pools are then added.",
        Severity::Warn,
        "an admission plugin (ExtendedResourceToleration) or another webhook may add it",
        missing,
    )
};

/// `toleration-expires`
pub static TOLERATION_EXPIRES: Rule = Rule {
    needs: &[Kind::Node],
    ..rule(
        "toleration-expires",
        "a GPU Pod tolerates its nodes' NoExecute taints for as long as it runs",
        "tolerationSeconds is the time until the Pod is evicted. For a taint that is there to stay, the model is loaded, serves for that long, and is thrown out, again and again; a second toleration without seconds does not help.",
        "Remove tolerationSeconds.",
        Severity::Warn,
        "a Pod that runs so briefly may be meant",
        expires,
    )
};

/// `startup-taint-tolerated`
pub static STARTUP_TAINT_TOLERATED: Rule = rule(
    "startup-taint-tolerated",
    "a GPU Pod waits until a new node's GPUs are ready",
    "A startup taint keeps Pods off until driver, device plugin and MIG layout are in place. Who tolerates it comes too early, and fails for good or gets another device than later.",
    "Remove the toleration; it is for the agents that make the node ready.",
    Severity::Warn,
    "the node may be ready in time",
    startup,
);

fn invalid(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let comparison = case.world.features.comparison_operators;
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        for (index, toleration) in written.spec.tolerations.iter().enumerate() {
            for problem in taints::problems(toleration, comparison) {
                let (should, remedy) = way_out(&problem);
                let path = format!("spec.tolerations[{index}]");
                let finding = findings.add(rule, path, problem.to_string(), should, remedy);
                if matches!(problem, TolerationProblem::ComparisonDisabled { .. }) {
                    finding.at_most(Severity::Warn);
                }
            }
        }
    }
}

/// What it should be, and how to get there.
const fn way_out(problem: &TolerationProblem) -> (&'static str, &'static str) {
    match problem {
        TolerationProblem::KeyMissing => ("a key, or operator Exists", "name the taint's key"),
        TolerationProblem::Key { .. } => ("a taint's key", "write the key as the node has it"),
        TolerationProblem::SecondsWithoutNoExecute { .. } => (
            "effect NoExecute, or no tolerationSeconds",
            "remove tolerationSeconds, or write effect: NoExecute",
        ),
        TolerationProblem::Value { .. } => ("a taint's value", "write the value as the node has it"),
        TolerationProblem::UnexpectedValue { .. } => {
            ("Exists without a value, or Equal with one", "remove the value, or write operator: Equal")
        }
        TolerationProblem::ComparisonDisabled { .. } => {
            ("Exists or Equal, unless the gate is on", "write Exists, or turn the feature gate on everywhere")
        }
        TolerationProblem::NotAnInteger { .. } => ("a whole number", "write digits only, such as 80"),
        TolerationProblem::Operator { .. } => ("Exists or Equal", "write operator: Exists"),
        TolerationProblem::Effect { .. } => {
            ("NoSchedule, PreferNoSchedule, NoExecute, or none", "write the effect as the node has it")
        }
    }
}

fn missing(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        // That no pool can serve its class is said by placement.
        let refused = pod.class.is_some() && pod.placement.candidates.is_empty();
        let placed = refused || !pod.written.spec.node_name.is_empty() || case.is_running_pod();
        if !pod.placement.asks_gpu || placed || is_daemon(case, pod) {
            continue;
        }
        let mut tolerations = pod.pod.spec.tolerations.clone();
        if case.world.features.extended_resource_toleration {
            tolerations.extend(demand::units(&pod.pod.spec).into_keys().map(of_resource));
        }
        let (mut open, mut keeping) = (false, BTreeSet::new());
        eligible::each_eligible(case, pod, |found| {
            match eligible::repelling(case, found.shape, &tolerations) {
                Some(taint) => drop(keeping.insert(taint.clone())),
                None => open = true,
            }
        });
        if open || keeping.is_empty() {
            continue;
        }
        let words: Vec<String> = keeping.iter().map(in_words).collect();
        let way: Vec<String> = keeping.iter().map(toleration).collect();
        findings.under(&pod.prefix);
        findings
            .add(
                rule,
                "spec.tolerations",
                format!(
                    "without a toleration of {}, which every node that it may get has",
                    words.join(" or ")
                ),
                "a toleration of the taint of one of them",
                format!("add {}, or the label {}", way.join(" or "), crate::subject::CLASS_LABEL),
            )
            .on_absence();
    }
}

/// What the admission plugin ExtendedResourceToleration adds for a resource: its name as key, NoSchedule only.
fn of_resource(name: String) -> Toleration {
    Toleration {
        key: name,
        operator: "Exists".to_owned(),
        effect: taints::NO_SCHEDULE.to_owned(),
        ..Toleration::default()
    }
}

fn expires(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let comparison = case.world.features.comparison_operators;
    for pod in &case.pods {
        if !pod.placement.asks_gpu {
            continue;
        }
        let tolerations = &pod.pod.spec.tolerations;
        let mut least: Option<(i64, Taint)> = None;
        let mut stays = false;
        eligible::each_eligible(case, pod, |found| {
            let lasting = |taint: &&Taint| !crate::world::taints::is_passing(taint);
            let taints: Vec<Taint> = found.shape.taints.iter().filter(lasting).cloned().collect();
            match taints::seconds_until_eviction(&taints, tolerations, comparison) {
                // One that is not tolerated at all keeps the Pod off.
                Some(0) => {}
                Some(seconds) if least.as_ref().is_none_or(|(least, _)| seconds < *least) => {
                    let evicting = taints.into_iter().find(|taint| taint.effect == taints::NO_EXECUTE);
                    least = evicting.map(|taint| (seconds, taint));
                }
                Some(_) => {}
                None => stays = true,
            }
        });
        let Some((seconds, taint)) = least.filter(|_| !stays) else { continue };
        let with_seconds = |t: &Toleration| {
            t.toleration_seconds == Some(seconds) && taints::tolerates(t, &taint, comparison)
        };
        let index = tolerations.iter().position(with_seconds).unwrap_or_default();
        findings.under(&pod.prefix);
        findings.add(
            rule,
            format!("spec.tolerations[{index}].tolerationSeconds"),
            format!("{seconds}: the Pod is evicted so long after it came, by {}", in_words(&taint)),
            "absent: the taint stays",
            "remove tolerationSeconds",
        );
    }
}

fn startup(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        let PodCase { prefix, written, placement, .. } = pod;
        if !placement.asks_gpu || is_daemon(case, pod) || bypass::is_exempt(case, written) {
            continue;
        }
        findings.under(prefix);
        for (index, toleration) in written.spec.tolerations.iter().enumerate() {
            let key = &toleration.key;
            if !is_startup(key) {
                continue;
            }
            findings.add(
                rule,
                format!("spec.tolerations[{index}]"),
                format!("{key}, the taint of a node that is not ready yet"),
                "no toleration of it",
                "remove the toleration",
            );
        }
    }
}

fn in_words(taint: &Taint) -> String {
    let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
    format!("{}{value}:{}", taint.key, taint.effect)
}

fn toleration(taint: &Taint) -> String {
    format!("{{key: {}, operator: Exists, effect: {}}}", taint.key, taint.effect)
}
