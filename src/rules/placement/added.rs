//! Reasons of the changes that are no steering: devices and shared memory.

use crate::{
    policy::Severity,
    rules::{Applies, Check, Family, Rule},
};

const fn added(id: &'static str, family: Family, summary: &'static str, why: &'static str) -> Rule {
    Rule {
        id,
        family,
        summary,
        why,
        remedy: "Nothing to do; write it yourself if you want to see it in git.",
        severity: Severity::Audit,
        severity_because: "it is a change, not a problem",
        applies: Applies::Pods,
        needs: &[],
        sources: &[],
        check: Check::Placement,
    }
}

/// `zero-gpu-hardened`
pub static ZERO_GPU_HARDENED: Rule = added(
    "zero-gpu-hardened",
    Family::Resources,
    "a container that asks for zero GPUs sees none",
    "Zero units means no call to the device plugin, which would have set NVIDIA_VISIBLE_DEVICES; the image's default (all) wins and every card of the node is visible.",
);

/// `visible-devices-void-set`
pub static VISIBLE_DEVICES_VOID_SET: Rule = added(
    "visible-devices-void-set",
    Family::Bypass,
    "a container without a GPU request sees no GPU, where the class says so or the Pod gets to GPU nodes",
    "Many CUDA images set NVIDIA_VISIBLE_DEVICES=all; an explicit variable of the Pod wins over the image.",
);

/// `shm-added`
pub static SHM_ADDED: Rule = added(
    "shm-added",
    Family::Parallelism,
    "an engine that works on several cards has a memory-backed /dev/shm of the class's size",
    "A container's default /dev/shm is 64 MiB; collectives fail to make their segments in it.",
);
