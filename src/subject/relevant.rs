//! Which Pods concern us: the one predicate from which the CEL matchConditions, the backstop and the
//! extender's `managedResources` are made or against which they are tested.
//!
//! A Pod concerns us if it asks for a GPU in any form, or could touch one. CEL may let more through than
//! this, never less.

use crate::{
    gpu::resource,
    k8s::{
        expansion::environment,
        object::{Container, Pod, PodSpec, Taint},
        taints,
    },
    subject::CLASS_LABEL,
};

/// Variables by which NVIDIA's container runtime injects devices.
pub const VISIBLE_DEVICES: [&str; 2] = ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_CDI_DEVICES"];

/// Host paths through which devices, drivers or device plugins can be reached; `/` and `/dev` whole too.
pub const DEVICE_PATHS: [&str; 8] = [
    "/dev",
    "/run/nvidia",
    "/var/run/nvidia",
    "/var/run/nvidia-container-devices",
    "/run/nvidia-container-devices",
    "/var/lib/kubelet/device-plugins",
    "/var/lib/kubelet/pod-resources",
    "/usr/local/nvidia",
];

/// What GPUs are called below `/dev`, by the beginning of the name; `/dev/shm` or `/dev/fuse` are no bypass.
pub const DEVICE_FILES: [&str; 3] = ["nvidia", "dri", "kfd"];

/// What a RuntimeClass of NVIDIA's container runtime has in its name.
pub const RUNTIME: &str = "nvidia";

/// Taints of Kubernetes' own about the state of a node. They come and go, and every Pod tolerates some of them:
/// none guards a pool.
pub const LIFECYCLE_TAINTS: &str = "node.kubernetes.io/";

/// Node labels by which Pods are placed that have nothing to do with GPUs: who selects by these alone chooses
/// no kind of node.
pub const COMMON_NODE_LABELS: [&str; 7] = [
    "beta.kubernetes.io/arch",
    "beta.kubernetes.io/os",
    "kubernetes.io/arch",
    "kubernetes.io/hostname",
    "kubernetes.io/os",
    "topology.kubernetes.io/region",
    "topology.kubernetes.io/zone",
];

/// Why a Pod concerns us; the first that holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relevance {
    /// It asks for a GPU-like resource (entry (a): validated with `Fail`).
    AsksForGpu,
    /// It has DRA claims: perhaps a GPU, perhaps a NIC.
    HasClaims,
    /// It names a class.
    NamesClass,
    /// It sets a visible-devices variable.
    SetsVisibleDevices,
    /// A container is privileged.
    Privileged,
    /// It mounts a device, driver or plugin path.
    MountsDevices,
    /// It tolerates the taint of a GPU pool.
    ToleratesPool,
    /// It runs under NVIDIA's container runtime, which shows the cards that the image names.
    NamesRuntime,
    /// It goes around the scheduler.
    NamesNode,
    /// None of these: not our business.
    None,
}

/// Whether and why a Pod concerns us. `pool_taints` are those that guard GPU pools.
#[must_use]
pub fn relevance(pod: &Pod, pool_taints: &[Taint]) -> Relevance {
    let spec = &pod.spec;
    if asks_for_gpu(spec) {
        return Relevance::AsksForGpu;
    }
    if !spec.resource_claims.is_empty() {
        return Relevance::HasClaims;
    }
    if pod.metadata.labels.contains_key(CLASS_LABEL) {
        return Relevance::NamesClass;
    }
    if every_container(spec).any(|c| VISIBLE_DEVICES.iter().any(|name| c.env(name).is_some())) {
        return Relevance::SetsVisibleDevices;
    }
    if every_container(spec).any(|container| container.security_context.privileged) {
        return Relevance::Privileged;
    }
    if device_mounts(spec).next().is_some() {
        return Relevance::MountsDevices;
    }
    if tolerates_pool(spec, pool_taints) {
        return Relevance::ToleratesPool;
    }
    if names_nvidia_runtime(spec) {
        return Relevance::NamesRuntime;
    }
    if !spec.node_name.is_empty() { Relevance::NamesNode } else { Relevance::None }
}

/// Whether any container, or the Pod itself, asks for a GPU-like resource, even for none of it.
#[must_use]
pub fn asks_for_gpu(spec: &PodSpec) -> bool {
    let names = |resources: &crate::k8s::object::Resources| {
        resources.requests.keys().chain(resources.limits.keys()).any(|name| resource::is_gpu_like(name))
    };
    names(&spec.resources) || every_container(spec).any(|container| names(&container.resources))
}

/// Whether the RuntimeClass is NVIDIA's, by its name: `nvidia`, `nvidia-cdi`, `nvidia-legacy`.
#[must_use]
pub fn names_nvidia_runtime(spec: &PodSpec) -> bool {
    spec.runtime_class_name.contains(RUNTIME)
}

/// Whether nodeSelector or required node affinity speak of other labels than [`COMMON_NODE_LABELS`]. A Pod that
/// so chooses nodes with GPUs only concerns us too; which those are the picture says.
#[must_use]
pub fn chooses_nodes(spec: &PodSpec) -> bool {
    let required = spec.affinity.node_affinity.required.iter();
    let expressions =
        required.flat_map(|selector| &selector.node_selector_terms).flat_map(|t| &t.match_expressions);
    let mut keys = spec.node_selector.keys().chain(expressions.map(|expression| &expression.key));
    keys.any(|key| !COMMON_NODE_LABELS.contains(&key.as_str()))
}

/// Volumes of the Pod that reach devices, drivers or plugin sockets of the host: index and normalised path.
pub fn device_mounts(spec: &PodSpec) -> impl Iterator<Item = (usize, String)> {
    spec.volumes.iter().enumerate().filter_map(|(index, volume)| {
        let path = normalise(&volume.host_path.as_ref()?.path);
        reaches_devices(&path).then_some((index, path))
    })
}

/// Whether a normalised host path is, or leads to, a device, driver or plugin path.
#[must_use]
pub fn reaches_devices(path: &str) -> bool {
    path == "/" || DEVICE_PATHS.iter().any(|&device| is_device(path, device) || is_below(device, path))
}

/// An absolute path without `.`, `..`, double or trailing slashes; `/var/run` is `/run` on every node image
/// in use, so both spellings stay in [`DEVICE_PATHS`].
#[must_use]
pub fn normalise(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The variables of a container that make devices visible: index and expanded value, `None` where it cannot be
/// seen. Of several of one name the last counts; those that show nothing are left out.
#[must_use]
pub fn shown_devices(container: &Container) -> Vec<(usize, Option<String>)> {
    let values = environment(&container.env);
    let last = |name: &&str| container.env.iter().rposition(|variable| variable.name == *name);
    let shown = VISIBLE_DEVICES.iter().filter_map(last).map(|index| (index, values[index].1.clone()));
    shown
        .filter(|(_, value)| {
            value.as_deref().is_none_or(|value| !matches!(value.trim(), "" | "void" | "none"))
        })
        .collect()
}

/// Containers of every kind.
pub fn every_container(spec: &PodSpec) -> impl Iterator<Item = &Container> {
    spec.init_containers.iter().chain(&spec.containers).chain(&spec.ephemeral_containers)
}

/// `/dev` itself counts, and of what lies below it only GPUs.
fn is_device(path: &str, device: &str) -> bool {
    match (device, path.strip_prefix("/dev/")) {
        ("/dev", Some(name)) => DEVICE_FILES.iter().any(|file| name.starts_with(file)),
        _ => path == device || is_below(path, device),
    }
}

fn is_below(path: &str, parent: &str) -> bool {
    path.strip_prefix(parent).is_some_and(|rest| rest.starts_with('/'))
}

fn tolerates_pool(spec: &PodSpec, pool_taints: &[Taint]) -> bool {
    // Gt and Lt count as covering here: letting more through is harmless, letting less through is not.
    let guards = pool_taints.iter().filter(|taint| !taint.key.starts_with(LIFECYCLE_TAINTS));
    guards.into_iter().any(|taint| taints::covers(&spec.tolerations, taint, true))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn relevance_of(spec: serde_json::Value) -> Relevance {
        let pod: Pod = serde_json::from_value(serde_json::json!({"spec": spec})).expect("a Pod");
        let taint =
            Taint { key: "nvidia.com/gpu".into(), value: "present".into(), effect: "NoSchedule".into() };
        relevance(&pod, &[taint])
    }

    #[test]
    fn every_way_to_a_gpu_concerns_us() {
        use serde_json::json;
        let gpu = json!({"limits": {"nvidia.com/gpu": 1}});
        for (spec, want) in [
            (json!({"containers": [{"resources": gpu}]}), Relevance::AsksForGpu),
            (json!({"initContainers": [{"resources": gpu}]}), Relevance::AsksForGpu),
            (json!({"resources": gpu}), Relevance::AsksForGpu),
            (
                json!({"containers": [{"resources": {"requests": {"nvidia.com/mig-1g.10gb": "0"}}}]}),
                Relevance::AsksForGpu,
            ),
            (json!({"resourceClaims": [{"name": "x"}]}), Relevance::HasClaims),
            (
                json!({"containers": [{"env": [{"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"}]}]}),
                Relevance::SetsVisibleDevices,
            ),
            (
                json!({"ephemeralContainers": [{"securityContext": {"privileged": true}}]}),
                Relevance::Privileged,
            ),
            (json!({"volumes": [{"hostPath": {"path": "/dev/nvidia0"}}]}), Relevance::MountsDevices),
            (json!({"tolerations": [{"operator": "Exists"}]}), Relevance::ToleratesPool),
            (json!({"nodeName": "gpu-1"}), Relevance::NamesNode),
            (json!({"runtimeClassName": "nvidia"}), Relevance::NamesRuntime),
            (json!({"runtimeClassName": "gvisor"}), Relevance::None),
            (json!({"containers": [{"resources": {"limits": {"cpu": 1}}}]}), Relevance::None),
            (json!({"volumes": [{"hostPath": {"path": "/var/log"}}]}), Relevance::None),
            (json!({"tolerations": [{"key": "other", "operator": "Exists"}]}), Relevance::None),
        ] {
            assert_eq!(relevance_of(spec.clone()), want, "{spec}");
        }
    }

    #[test]
    fn host_paths_are_compared_after_normalising() {
        for path in
            ["/dev/nvidia0", "//dev//nvidia0/", "/var/../dev/nvidia-uvm", "/", "/dev", "/var/run/nvidia/mps"]
        {
            assert!(reaches_devices(&normalise(path)), "{path}");
        }
        for path in ["/dev/shm", "/dev/fuse", "/devices", "/var/log", "/run/nvidiax"] {
            assert!(!reaches_devices(&normalise(path)), "{path}");
        }
        // A parent of a plugin path reaches it.
        assert!(reaches_devices("/var/lib/kubelet"));
    }

    #[test]
    fn of_several_variables_of_one_name_the_last_counts() {
        let shown = |env: serde_json::Value| {
            let container: Container =
                serde_json::from_value(serde_json::json!({"env": env})).expect("a container");
            shown_devices(&container)
        };
        let set = |value: &str| serde_json::json!({"name": "NVIDIA_VISIBLE_DEVICES", "value": value});
        assert_eq!(shown(serde_json::json!([set("void"), set("all")])), [(1, Some("all".to_owned()))]);
        assert_eq!(shown(serde_json::json!([set("all"), set("void")])), []);
        let named = serde_json::json!({"name": "NONE", "value": "void"});
        assert_eq!(shown(serde_json::json!([named, set("$(NONE)")])), []);
        let hidden =
            serde_json::json!({"name": "NVIDIA_VISIBLE_DEVICES", "valueFrom": {"configMapKeyRef": {}}});
        assert_eq!(shown(serde_json::json!([hidden])), [(0, None)]);
    }
}
