//! Nodes as the recordings have them, and the devices that their kubelets hand out.

use crate::harness::nodes::{SampleNode, node};

/// The whole card of the recording.
pub const CARD: [(&str, &[&str]); 1] = [("nvidia.com/gpu", &["GPU-8d455752-e7a2-dc11-d90a-7c36819cca91"])];

/// The slices of the constructed recording.
pub const SLICES: [(&str, &[&str]); 2] = [
    ("nvidia.com/mig-3g.71gb", &["MIG-00000001-0000-0000-0000-000000000000"]),
    (
        "nvidia.com/mig-1g.18gb",
        &[
            "MIG-00000007-0000-0000-0000-000000000000",
            "MIG-00000008-0000-0000-0000-000000000000",
            "MIG-00000009-0000-0000-0000-000000000000",
            "MIG-00000010-0000-0000-0000-000000000000",
        ],
    ),
];

/// One H200, not shared.
pub fn h200_whole(role: &str) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", "NVIDIA-H200")
        .label("nvidia.com/gpu.count", "1")
        .label("nvidia.com/gpu.replicas", "1")
        .label("nvidia.com/gpu.memory", "143771")
        .label("nvidia.com/gpu.sharing-strategy", "none")
        .label("nvidia.com/mig.capable", "true")
        .allocatable("nvidia.com/gpu", 1)
}

/// One H200 in a large and four small slices, each profile under its own name.
pub fn h200_in_slices(role: &str) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", "NVIDIA-H200")
        .label("nvidia.com/gpu.count", "1")
        .label("nvidia.com/gpu.replicas", "0")
        .label("nvidia.com/mig.capable", "true")
        .label("nvidia.com/mig.strategy", "mixed")
        .label("nvidia.com/mig.config", "half")
        .label("nvidia.com/mig.config.state", "success")
        .label("nvidia.com/mig-3g.71gb.count", "1")
        .label("nvidia.com/mig-3g.71gb.memory", "71424")
        .label("nvidia.com/mig-1g.18gb.count", "4")
        .label("nvidia.com/mig-1g.18gb.memory", "16384")
        .allocatable("nvidia.com/gpu", 0)
        .allocatable("nvidia.com/mig-3g.71gb", 1)
        .allocatable("nvidia.com/mig-1g.18gb", 4)
}
