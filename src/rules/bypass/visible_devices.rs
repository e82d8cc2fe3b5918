//! `gpu-bypass-env`: devices asked for by environment variable instead of by resource.

use crate::{
    k8s::object::{Container, EnvVar},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::{demand, relevant::VISIBLE_DEVICES},
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
        if bypass::is_exempt(case, written) {
            continue;
        }
        for (place, container) in demand::containers(&written.spec) {
            for (index, variable) in container.env.iter().enumerate() {
                let path = format!("{}.env[{index}]", place.path());
                say(container, variable, path, rule, findings);
            }
        }
    }
}

fn say(container: &Container, variable: &EnvVar, path: String, rule: &'static Rule, findings: &mut Findings) {
    let name = variable.name.as_str();
    if !VISIBLE_DEVICES.contains(&name) {
        return;
    }
    let (is, hidden) = match (&variable.value, &variable.value_from) {
        (Some(value), _) if matches!(value.trim(), "" | "void" | "none") => return,
        (Some(value), _) => (format!("{name}={value}"), false),
        (None, Some(_)) => (format!("{name} from a source that cannot be seen here"), true),
        (None, None) => return,
    };
    let asks = demand::asks_for_devices(container);
    let finding = if asks {
        // The device plugin's own value replaces it where the device list is passed by environment; with
        // other strategies it may not.
        findings.add(
            rule,
            path,
            format!("{is} beside a GPU request"),
            "absent: the device plugin sets it",
            format!("remove {name}"),
        )
    } else {
        let remedy = format!("ask for a GPU under resources.limits, or set {name}=void");
        findings.add(rule, path, format!("{is} without a GPU request"), "absent, or void", remedy)
    };
    finding.in_container(&container.name);
    if asks || hidden {
        finding.at_most(Severity::Warn);
    }
}
