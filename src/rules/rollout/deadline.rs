//! `progress-deadline-too-short`: a rollout that is called failed while the model is still loading.

use crate::{
    k8s::{object::Container, probe::Timing, rollout},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule, startup},
    subject::{Body, Rollout, demand},
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
    let Some(deadline) = rollout::progress_deadline(&template.workload.spec) else { return };
    for pod in &case.pods {
        let path = pod.prefix.trim_end_matches('.');
        let group = template.groups.iter().find(|group| group.path == path);
        if group.is_none_or(|group| group.rollout != Rollout::Deployment) || !pod.placement.asks_gpu {
            continue;
        }
        let loading = startup::loading_time(&pod.pod, pod.class.as_deref()).unwrap_or(0);
        let probed = demand::containers(&pod.pod.spec).map(|(_, container)| patience(container)).max();
        let needed = loading.max(probed.unwrap_or(0));
        if deadline >= needed {
            continue;
        }
        let written = template.workload.spec.progress_deadline_seconds.is_some();
        findings.under("");
        findings.add(
            rule,
            "spec.progressDeadlineSeconds",
            format!("{deadline}{}", if written { "" } else { ", the default" }),
            format!("more than {needed}, the seconds that a Pod may take to start{}", from_zero(case, pod)),
            format!("set progressDeadlineSeconds: {}", needed.saturating_add(needed / 5).saturating_add(60)),
        );
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
