//! `readiness-not-model-aware`: a server that counts as ready before its model is.

use crate::{
    k8s::object::{Container, Pod, Probe},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, startup},
    subject::{
        Body, Role, demand,
        engine::{Arguments, Engine},
    },
};

/// `readiness-not-model-aware`
pub static READINESS_NOT_MODEL_AWARE: Rule = Rule {
    id: "readiness-not-model-aware",
    family: Family::ProbesAndRollout,
    summary: "a model server is Ready only once its model is loaded",
    why: "Without a readiness probe a container counts as ready as soon as it runs, and an open port says nothing of the model: requests arrive minutes too early, and a rollout removes the old replica before the new one can serve.",
    remedy: "Add a readinessProbe that asks the server for its health or its models.",
    severity: Severity::Warn,
    severity_because: "the Pod runs; its first requests fail",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: readiness probes"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, class, .. } in &case.pods {
        // Only classes that load a model have a budget for it.
        let loads = class.as_ref().is_some_and(|class| class.startup_budget.is_some());
        if !loads || is_worker(case, prefix, pod) {
            continue;
        }
        findings.under(prefix);
        for (place, container) in demand::containers(&pod.spec) {
            if !startup::is_main(place, container) || !startup::uses_gpu(container) || !serves(container) {
                continue;
            }
            let is = match &container.readiness_probe {
                // Nothing is ready before its startup probe succeeded.
                _ if container.startup_probe.as_ref().is_some_and(knows_the_model) => continue,
                // Without an image it is half a container: a runtime or a configuration has the other half.
                None if container.image.is_empty() => continue,
                None => "absent: Ready as soon as the container runs",
                Some(probe) if knows_the_model(probe) => continue,
                Some(probe) if probe.tcp_socket.is_some() => "an open port, which may come before the model",
                Some(_) => "a path that says that the process lives, with its model or without",
            };
            let (should, remedy) = wanted(container);
            findings
                .add(rule, format!("{}.readinessProbe", place.path()), is, should, remedy)
                .in_container(&container.name);
        }
    }
}

/// Not by an open port, and not by a path whose name is that of liveness. What a command or another path asks is
/// not known here.
fn knows_the_model(probe: &Probe) -> bool {
    const LIVENESS: [&str; 5] = ["/live", "/livez", "/health/live", "/healthz/live", "/liveness"];
    let path = probe.http_get.as_ref().map(|get| get.path.trim_end_matches('/'));
    probe.tcp_socket.is_none() && !path.is_some_and(|path| LIVENESS.iter().any(|end| path.ends_with(end)))
}

/// Labels of a group's Pods, with the values that leaders have.
const GROUPS: [(&str, &str); 2] =
    [("leaderworkerset.sigs.k8s.io/worker-index", "0"), ("ray.io/node-type", "head")];

/// A worker loads a part of the model and answers to its leader alone.
fn is_worker(case: &Case<'_>, prefix: &str, pod: &Pod) -> bool {
    let labels = &pod.metadata.labels;
    let labelled = GROUPS.iter().any(|(key, leader)| labels.get(*key).is_some_and(|value| value != leader));
    let of_group = match &case.subject.body {
        Body::Template(template) => template.group(prefix).is_some_and(|group| group.role == Role::Worker),
        _ => false,
    };
    labelled || of_group
}

/// A container that answers requests; workers of a group load a part of the model and answer nobody.
fn serves(container: &Container) -> bool {
    !container.ports.is_empty() || Arguments::of(container).engine() != Engine::Other
}

fn wanted(container: &Container) -> (String, String) {
    let port =
        container.ports.first().map_or_else(|| "PORT".to_owned(), |port| port.container_port.to_string());
    let path = match Arguments::of(container).engine() {
        Engine::Vllm | Engine::Sglang | Engine::Tgi => "/health",
        Engine::Other => "a path that answers only once the model is loaded",
    };
    let should = "a probe that succeeds once the model is loaded".to_owned();
    (should, format!("add readinessProbe: {{httpGet: {{path: {path}, port: {port}}}}}"))
}
