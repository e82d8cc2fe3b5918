//! `gpu-bypass-hostpath`: devices, drivers and plugin sockets by the host's file system.

use crate::{
    k8s::object::PodSpec,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::relevant,
};

/// `gpu-bypass-hostpath`
pub static GPU_BYPASS_HOSTPATH: Rule = Rule {
    id: "gpu-bypass-hostpath",
    family: Family::Bypass,
    summary: "no volume leads to GPU devices, driver files or plugin sockets of the host",
    why: "Device files and plugin sockets are where a limit is enforced; who mounts them goes around it, and the limit has no effect.",
    remedy: "Ask for the GPU under resources.limits; the runtime brings devices and libraries along.",
    severity: Severity::Deny,
    severity_because: "it reaches cards that run other models",
    applies: Applies::Pods,
    needs: &[],
    sources: &["NVIDIA container toolkit", "Kubernetes device plugins"],
    check: Check::Case(check),
};

/// Read by monitoring on every node; it hands out nothing.
const POD_RESOURCES: &str = "/var/lib/kubelet/pod-resources";

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        let PodCase { prefix, written, placement, .. } = pod;
        if bypass::is_exempt(case, written) || bypass::is_mirror_of_its_node(case.subject, written) {
            continue;
        }
        findings.under(prefix);
        for (index, path) in relevant::device_mounts(&written.spec) {
            let reach = bypass::reach_of(case, pod);
            let most = match (is_device_path(&path), placement.asks_gpu) {
                _ if path.starts_with(POD_RESOURCES) => Severity::Audit,
                (true, _) | (_, true) => Severity::Deny,
                // The whole of /, /dev or the like: what infrastructure mounts on every node.
                (false, false) if reach == bypass::Reach::Aimed => Severity::Warn,
                (false, false) => Severity::Audit,
            };
            findings
                .add(
                    rule,
                    format!("spec.volumes[{index}].hostPath.path"),
                    format!("{path}, by which devices or plugin sockets of the host can be reached"),
                    "no such volume",
                    "remove the volume; ask for the GPU under resources.limits",
                )
                .at_most(most);
        }
        if placement.asks_gpu {
            driver_files(&written.spec, rule, findings);
        }
    }
}

/// Files of the host's driver reach no device by themselves; they break with the node's next driver.
fn driver_files(spec: &PodSpec, rule: &'static Rule, findings: &mut Findings) {
    for (index, volume) in spec.volumes.iter().enumerate() {
        let Some(path) = volume.host_path.as_ref().map(|host| relevant::normalise(&host.path)) else {
            continue;
        };
        if relevant::reaches_devices(&path) || !is_driver_file(&path) {
            continue;
        }
        findings
            .add(
                rule,
                format!("spec.volumes[{index}].hostPath.path"),
                format!("{path}, part of one node's GPU driver or runtime, beside a GPU request"),
                "no such volume: the runtime brings the driver's libraries along",
                "remove the volume",
            )
            .at_most(Severity::Warn);
    }
}

/// Folders in which clouds and installers keep the driver, and in which is written what the runtime injects (CDI).
const DRIVER_FOLDERS: [&str; 6] = [
    "/home/kubernetes/bin/nvidia",
    "/var/lib/nvidia",
    "/usr/lib/nvidia",
    "/etc/cdi",
    "/run/cdi",
    "/var/run/cdi",
];

fn is_driver_file(path: &str) -> bool {
    let below =
        |folder: &str| path.strip_prefix(folder).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
    let library =
        |name: &str| ["libcuda.", "libnvidia-", "libnvcuvid."].iter().any(|own| name.starts_with(own));
    let name = path.rsplit('/').next().unwrap_or(path);
    DRIVER_FOLDERS.iter().any(|folder| below(folder)) || library(name) || name == "nvidia-smi"
}

/// Whether the path is, or lies below, one of devices; not one that merely leads there, such as `/`.
fn is_device_path(path: &str) -> bool {
    relevant::DEVICE_PATHS
        .iter()
        .filter(|device| **device != "/dev")
        .any(|device| path.strip_prefix(device).is_some_and(|rest| rest.is_empty() || rest.starts_with('/')))
        || path.starts_with("/dev/")
}
