//! Deadlines: work that should end has one, a server has none.

use serde_json::Value;

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
    subject::Body,
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
        let job = prefix.strip_suffix("template.").unwrap_or_default();
        if deadline_at(case, job) {
            continue;
        }
        findings.under("");
        let path =
            if job.is_empty() { format!("{prefix}spec") } else { job.trim_end_matches('.').to_owned() };
        findings.add(
            rule,
            format!("{path}.activeDeadlineSeconds"),
            "absent: nothing ends it if it hangs",
            "the longest time that it may take, in seconds",
            "set activeDeadlineSeconds",
        );
    }
}

/// Whether the object around the template has a deadline: a Job, or the Job that a CronJob makes.
fn deadline_at(case: &Case<'_>, prefix: &str) -> bool {
    let mut keys = prefix.split('.').filter(|key| !key.is_empty());
    let spec = keys.try_fold(&*case.subject.raw, |value, key| value.get(key));
    spec.and_then(|spec| spec.get("activeDeadlineSeconds")).is_some_and(Value::is_number)
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
