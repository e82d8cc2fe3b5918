//! Reasons of the changes by which placement steers a Pod, and of pools that cannot serve it. `decide`
//! says them where it makes the change or skips the pool.

use crate::{
    cluster::Kind,
    policy::Severity,
    rules::{Applies, Check, Family, Rule},
};

const fn placed(
    id: &'static str,
    family: Family,
    summary: &'static str,
    why: &'static str,
    remedy: &'static str,
    severity: Severity,
    severity_because: &'static str,
) -> Rule {
    Rule {
        id,
        family,
        summary,
        why,
        remedy,
        severity,
        severity_because,
        applies: Applies::Pods,
        needs: &[Kind::Node],
        sources: &[],
        check: Check::Placement,
    }
}

/// `affinity-added`
pub static AFFINITY_ADDED: Rule = placed(
    "affinity-added",
    Family::Placement,
    "the Pod requires the pools that can serve it, inside the choice that its author made",
    "Resource names do not tell a whole card from a time-sliced one. Terms of an affinity are ORed, so the pools are ANDed into every term: an own term would widen the author's choice.",
    "Nothing to do; write the affinity yourself if you want to see it in git.",
    Severity::Audit,
    "it is a change, not a problem",
);

/// `affinity-too-complex`
pub static AFFINITY_TOO_COMPLEX: Rule = placed(
    "affinity-too-complex",
    Family::Placement,
    "the product of the Pod's terms and the pools' terms stays within 64 terms",
    "A longer list costs the scheduler time on every node and is no longer readable; the Pod is left as it is, and only the extender keeps it on its pools.",
    "Use fewer terms, or select a pool by its label.",
    Severity::Warn,
    "the Pod may run where its class should not be",
);

/// `toleration-added`
pub static TOLERATION_ADDED: Rule = placed(
    "toleration-added",
    Family::Taints,
    "the Pod tolerates exactly the taints of the pools that can serve it",
    "GPU pools are tainted so that nothing else lands there; without the toleration the Pod stays Pending.",
    "Nothing to do; write the toleration yourself if you want to see it in git.",
    Severity::Audit,
    "it is a change, not a problem",
);

/// `resource-rewritten`
pub static RESOURCE_REWRITTEN: Rule = placed(
    "resource-rewritten",
    Family::Resources,
    "a whole-GPU name becomes the name that the chosen pool offers, where the class allows it",
    "A Pod that asks for nvidia.com/gpu cannot land on a mixed MIG pool or on a renamed shared pool.",
    "Nothing to do; write the pool's own name if you want to see it in git.",
    Severity::Audit,
    "it is a change, not a problem",
);

/// `pool-fallback`
pub static POOL_FALLBACK: Rule = placed(
    "pool-fallback",
    Family::Placement,
    "the pool that the class prefers most can serve the Pod",
    "A class states its pools in order of preference. Landing on a later one is legal, and its reason has to be seen: a cluster without MIG is no cluster with MIG.",
    "Offer the preferred mode, or reorder the class's pool terms.",
    Severity::Warn,
    "the Pod runs, on a pool that its class prefers less",
);

/// `no-compatible-pool`
pub static NO_COMPATIBLE_POOL: Rule = placed(
    "no-compatible-pool",
    Family::Placement,
    "some pool can serve the Pod's class",
    "Every pool that the class accepts fails one of its needs; the Pod would wait for ever or run where its class must not.",
    "Each pool's reason says what is missing: add such a pool, or add a pool term to the class.",
    Severity::Deny,
    "no pool that the class accepts can run it",
);

/// `mode-not-offered`
pub static MODE_NOT_OFFERED: Rule = placed(
    "mode-not-offered",
    Family::Placement,
    "a pool has the properties of the class's term",
    "A term that matches no live pool is skipped, and the next one is tried.",
    "Offer such a pool, or change the term.",
    Severity::Audit,
    "the class may have other terms",
);

/// `isolation-insufficient`
pub static ISOLATION_INSUFFICIENT: Rule = placed(
    "isolation-insufficient",
    Family::Sharing,
    "the pool's mode isolates what the class needs isolated",
    "Time-slicing isolates neither memory nor faults, MPS no faults: a neighbour can take the model's memory or end it.",
    "Use an exclusive or MIG pool.",
    Severity::Audit,
    "the pool is passed over; the class may have others",
);

/// `memory-insufficient`
pub static MEMORY_INSUFFICIENT: Rule = placed(
    "memory-insufficient",
    Family::Sharing,
    "a unit of the pool has the GPU memory that the class needs",
    "The model would not load.",
    "Use a pool of larger cards or slices.",
    Severity::Audit,
    "the pool is passed over; the class may have others",
);

/// `pool-not-proven`
pub static POOL_NOT_PROVEN: Rule = placed(
    "pool-not-proven",
    Family::NodeLifecycle,
    "the evidence of a pool's nodes proves its mode",
    "A pool that says MIG on nodes that do not is a wish. Unknown is not yes.",
    "`sluice pools` shows which source says what.",
    Severity::Audit,
    "the pool is passed over; the class may have others",
);

/// `evidence-contradicted`
pub static EVIDENCE_CONTRADICTED: Rule = placed(
    "evidence-contradicted",
    Family::NodeLifecycle,
    "no two sources disagree on what a node can do",
    "Labels, allocatable, slices and the agent describe the same card; where they differ, one of them is wrong and the Pod may get something else than it was promised.",
    "Mend the source that is wrong; `sluice pools` names both.",
    Severity::Audit,
    "the pool is passed over; the class may have others",
);

/// `pool-requirement-unmet`
pub static POOL_REQUIREMENT_UNMET: Rule = placed(
    "pool-requirement-unmet",
    Family::Placement,
    "the nodes of a pool meet the pool's `requires`",
    "Conditions of use are explicit, so that another node pool does not get the opposite result.",
    "Mend the nodes, or the `requires` of the pool.",
    Severity::Audit,
    "the pool is passed over; the class may have others",
);

/// `pool-reserved`
pub static POOL_RESERVED: Rule = placed(
    "pool-reserved",
    Family::Taints,
    "a taint that is no GPU guard reserves the pool for Pods that tolerate it",
    "Whoever tainted the nodes for a team did not mean every GPU Pod; only taints that guard GPUs are tolerated on a Pod's behalf.",
    "Declare the taint in the GpuPool, or tolerate it in the Pod.",
    Severity::Audit,
    "the pool is passed over; the class may have others",
);
