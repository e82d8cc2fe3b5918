//! Deadlines: work that should end has one, a server has none.

use serde_json::Value;

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
    subject::{Body, Rollout, templates},
};

/// `batch-deadline-missing`
pub static BATCH_DEADLINE_MISSING: Rule = Rule {
    id: "batch-deadline-missing",
    family: Family::ProbesAndRollout,
    summary: "work that runs to an end has a deadline",
    why: "A job that hangs holds its GPUs until somebody notices; nothing else ends it.",
    remedy: "Set activeDeadlineSeconds on the Job, or on its Pods.",
    severity: Severity::Warn,
    severity_because: "the job runs; set it to deny where every job must have one",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: Job termination"],
    check: Check::Case(missing),
};

/// `deadline-on-server`
pub static DEADLINE_ON_SERVER: Rule = Rule {
    id: "deadline-on-server",
    family: Family::ProbesAndRollout,
    summary: "a model server has no deadline",
    why: "activeDeadlineSeconds fails the Pod when the time is up, whatever it does: a healthy server is killed.",
    remedy: "Remove activeDeadlineSeconds.",
    severity: Severity::Warn,
    severity_because: "it serves until then, and a server may be meant to be temporary",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: activeDeadlineSeconds of a Pod"],
    check: Check::Case(on_server),
};

fn missing(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, class, placement, .. } in &case.pods {
        let ends = class.as_ref().is_some_and(|class| class.runs_to_end);
        // A Pod with a controller is judged by its controller's own object.
        let own = matches!(case.subject.body, Body::Template(_)) || pod.metadata.controller().is_none();
        if !placement.asks_gpu || !ends || !own || pod.spec.active_deadline_seconds.is_some() {
            continue;
        }
        let group = match &case.subject.body {
            Body::Template(template) => template.group(prefix),
            _ => None,
        };
        // What is kept running for ever is a server, whatever its class is called.
        if group.is_some_and(|group| group.rollout != Rollout::Once) || case.subject.kind == "ReplicaSet" {
            continue;
        }
        let deadlines = group.map_or(&[][..], |group| &group.deadlines);
        let at = |path: &String| templates::at(&case.subject.raw, path).is_some_and(Value::is_number);
        if deadlines.iter().any(at) {
            continue;
        }
        findings.under("");
        let own = format!("{prefix}spec.activeDeadlineSeconds");
        findings.add(
            rule,
            deadlines.first().unwrap_or(&own),
            "absent: nothing ends it if it hangs",
            "the longest time that it may take, in seconds",
            "set activeDeadlineSeconds",
        );
    }
}

fn on_server(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, class, placement, .. } in &case.pods {
        let serves = class.as_ref().is_some_and(|class| !class.runs_to_end && class.startup_budget.is_some());
        let Some(seconds) = pod.spec.active_deadline_seconds.filter(|_| serves && placement.asks_gpu) else {
            continue;
        };
        findings.under(prefix);
        findings.add(
            rule,
            "spec.activeDeadlineSeconds",
            format!("{seconds}: the server is killed after that, whatever it does"),
            "absent",
            "remove activeDeadlineSeconds",
        );
    }
}
