//! `non-gpu-on-gpu-pool`: a Pod that asks for no GPU and may take the place of one that does.

use crate::{
    cluster::Kind,
    k8s::taints,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::{Body, Operation},
};

/// `non-gpu-on-gpu-pool`
pub static NON_GPU_ON_GPU_POOL: Rule = Rule {
    id: "non-gpu-on-gpu-pool",
    family: Family::Placement,
    summary: "nodes with GPUs are left to Pods that ask for one",
    why: "A toleration lifts the only barrier. CPU and memory of GPU nodes are eaten, GPU Pods then fail on cpu or memory beside idle cards, and the nodes cannot be scaled down.",
    remedy: "Remove the toleration or the selector, or ask for a GPU.",
    severity: Severity::Warn,
    severity_because: "it may be meant; `gpuNodesOnlyForGpu: true` in the AdmissionPolicy refuses it",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["Kubernetes: taints and tolerations"],
    check: Check::Case(check),
};

// Long because the taint, the selector and the severity of one finding are told together.
fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        let PodCase { prefix, written, placement, .. } = pod;
        // What runs on every node is no tenant of the pool.
        let everywhere = is_daemon(case, pod) || bypass::is_exempt(case, written);
        let claims = !written.spec.resource_claims.is_empty();
        if placement.asks_gpu || claims || everywhere {
            continue;
        }
        let pools = case.world.pools.iter();
        let guarded =
            pools.flat_map(|live| live.guarding_taints().into_iter().map(move |taint| (live, taint)));
        let tolerated = guarded.into_iter().find_map(|(live, taint)| {
            let by = written
                .spec
                .tolerations
                .iter()
                .position(|toleration| taints::tolerates(toleration, taint, false))?;
            Some((by, &live.pool.name, taint))
        });
        findings.under(prefix);
        let finding = match tolerated {
            Some((index, pool, taint)) => findings.add(
                rule,
                format!("spec.tolerations[{index}]"),
                format!(
                    "a toleration of {}:{}, which guards pool {pool}, without a GPU request",
                    taint.key, taint.effect
                ),
                "no toleration of a GPU pool's taint",
                "remove the toleration, or ask for a GPU",
            ),
            None if is_sent_to_gpu(case, pod) => findings.add(
                rule,
                "spec.nodeName",
                format!(
                    "{}, a node with GPUs, past its taints and without a GPU request",
                    written.spec.node_name
                ),
                "a node without GPUs, chosen by the scheduler",
                "remove nodeName, or ask for a GPU",
            ),
            None if placement.only_gpu_nodes => {
                let by_selector = !written.spec.node_selector.is_empty();
                findings.add(
                    rule,
                    if by_selector { "spec.nodeSelector" } else { "spec.affinity.nodeAffinity" },
                    "a choice of GPU nodes only, without a GPU request",
                    "nodes without GPUs",
                    if by_selector {
                        "remove the selector, or ask for a GPU"
                    } else {
                        "remove the affinity, or ask for a GPU"
                    },
                )
            }
            None => continue,
        };
        if case.policy.gpu_nodes_only_for_gpu {
            finding.severity = Severity::Deny;
        }
    }
}

/// Whether its author named a node that has GPUs: nobody asks its taints then.
fn is_sent_to_gpu(case: &Case<'_>, pod: &PodCase<'_>) -> bool {
    let node = case.world.cluster.node(&pod.written.spec.node_name);
    let written = matches!(case.subject.body, Body::Template(_))
        || case.subject.facts.operation == Operation::Create && !case.is_running_pod();
    written && node.is_some_and(|node| node.shape.has_gpu())
}

/// Whether one such Pod runs on every node.
pub(in crate::rules) fn is_daemon(case: &Case<'_>, pod: &PodCase<'_>) -> bool {
    match &case.subject.body {
        Body::Template(_) => case.subject.kind == "DaemonSet",
        _ => pod.written.metadata.controller().is_some_and(|owner| owner.kind == "DaemonSet"),
    }
}
