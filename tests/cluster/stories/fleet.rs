//! Sample GPU nodes, labelled as GPU feature discovery labels them, one function for each way of sharing cards.

use crate::harness::nodes::{SampleNode, node};

/// The taint that keeps GPU nodes free for GPU Pods, as NVIDIA's charts tolerate it.
pub const GUARD: (&str, &str, &str) = ("nvidia.com/gpu", "present", "NoSchedule");

/// Whole H100s.
pub fn h100(role: &str, cards: u32) -> SampleNode {
    whole(role, "NVIDIA-H100-80GB-HBM3", 81_559, cards).label("nvidia.com/mig.capable", "true")
}

/// Whole A10s: cards without MIG.
pub fn a10(role: &str, cards: u32) -> SampleNode {
    whole(role, "NVIDIA-A10", 23_028, cards).label("nvidia.com/mig.capable", "false")
}

/// L4s that are advertised four times each under the name of whole cards.
pub fn sliced_l4(role: &str, cards: u32) -> SampleNode {
    shared(role, "NVIDIA-L4-SHARED", 23_034, cards, 4).allocatable("nvidia.com/gpu", cards * 4)
}

/// T4s that are advertised eight times each under the name of whole cards.
pub fn sliced_t4(role: &str, cards: u32) -> SampleNode {
    shared(role, "Tesla-T4-SHARED", 15_360, cards, 8).allocatable("nvidia.com/gpu", cards * 8)
}

/// L4s that are advertised four times each under a name of their own: no suffix on the product then.
pub fn renamed_l4(role: &str, cards: u32) -> SampleNode {
    shared(role, "NVIDIA-L4", 23_034, cards, 4)
        .allocatable("nvidia.com/gpu", 0)
        .allocatable("nvidia.com/gpu.shared", cards * 4)
}

/// One A100 in seven slices, each profile under its own name.
pub fn mixed_a100(role: &str) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", "NVIDIA-A100-SXM4-80GB")
        .label("nvidia.com/gpu.count", "1")
        .label("nvidia.com/gpu.replicas", "0")
        .label("nvidia.com/mig.capable", "true")
        .label("nvidia.com/mig.strategy", "mixed")
        .label("nvidia.com/mig.config", "all-1g.10gb")
        .label("nvidia.com/mig.config.state", "success")
        .label("nvidia.com/mig-1g.10gb.count", "7")
        .label("nvidia.com/mig-1g.10gb.memory", "9728")
        .label("nvidia.com/mig-1g.10gb.product", "NVIDIA-A100-SXM4-80GB-MIG-1g.10gb")
        .allocatable("nvidia.com/gpu", 0)
        .allocatable("nvidia.com/mig-1g.10gb", 7)
}

/// One A100 in seven slices that are advertised as if they were cards.
pub fn single_a100(role: &str) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", "NVIDIA-A100-80GB-PCIe-MIG-1g.10gb")
        .label("nvidia.com/gpu.count", "7")
        .label("nvidia.com/gpu.memory", "9728")
        .label("nvidia.com/mig.capable", "true")
        .label("nvidia.com/mig.strategy", "single")
        .label("nvidia.com/mig.config", "all-1g.10gb")
        .label("nvidia.com/mig.config.state", "success")
        .allocatable("nvidia.com/gpu", 7)
}

impl SampleNode {
    /// Kept free for GPU Pods.
    pub fn guarded(self) -> SampleNode {
        let (key, value, effect) = GUARD;
        self.taint(key, value, effect)
    }
}

fn whole(role: &str, product: &str, memory: u32, cards: u32) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", product)
        .label("nvidia.com/gpu.count", &cards.to_string())
        .label("nvidia.com/gpu.replicas", "1")
        .label("nvidia.com/gpu.memory", &memory.to_string())
        .label("nvidia.com/gpu.sharing-strategy", "none")
        .allocatable("nvidia.com/gpu", cards)
}

fn shared(role: &str, product: &str, memory: u32, cards: u32, replicas: u32) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", product)
        .label("nvidia.com/gpu.count", &cards.to_string())
        .label("nvidia.com/gpu.replicas", &replicas.to_string())
        .label("nvidia.com/gpu.memory", &memory.to_string())
        .label("nvidia.com/gpu.sharing-strategy", "time-slicing")
        .label("nvidia.com/mig.capable", "false")
}
