//! Faults and doubts of policy files that have an id of their own. The loader finds them; they stand here so
//! that they are explained and documented like every other rule.

use crate::{
    policy::Severity,
    rules::{Applies, Check, Family, Rule},
};

/// `suppression-void`
pub static SUPPRESSION_VOID: Rule = Rule {
    id: "suppression-void",
    family: Family::Installation,
    summary: "what a manifest suppresses, the policy lets it suppress, with a reason",
    why: "An annotation that is not honoured looks like a decision and is none: the finding that it means to silence still counts.",
    remedy: "Write RULE: reason for a rule under suppressible of the AdmissionPolicy, or ask for a PolicyException.",
    severity: Severity::Warn,
    severity_because: "the manifest itself may be right; what it suppresses is judged on its own",
    applies: Applies::Pods,
    needs: &[],
    sources: &["sluice: suppression by annotation"],
    check: Check::Placement,
};

/// `mps-with-mig`
pub static MPS_WITH_MIG: Rule = Rule {
    id: "mps-with-mig",
    family: Family::Mig,
    summary: "a pool has MPS or MIG, not both",
    why: "The device plugin serves MPS on whole cards only, and sharing settings are the same for all cards of a node: its daemon fails, and the node offers nothing.",
    remedy: "Choose one mode for the pool.",
    severity: Severity::Deny,
    severity_because: "no node can be what the pool says; the last good policies stay in force",
    applies: Applies::Policies,
    needs: &[],
    sources: &["NVIDIA device plugin README: shared access to GPUs"],
    check: Check::Loader,
};

/// `time-slicing-with-mps`
pub static TIME_SLICING_WITH_MPS: Rule = Rule {
    id: "time-slicing-with-mps",
    family: Family::Sharing,
    summary: "a pool has one sharing method",
    why: "A node has one sharing method for all of its cards; the device plugin ignores time-slicing where MPS is set.",
    remedy: "Choose one of the two.",
    severity: Severity::Deny,
    severity_because: "no node can be what the pool says; the last good policies stay in force",
    applies: Applies::Policies,
    needs: &[],
    sources: &["NVIDIA device plugin: config, sharing"],
    check: Check::Loader,
};
