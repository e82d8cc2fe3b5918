//! `progress-deadline-too-short`: a rollout that is called failed while the model is still loading.

use crate::{
    k8s::{object::Container, probe::Timing, rollout},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule, startup},
    subject::{Body, PodGroup, Rollout, Template, demand},
};

/// `progress-deadline-too-short`
pub static PROGRESS_DEADLINE_TOO_SHORT: Rule = Rule {
    id: "progress-deadline-too-short",
    family: Family::ProbesAndRollout,
    summary: "a Deployment waits as long for progress as its Pods may take to start",
    why: "A Pod that is not Ready yet makes no progress. After progressDeadlineSeconds (600 where absent) the rollout is reported as failed, and pipelines roll back a model that would have been healthy minutes later.",
    remedy: "Set progressDeadlineSeconds above the start-up budget.",
    severity: Severity::Warn,
    severity_because: "the Pods go on; who waits for the rollout is told that it failed",
    applies: Applies::Templates,
    needs: &[],
    sources: &["Kubernetes deployment controller: progress"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(template) = &case.subject.body else { return };
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        let Some(deadline) =
            template.group(&pod.prefix).and_then(|group| Deadline::of(case, template, group))
        else {
            continue;
        };
        let loading = startup::loading_time(&pod.pod, pod.class.as_deref()).unwrap_or(0);
        let probed = demand::containers(&pod.pod.spec).map(|(_, container)| patience(container)).max();
        let needed = loading.max(probed.unwrap_or(0));
        if deadline.seconds >= needed {
            continue;
        }
        let enough = needed.saturating_add(needed / 5).saturating_add(60);
        findings.under("");
        findings.add(
            rule,
            deadline.path,
            format!("{}{}", deadline.seconds, if deadline.written { "" } else { ", the default" }),
            format!("more than {needed}, the seconds that a Pod may take to start{}", from_zero(case, pod)),
            format!("set {}: {enough}{}", deadline.field, deadline.unit),
        );
    }
}

/// Seconds that a rollout may go without progress, and where that is said.
struct Deadline {
    seconds: i64,
    written: bool,
    path: String,
    field: &'static str,
    unit: &'static str,
}

/// Knative's word for it, and its default where an installation has not changed that.
const REVISION: &str = "serving.knative.dev/progress-deadline";
const REVISION_SECONDS: i64 = 600;

impl Deadline {
    fn of(case: &Case<'_>, template: &Template, group: &PodGroup) -> Option<Self> {
        let spec = &template.workload.spec;
        match group.rollout {
            Rollout::Deployment | Rollout::Argo => Some(Self {
                seconds: rollout::progress_deadline(spec)?,
                written: spec.progress_deadline_seconds.is_some(),
                path: "spec.progressDeadlineSeconds".to_owned(),
                field: "progressDeadlineSeconds",
                unit: "",
            }),
            Rollout::Beside if case.subject.api_version.starts_with("serving.knative.dev/") => {
                let written = group.pod.metadata.annotations.get(REVISION);
                let seconds = written.map(|text| text.trim_end_matches('s').parse());
                Some(Self {
                    // Another unit is not read: nothing is said about it.
                    seconds: seconds.transpose().ok()?.unwrap_or(REVISION_SECONDS),
                    written: written.is_some(),
                    path: format!("{}.metadata.annotations[{REVISION}]", group.path),
                    field: REVISION,
                    unit: "s",
                })
            }
            _ => None,
        }
    }
}

/// Seconds that a container's own startup probe allows it.
fn patience(container: &Container) -> i64 {
    let budget = |timing: Timing| {
        timing.initial_delay.saturating_add(timing.period.saturating_mul(timing.failure_threshold))
    };
    container.startup_probe.as_ref().map_or(0, |probe| budget(Timing::of(probe)))
}

/// A pool without nodes adds the time until a machine is there.
fn from_zero(case: &Case<'_>, pod: &crate::rules::PodCase<'_>) -> &'static str {
    let mut pools = pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool));
    if pools.any(|live| live.is_empty()) { ", and the time until a node has come" } else { "" }
}
