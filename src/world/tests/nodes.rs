//! GPU nodes as the GPU Operator and clouds label them.

use serde_json::{Value, json};

/// Whole H100s.
pub(super) fn h100(name: &str) -> Value {
    gpu(
        name,
        "NVIDIA-H100-80GB-HBM3",
        81559,
        &[
            ("nvidia.com/gpu.sharing-strategy", "none"),
            ("nvidia.com/gpu.replicas", "1"),
            ("nvidia.com/mig.capable", "true"),
            ("nvidia.com/gpu.compute.major", "9"),
            ("nvidia.com/gpu.compute.minor", "0"),
        ],
        &[("nvidia.com/gpu", 8)],
    )
}

/// H100s in slices, strategy `mixed`.
pub(super) fn h100_mig(name: &str) -> Value {
    gpu(
        name,
        "NVIDIA-H100-80GB-HBM3",
        81559,
        &[
            ("nvidia.com/gpu.sharing-strategy", "none"),
            ("nvidia.com/gpu.replicas", "0"),
            ("nvidia.com/mig.capable", "true"),
            ("nvidia.com/mig.strategy", "mixed"),
            ("nvidia.com/mig.config", "all-1g.10gb"),
            ("nvidia.com/mig.config.state", "success"),
            ("nvidia.com/mig-1g.10gb.count", "56"),
            ("nvidia.com/mig-1g.10gb.memory", "9728"),
        ],
        &[("nvidia.com/mig-1g.10gb", 56)],
    )
}

/// L4s, four shares a card, renamed.
pub(super) fn l4(name: &str) -> Value {
    gpu(
        name,
        "NVIDIA-L4",
        23034,
        &[
            ("nvidia.com/gpu.sharing-strategy", "time-slicing"),
            ("nvidia.com/gpu.replicas", "4"),
            ("nvidia.com/mig.capable", "false"),
        ],
        &[("nvidia.com/gpu.shared", 8)],
    )
}

/// H200s, four shares a card under the whole card's name.
pub(super) fn h200_shared(name: &str) -> Value {
    gpu(
        name,
        "NVIDIA-H200-SHARED",
        143771,
        &[
            ("nvidia.com/gpu.sharing-strategy", "time-slicing"),
            ("nvidia.com/gpu.replicas", "4"),
            ("nvidia.com/mig.capable", "true"),
        ],
        &[("nvidia.com/gpu", 32)],
    )
}

/// A40s under MPS, four clients a card.
pub(super) fn a40_mps(name: &str) -> Value {
    gpu(
        name,
        "NVIDIA-A40-SHARED",
        46068,
        &[
            ("nvidia.com/gpu.sharing-strategy", "mps"),
            ("nvidia.com/gpu.replicas", "4"),
            ("nvidia.com/mps.capable", "true"),
            ("nvidia.com/mig.capable", "false"),
        ],
        &[("nvidia.com/gpu", 8)],
    )
}

/// A node of Google's, without labels of NVIDIA's discovery.
pub(super) fn gke_l4_shared(name: &str) -> Value {
    let mut node = bare(name, &[("nvidia.com/gpu", 8)]);
    for (key, value) in [
        ("cloud.google.com/gke-accelerator", "nvidia-l4"),
        ("cloud.google.com/gke-gpu-sharing-strategy", "time-sharing"),
        ("cloud.google.com/gke-max-shared-clients-per-gpu", "4"),
        ("cloud.google.com/gke-nodepool", "shared"),
    ] {
        node["metadata"]["labels"][key] = json!(value);
    }
    node
}

/// A node that advertises resources and says nothing of its cards.
pub(super) fn bare(name: &str, resources: &[(&str, u32)]) -> Value {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110"},
            "nodeInfo": {"kubeletVersion": "v1.37.2"},
        },
    });
    for (resource, count) in resources {
        node["status"]["allocatable"][*resource] = json!(count.to_string());
        node["status"]["capacity"][*resource] = json!(count.to_string());
    }
    node
}

/// The node with a label.
pub(super) fn labelled(mut node: Value, key: &str, value: &str) -> Value {
    node["metadata"]["labels"][key] = json!(value);
    node
}

fn gpu(name: &str, product: &str, memory: u32, labels: &[(&str, &str)], resources: &[(&str, u32)]) -> Value {
    let mut node = bare(name, resources);
    node["metadata"]["labels"]["nvidia.com/gpu.product"] = json!(product);
    node["metadata"]["labels"]["nvidia.com/gpu.memory"] = json!(memory.to_string());
    node["metadata"]["labels"]["nvidia.com/gpu.present"] = json!("true");
    for (key, value) in labels {
        node = labelled(node, key, value);
    }
    node
}
