//! Liveness probes that kill a server which is only busy: at the first failure, or sooner than a shared GPU answers.

use crate::{
    gpu::Mode,
    k8s::{object::Container, probe::Timing},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, startup},
    subject::demand,
};

/// `liveness-one-strike`
pub static LIVENESS_ONE_STRIKE: Rule = Rule {
    id: "liveness-one-strike",
    family: Family::ProbesAndRollout,
    summary: "a model server is not killed at the first probe that it misses",
    why: "A long prompt, a garbage collection or a slow disk is enough to miss one; the kubelet kills the container, and the model loads again for minutes.",
    remedy: "Set failureThreshold to 3 or more.",
    severity: Severity::Warn,
    severity_because: "it serves as long as no probe is missed",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: liveness probes, failureThreshold"],
    check: Check::Case(one_strike),
};

/// `liveness-timeout-too-short`
pub static LIVENESS_TIMEOUT_TOO_SHORT: Rule = Rule {
    id: "liveness-timeout-too-short",
    family: Family::ProbesAndRollout,
    summary: "on shared GPUs a liveness probe waits longer than a neighbour's turn may take",
    why: "Where cards are shared a process waits while its neighbours compute, and a server that computes answers nobody. With the default of one second the kubelet kills what is only starved, and the model loads again beside the same neighbours.",
    remedy: "Set timeoutSeconds of the livenessProbe to 5 or more.",
    severity: Severity::Warn,
    severity_because: "servers that answer probes beside their work are not affected",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: probe defaults", "NVIDIA: time-slicing, MPS"],
    check: Check::Case(timeout),
};

/// Seconds that a probe on a shared card should wait at least: a few turns of the neighbours.
const SHARED_TIMEOUT: i64 = 2;

fn one_strike(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    each(case, findings, |_, path, container, timing, findings| {
        if timing.failure_threshold == 1 {
            findings
                .add(
                    rule,
                    format!("{path}.livenessProbe.failureThreshold"),
                    "1: killed at the first probe that it misses",
                    "3 or more",
                    "set failureThreshold: 3",
                )
                .in_container(&container.name);
        }
    });
}

fn timeout(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    each(case, findings, |pod, path, container, timing, findings| {
        let mode = |pool| case.world.pools.get(pool).map(|live| live.pool.mode);
        let modes = pod.placement.candidates.iter().filter_map(|candidate| mode(&candidate.pool));
        let mut modes = modes.peekable();
        let shared =
            modes.peek().is_some() && modes.all(|mode| matches!(mode, Mode::TimeSlicing | Mode::Mps));
        if shared && timing.timeout < SHARED_TIMEOUT {
            findings
                .add(
                    rule,
                    format!("{path}.livenessProbe.timeoutSeconds"),
                    format!("{} s on GPUs that are shared", timing.timeout),
                    format!("{SHARED_TIMEOUT} s or more, a few turns of the neighbours"),
                    "set timeoutSeconds: 5",
                )
                .in_container(&container.name);
        }
    });
}

/// Every liveness probe of a container that serves a model on a GPU.
fn each(
    case: &Case<'_>,
    findings: &mut Findings,
    mut look: impl FnMut(&PodCase<'_>, &str, &Container, Timing, &mut Findings),
) {
    for pod in &case.pods {
        let serves =
            pod.class.as_ref().is_some_and(|class| !class.runs_to_end && class.startup_budget.is_some());
        if !serves {
            continue;
        }
        findings.under(&pod.prefix);
        for (place, container) in demand::containers(&pod.pod.spec) {
            let Some(probe) = &container.liveness_probe else { continue };
            if startup::is_main(place, container) && startup::uses_gpu(container) {
                look(pod, &place.path(), container, Timing::of(probe), findings);
            }
        }
    }
}
