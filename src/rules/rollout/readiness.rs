//! `readiness-not-model-aware`: a server that counts as ready before its model is.

use crate::{
    k8s::object::Container,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, startup},
    subject::{
        demand,
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
        if !loads {
            continue;
        }
        findings.under(prefix);
        for (place, container) in demand::containers(&pod.spec) {
            if place.list != "containers" || !startup::uses_gpu(container) || !serves(container) {
                continue;
            }
            let is = match &container.readiness_probe {
                None => "absent: Ready as soon as the container runs",
                Some(probe) if probe.tcp_socket.is_some() => "an open port, which may come before the model",
                Some(_) => continue,
            };
            let (should, remedy) = wanted(container);
            findings
                .add(rule, format!("{}.readinessProbe", place.path()), is, should, remedy)
                .in_container(&container.name);
        }
    }
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
