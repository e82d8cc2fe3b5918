//! `privileged-gpu-bypass`: containers that see every device of the host.

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::{demand, relevant},
};

/// `privileged-gpu-bypass`
pub static PRIVILEGED_GPU_BYPASS: Rule = Rule {
    id: "privileged-gpu-bypass",
    family: Family::Bypass,
    summary: "no container beside a GPU is privileged",
    why: "A privileged container has the host's /dev: it sees every card of the node, whatever was asked for, counts the neighbour's memory as its own and can end the neighbour.",
    remedy: "Drop privileged; for RDMA ask for the device plugin's resource and the capability IPC_LOCK.",
    severity: Severity::Deny,
    severity_because: "it takes memory and time of cards that run other models",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: privileged containers", "NVIDIA device plugin README"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        let PodCase { prefix, written, placement, .. } = pod;
        if bypass::is_exempt(case, written) || bypass::is_mirror_of_its_node(case.subject, written) {
            continue;
        }
        findings.under(prefix);
        // Debug containers have a rule of their own.
        for (place, container) in demand::containers(&written.spec) {
            let path = place.path();
            if !container.security_context.privileged {
                continue;
            }
            let (is, most) = match bypass::reach_of(case, pod) {
                _ if placement.asks_gpu => ("true, in a Pod with a GPU", Severity::Deny),
                bypass::Reach::Aimed => ("true, in a Pod that is sent to GPU nodes", Severity::Warn),
                // What runs privileged on every node is somebody's infrastructure: counted, not shown.
                bypass::Reach::Anywhere => ("true, in a Pod that may land on GPU nodes", Severity::Audit),
                bypass::Reach::No => continue,
            };
            findings
                .add(
                    rule,
                    format!("{path}.securityContext.privileged"),
                    is,
                    "false, or absent",
                    "drop privileged; for RDMA use the device plugin's resource and capability IPC_LOCK",
                )
                .in_container(&container.name)
                .at_most(most);
        }
    }
}

/// `gpu-bypass-ephemeral`
pub static GPU_BYPASS_EPHEMERAL: Rule = Rule {
    id: "gpu-bypass-ephemeral",
    family: Family::Bypass,
    summary: "a debug container does not take devices",
    why: "kubectl debug adds a container that cannot ask for resources, but it can be privileged or set NVIDIA_VISIBLE_DEVICES: then it uses cards inside a tenant's Pod, past every rule.",
    remedy: "Debug without privileged, or with NVIDIA_VISIBLE_DEVICES=void.",
    severity: Severity::Deny,
    severity_because: "it takes memory and time of cards that run models",
    applies: Applies::EphemeralContainers,
    needs: &[],
    sources: &["Kubernetes: ephemeral containers"],
    check: Check::Case(ephemeral),
};

fn ephemeral(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        let written = pod.written;
        if bypass::is_exempt(case, written) {
            continue;
        }
        let known = known_ephemeral(case);
        let beside_gpu = pod.placement.asks_gpu || on_gpu_node(case, &written.spec.node_name);
        findings.under(&pod.prefix);
        for (index, container) in written.spec.ephemeral_containers.iter().enumerate() {
            if known.contains(&container.name.as_str()) {
                continue;
            }
            let path = format!("spec.ephemeralContainers[{index}]");
            if container.security_context.privileged && beside_gpu {
                let at = format!("{path}.securityContext.privileged");
                let is = "true, beside a GPU";
                findings
                    .add(rule, at, is, "false, or absent", "debug without privileged")
                    .in_container(&container.name);
            }
            for (index, value) in relevant::shown_devices(container) {
                let name = &container.env[index].name;
                let shown = value.as_deref().unwrap_or("a value that cannot be seen here");
                findings
                    .add(
                        rule,
                        format!("{path}.env[{index}]"),
                        format!("{name}={shown}"),
                        "absent, or void",
                        format!("debug with {name}=void"),
                    )
                    .in_container(&container.name);
            }
        }
    }
}

/// Names of the debug containers that were there before.
fn known_ephemeral<'a>(case: &Case<'a>) -> Vec<&'a str> {
    let old = case.subject.facts.old.as_deref();
    let list = old.and_then(|old| old.pointer("/spec/ephemeralContainers")).and_then(|list| list.as_array());
    list.into_iter().flatten().filter_map(|container| container.get("name")?.as_str()).collect()
}

fn on_gpu_node(case: &Case<'_>, node: &str) -> bool {
    case.world.cluster.node(node).is_some_and(|node| node.shape.has_gpu())
}
