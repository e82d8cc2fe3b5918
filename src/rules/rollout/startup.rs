//! `startup-budget-too-small`: probes that kill a model while it loads.

use crate::{
    k8s::{
        object::{Container, Pod, Probe},
        probe::{self, ProbeKind, StartupBudget, Timing, Window},
    },
    policy::{Class, Severity},
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
    subject::demand::{self, ContainerPlace},
};

/// Annotation by which a Pod states its own loading time, in seconds.
pub const LOAD_SECONDS: &str = "sluice.dev/load-seconds";

/// `startup-budget-too-small`
pub static STARTUP_BUDGET_TOO_SMALL: Rule = Rule {
    id: "startup-budget-too-small",
    family: Family::ProbesAndRollout,
    summary: "no probe kills the container while its model may still be loading",
    why: "Without a startup probe, failures of the liveness probe count from initialDelaySeconds on: a model that loads longer is restarted for ever.",
    remedy: "Add a startupProbe with failureThreshold × periodSeconds of at least the loading time.",
    severity: Severity::Warn,
    severity_because: "the loading time is a budget, not a measurement: the probable warns",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: probe defaults; kill times are derived from the kubelet's prober, not measured"],
    check: Check::Case(check),
};

/// Seconds that a Pod's model may take to load: its own word, else its class's.
pub fn loading_time(pod: &Pod, class: Option<&Class>) -> Option<i64> {
    let own = pod.metadata.annotations.get(LOAD_SECONDS).and_then(|seconds| seconds.parse().ok());
    own.or_else(|| class?.startup_budget.and_then(|seconds| i64::try_from(seconds).ok()))
}

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, class, .. } in &case.pods {
        findings.under(prefix);
        let Some(needed) = loading_time(pod, class.as_deref()) else { continue };
        for (place, container) in demand::containers(&pod.spec) {
            let serves = is_main(place, container) && uses_gpu(container);
            if let Some(budget) = budget(container).filter(|_| serves)
                && budget.killed.earliest < needed
            {
                let (field, timing) = of(container, budget.probe);
                findings
                    .add(
                        rule,
                        format!("{}.{field}", place.path()),
                        format!("killed after {} s at the earliest", budget.killed.earliest),
                        format!("{needed} s or more, the time that the model may take to load"),
                        remedy(budget.probe, timing, needed, container.startup_probe.is_some()),
                    )
                    .in_container(&container.name);
            }
        }
    }
}

/// When a container is killed that does not answer for its model. A startup probe that asks for an open port holds
/// the liveness probe back until the port is open, and no longer: then that one counts.
fn budget(container: &Container) -> Option<StartupBudget> {
    let port = |probe: &Option<Probe>| probe.as_ref().is_some_and(|probe| probe.tcp_socket.is_some());
    let liveness = probe::liveness_kill(container).filter(|_| port(&container.startup_probe));
    match liveness.filter(|_| !port(&container.liveness_probe)) {
        Some((earliest, _)) => {
            let killed = Window { earliest, latest: i64::MAX };
            Some(StartupBudget { probe: ProbeKind::Liveness, killed })
        }
        None => probe::startup_budget(container),
    }
}

/// A container that runs as long as the Pod: a native sidecar is one too.
pub fn is_main(place: ContainerPlace, container: &Container) -> bool {
    place.list == "containers" || container.is_sidecar()
}

/// The container that serves the model is the one with the GPU.
pub fn uses_gpu(container: &Container) -> bool {
    let resources = &container.resources;
    let mut names = resources.limits.keys().chain(resources.requests.keys());
    !resources.claims.is_empty() || names.any(|name| crate::gpu::resource::is_gpu_like(name))
}

/// A startup probe begins at once, so it has to make up for the delay of the liveness probe beside it.
fn remedy(kind: ProbeKind, timing: Option<Timing>, needed: i64, has_startup: bool) -> String {
    let Some(timing) = timing else { return String::new() };
    if kind == ProbeKind::Startup {
        return format!("set failureThreshold: {}", timing.failure_threshold_for(needed));
    }
    let made = Timing { initial_delay: 0, ..timing };
    let threshold = made.failure_threshold_for(needed);
    let what = if has_startup { "let the startupProbe ask the same," } else { "add a startupProbe" };
    format!("{what} with periodSeconds: {}, failureThreshold: {threshold}", made.period)
}

fn of(container: &Container, kind: ProbeKind) -> (&'static str, Option<Timing>) {
    let (field, probe) = match kind {
        ProbeKind::Liveness => ("livenessProbe", &container.liveness_probe),
        ProbeKind::Readiness => ("readinessProbe", &container.readiness_probe),
        ProbeKind::Startup => ("startupProbe", &container.startup_probe),
    };
    (field, probe.as_ref().map(Timing::of))
}
