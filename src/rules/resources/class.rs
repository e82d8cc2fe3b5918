//! The class of a GPU Pod: unknown, ambiguous, or named by nobody.

use crate::{
    policy::Severity,
    rules::{Applies, Check, Family, Rule},
};

/// `class-unknown`
pub static CLASS_UNKNOWN: Rule = Rule {
    id: "class-unknown",
    family: Family::Resources,
    summary: "a class recognises the GPU Pod",
    why: "Without a class nothing is known of how the workload bursts, how long it loads or whom it may sit beside; it keeps the placement that it asked for.",
    remedy: "Write the label sluice.dev/class, or teach a WorkloadClass to recognise it.",
    severity: Severity::Audit,
    severity_because: "the Pod may well run as it is; it is only not steered",
    applies: Applies::Pods,
    needs: &[],
    sources: &[],
    check: Check::Placement,
};

/// `class-ambiguous`
pub static CLASS_AMBIGUOUS: Rule = Rule {
    id: "class-ambiguous",
    family: Family::Resources,
    summary: "one class recognises the GPU Pod, not several equally well",
    why: "A guess between an interactive model and a batch job would steer one of them wrongly.",
    remedy: "Write the label sluice.dev/class.",
    severity: Severity::Warn,
    severity_because: "the Pod runs where it asked to; which class it is nobody said",
    applies: Applies::Pods,
    needs: &[],
    sources: &[],
    check: Check::Placement,
};

/// `class-not-found`
pub static CLASS_NOT_FOUND: Rule = Rule {
    id: "class-not-found",
    family: Family::Resources,
    summary: "the label sluice.dev/class names a class that exists",
    why: "A misspelt class is no class: the Pod would not be steered although somebody meant it to be.",
    remedy: "Name a class that exists.",
    severity: Severity::Warn,
    severity_because: "the Pod runs where it asked to, without what its class would have given it",
    applies: Applies::Pods,
    needs: &[],
    sources: &[],
    check: Check::Placement,
};
