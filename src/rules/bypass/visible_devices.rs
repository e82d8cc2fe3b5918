//! `gpu-bypass-env`: devices asked for by environment variable instead of by resource.

use crate::{
    k8s::object::Container,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::{demand, relevant},
};

/// `gpu-bypass-env`
pub static GPU_BYPASS_ENV: Rule = Rule {
    id: "gpu-bypass-env",
    family: Family::Bypass,
    summary: "no container makes devices visible to itself that it did not ask for",
    why: "The NVIDIA runtime injects the devices that NVIDIA_VISIBLE_DEVICES names. In a container without a GPU request nothing replaces the value, so it uses cards that the device plugin gave to others.",
    remedy: "Ask for the GPU under resources.limits, or set the variable to void.",
    severity: Severity::Deny,
    severity_because: "it takes memory and time of cards that run other models",
    applies: Applies::Pods,
    needs: &[],
    sources: &["NVIDIA container toolkit: NVIDIA_VISIBLE_DEVICES", "NVIDIA/nvidia-container-toolkit#27"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        if bypass::is_exempt(case, written) || bypass::is_mirror_of_its_node(case.subject, written) {
            continue;
        }
        for (place, container) in demand::containers(&written.spec) {
            for (index, value) in relevant::shown_devices(container) {
                let path = format!("{}.env[{index}]", place.path());
                say(container, index, value.as_deref(), path, rule, findings);
            }
        }
    }
}

fn say(
    container: &Container,
    index: usize,
    value: Option<&str>,
    path: String,
    rule: &'static Rule,
    findings: &mut Findings,
) {
    let name = container.env[index].name.as_str();
    let is = match value {
        Some(value) => format!("{name}={value}"),
        None => format!("{name} from a source that cannot be seen here"),
    };
    let asks = demand::asks_for_devices(container);
    let finding = match value {
        // The device plugin's own value replaces it where the device list is passed by environment; with
        // other strategies it may not.
        _ if asks => findings.add(
            rule,
            path,
            format!("{is} beside a GPU request"),
            "absent: the device plugin sets it",
            format!("remove {name}"),
        ),
        Some(_) => {
            let remedy = format!("ask for a GPU under resources.limits, or set {name}=void");
            findings.add(rule, path, format!("{is} without a GPU request"), "absent, or void", remedy)
        }
        None => {
            let remedy =
                format!("set {name}: void here, which is done for the Pod in any case, or ask for a GPU");
            findings.add(rule, path, format!("{is}, without a GPU request"), "void, written here", remedy)
        }
    };
    finding.in_container(&container.name);
    if asks || value.is_none() {
        finding.at_most(Severity::Warn);
    }
}
