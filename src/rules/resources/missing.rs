//! GPUs that nobody gives: a class that should have one and asks for none, and a request in a place where none is
//! given.

use crate::{
    gpu::resource,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
    subject::{
        CLASS_LABEL, demand,
        engine::{Arguments, Engine},
    },
};

/// `gpu-missing`
pub static GPU_MISSING: Rule = Rule {
    id: "gpu-missing",
    family: Family::Resources,
    summary: "a Pod of a class, or with an inference engine, asks for a GPU",
    why: "Without a request there is no device: the engine finds no CUDA device and ends, or computes on the CPU a hundred times slower. On a node with GPUs it may find every card of the node instead.",
    remedy: "Ask for a GPU under resources.limits, or take the class label away.",
    severity: Severity::Warn,
    severity_because: "the label or the engine may stand on a part that needs none; a request of 0 says that none is wanted",
    applies: Applies::Pods,
    needs: &[],
    sources: &["NVIDIA container toolkit", "vLLM: device type"],
    check: Check::Case(missing),
};

/// `gpu-at-pod-level`
pub static GPU_AT_POD_LEVEL: Rule = Rule {
    id: "gpu-at-pod-level",
    family: Family::Resources,
    summary: "GPUs are asked for by containers, not by the Pod as a whole",
    why: "resources of the Pod's own know cpu, memory and hugepages only. Devices are given to containers.",
    remedy: "Move the GPU to resources.limits of the container that uses it.",
    severity: Severity::Deny,
    severity_because: "the API server refuses such a Pod in any case",
    applies: Applies::Pods,
    needs: &[],
    sources: &["KEP-2837: Pod level resources"],
    check: Check::Case(at_pod_level),
};

fn missing(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        let PodCase { prefix, written, .. } = pod;
        if asks_for_something(pod) {
            continue;
        }
        findings.under(prefix);
        if let Some((place, container, engine)) = engine(pod) {
            findings
                .add(
                    rule,
                    format!("{}.resources", place.path()),
                    format!("without a GPU, for {engine}"),
                    "a GPU under limits",
                    "add limits: {nvidia.com/gpu: 1}, or a CPU build of the engine and no class label",
                )
                .in_container(container);
            continue;
        }
        // Work that runs to an end is done on CPUs too.
        let serves = pod.class.as_ref().is_some_and(|class| !class.runs_to_end);
        if let Some(class) = written.metadata.labels.get(CLASS_LABEL).filter(|_| serves) {
            findings.add(
                rule,
                "spec.containers",
                format!("no GPU asked for, in a Pod of class {class}"),
                "a GPU under limits of the container that uses it",
                format!("add limits: {{nvidia.com/gpu: 1}}, or remove the label {CLASS_LABEL}"),
            );
        }
    }
}

/// Any GPU, also none of it in so many words, or a claim, which may be one.
fn asks_for_something(pod: &PodCase<'_>) -> bool {
    let spec = &pod.written.spec;
    pod.placement.asks_gpu || !spec.resource_claims.is_empty() || crate::subject::relevant::asks_for_gpu(spec)
}

/// The first container that starts an engine which needs a GPU.
fn engine<'a>(pod: &'a PodCase<'_>) -> Option<(demand::ContainerPlace, &'a str, &'static str)> {
    demand::containers(&pod.written.spec).find_map(|(place, container)| {
        let arguments = Arguments::of(container);
        let name = match arguments.engine_or_image() {
            Engine::Sglang => "SGLang",
            Engine::Tgi => "text-generation-inference",
            // vLLM is built for CPUs and TPUs too; a size above 1 is for GPUs.
            Engine::Vllm if arguments.gpus_needed().is_some_and(|needed| needed > 1) => {
                "vLLM on several GPUs"
            }
            Engine::Vllm | Engine::Other => return None,
        };
        Some((place, container.name.as_str(), name))
    })
}

fn at_pod_level(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        let resources = &written.spec.resources;
        for (field, list) in [("limits", &resources.limits), ("requests", &resources.requests)] {
            for (name, amount) in list.iter().filter(|(name, _)| resource::is_gpu_like(name)) {
                // The limit speaks where both are written.
                if field == "requests" && resources.limits.contains_key(name) {
                    continue;
                }
                findings.add(
                    rule,
                    format!("spec.resources.{field}[{name}]"),
                    format!("{} {name} for the Pod as a whole", amount.0),
                    "cpu, memory or hugepages",
                    format!("write limits: {{{name}: \"{}\"}} in the container that uses it", amount.0),
                );
            }
        }
    }
}
