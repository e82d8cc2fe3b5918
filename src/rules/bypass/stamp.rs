//! The absence of our stamp: a Pod that never met the mutating webhook.

use crate::{
    policy::Severity,
    rules::{Applies, Check, Family, Rule},
};

/// `stamp-missing`
pub static STAMP_MISSING: Rule = Rule {
    id: "stamp-missing",
    family: Family::Bypass,
    summary: "a GPU Pod that is about to be stored has been seen by the mutating webhook",
    why: "Mutation fails open: while the webhook is away, a Pod would be stored without affinity, tolerations and priority of its class.",
    remedy: "Create it again once the webhook answers.",
    severity: Severity::Deny,
    severity_because: "it would run on any node that offers the resource name, beside any neighbour",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: admission webhook good practices"],
    check: Check::Placement,
};

/// `admission-skipped`
pub static ADMISSION_SKIPPED: Rule = Rule {
    id: "admission-skipped",
    family: Family::Bypass,
    summary: "a Pod that asks for a node has been admitted by sluice",
    why: "While the webhook is away and fails open, Pods come in unchanged; the extender then applies the same rules for the first time.",
    remedy: "Nothing to do for this Pod; find out why the webhook did not see it.",
    severity: Severity::Audit,
    severity_because: "the extender still keeps it off nodes that cannot serve it",
    applies: Applies::Pods,
    needs: &[],
    sources: &[],
    check: Check::Placement,
};
