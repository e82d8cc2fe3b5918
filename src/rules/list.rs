//! The one list of rules. A rule that is not in it does not run.

use super::{Case, Findings};
use crate::{cluster::Kind, policy::Severity};

/// A rule: what it says, why it matters, and how it looks.
#[derive(Debug)]
pub struct Rule {
    /// Stable id, kebab-case.
    pub id: &'static str,
    /// Family.
    pub family: Family,
    /// What it checks, in one line.
    pub summary: &'static str,
    /// What goes wrong without it.
    pub why: &'static str,
    /// What to do about a finding.
    pub remedy: &'static str,
    /// Severity where no policy says otherwise.
    pub severity: Severity,
    /// Why that severity.
    pub severity_because: &'static str,
    /// What it applies to.
    pub applies: Applies,
    /// Parts of the picture without which it cannot be judged.
    pub needs: Needs,
    /// Where the facts come from.
    pub sources: &'static [&'static str],
    /// How it looks.
    pub check: Check,
}

/// What a rule applies to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applies {
    /// Pods, and the Pods of templates.
    Pods,
    /// Whole templates: counts and rollout.
    Templates,
    /// PodDisruptionBudgets, and templates that one selects.
    Budgets,
    /// ResourceQuotas.
    Quotas,
    /// LimitRanges.
    Limits,
    /// PriorityClasses, and Pods that have one.
    Priorities,
    /// Debug containers that are added to a Pod.
    EphemeralContainers,
    /// Node changes.
    NodeChanges,
    /// A Pod on a node: answered with [`super::Fit`].
    Nodes,
    /// Files of policies: found by the loader.
    Policies,
    /// Webhook configurations, scheduler configurations, certificate authorities.
    Installation,
}

/// Parts of the picture that must be known.
pub type Needs = &'static [Kind];

/// How a rule looks.
#[derive(Clone, Copy, Debug)]
pub enum Check {
    /// At the case.
    Case(fn(&Case<'_>, &'static Rule, &mut Findings)),
    /// It is the reason of a change or of a placement; `decide` says it where it happens.
    Placement,
    /// It is answered per node by `decide::fit`.
    Node,
    /// It is found by the policy loader.
    Loader,
}

/// Families of rules, in the order of the catalogue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Family {
    /// Requests and limits.
    Resources,
    /// Selectors, affinity, spread.
    Placement,
    /// Taints and tolerations.
    Taints,
    /// MIG.
    Mig,
    /// Priority and preemption.
    Priority,
    /// Probes and rollout.
    ProbesAndRollout,
    /// Disruption budgets.
    Disruption,
    /// Sharing and memory.
    Sharing,
    /// Parallelism.
    Parallelism,
    /// Ways around the gate.
    Bypass,
    /// Dynamic resource allocation.
    Dra,
    /// Quota and limit ranges.
    Quota,
    /// Node lifecycle.
    NodeLifecycle,
    /// Webhook and scheduler configuration.
    Installation,
}

/// Every rule, by family.
pub static ALL: &[&Rule] = &[
    // resources
    &super::REQUEST_LIMIT_MISMATCH,
    &super::LIMIT_MISSING,
    &super::GPU_NOT_INTEGER,
    &super::ZERO_GPU_HARDENED,
    &super::UNKNOWN_GPU_RESOURCE,
    &super::MIXED_GPU_RESOURCES,
    &super::RESOURCE_NOT_IN_POOL,
    &super::RESOURCE_REWRITTEN,
    &super::NO_NODE_LARGE_ENOUGH,
    &super::GPU_MISSING,
    &super::GPU_AT_POD_LEVEL,
    &super::GANG_DOES_NOT_FIT,
    &super::CLASS_UNKNOWN,
    &super::CLASS_AMBIGUOUS,
    &super::CLASS_NOT_FOUND,
    &super::NODE_TOO_SMALL,
    &super::NO_FREE_GPU,
    &super::NO_FREE_RESOURCE,
    &super::TOO_MANY_PODS,
    &super::HOST_PORT_TAKEN,
    // placement
    &super::SELECTOR_MATCHES_NO_NODE,
    &super::NO_POOL_AFFINITY,
    &super::AFFINITY_ADDED,
    &super::AFFINITY_TOO_COMPLEX,
    &super::POOL_FALLBACK,
    &super::NO_COMPATIBLE_POOL,
    &super::MODE_NOT_OFFERED,
    &super::POOL_REQUIREMENT_UNMET,
    &super::POOL_NOT_CANDIDATE,
    &super::ANTI_AFFINITY_EXCEEDS_NODES,
    &super::SPREAD_EXCEEDS_NODES,
    &super::NON_GPU_ON_GPU_POOL,
    &super::DAEMONSET_MISSES_POOL,
    &super::POOL_AT_ZERO,
    &super::SCHEDULING_GATED,
    &super::NODE_AFFINITY_MISMATCH,
    &super::TEMPLATE_NOT_FOUND,
    // taints
    &super::TOLERATION_ADDED,
    &super::POOL_RESERVED,
    &super::UNTOLERATED_TAINT,
    &super::TOLERATION_INVALID,
    &super::TOLERATION_MISSING,
    &super::TOLERATION_EXPIRES,
    &super::STARTUP_TAINT_TOLERATED,
    // MIG
    &super::MIG_UNSUPPORTED_HARDWARE,
    &super::MIG_STRATEGY_NAME,
    &super::MIG_PROFILE_NOT_AVAILABLE,
    &super::MIG_CONFIG_PENDING,
    &super::MIG_CHANGE_WITH_TENANTS,
    &super::MIG_LAYOUT_IMPOSSIBLE,
    &super::MPS_WITH_MIG,
    &super::MIG_SINGLE_NEEDS_UNIFORM_LAYOUT,
    &super::NO_FREE_SLICE,
    // priority
    &super::PRIORITYCLASS_NOT_FOUND,
    &super::PRIORITY_SET,
    &super::PRIORITY_NEVER_FOR_CRITICAL,
    &super::PRIORITY_ORDER_VIOLATION,
    &super::VICTIM_PROTECTED,
    &super::PRIORITY_FIELDS_MISMATCH,
    &super::PRIORITYCLASS_INVALID,
    &super::PRIORITY_SYSTEM_CLASS,
    &super::PRIORITY_BELOW_CUTOFF,
    &super::BUDGET_GUARDS_NO_PREEMPTION,
    // probes and rollout
    &super::STARTUP_BUDGET_TOO_SMALL,
    &super::LIVENESS_ONE_STRIKE,
    &super::LIVENESS_TIMEOUT_TOO_SHORT,
    &super::READINESS_NOT_MODEL_AWARE,
    &super::PROGRESS_DEADLINE_TOO_SHORT,
    &super::GRACE_TOO_SHORT,
    &super::BATCH_DEADLINE_MISSING,
    &super::DEADLINE_ON_SERVER,
    &super::ROLLOUT_NEEDS_SPARE_GPU,
    // disruption
    &super::PDB_BLOCKS_DRAIN,
    &super::PDB_BLOCKS_DRAIN_AT_MIN,
    &super::PDB_OVERLAP,
    &super::PDB_PROTECTS_NOTHING,
    &super::PDB_KEEPS_BROKEN_PODS,
    // sharing and memory
    &super::SHARED_REQUEST_GT_ONE,
    &super::TIME_SLICING_WITH_MPS,
    &super::VRAM_OVERCOMMIT,
    &super::REPLICAS_SHARE_CARD,
    &super::OVERSIZED_FOR_CLASS,
    &super::ISOLATION_INSUFFICIENT,
    &super::MEMORY_INSUFFICIENT,
    &super::COLOCATION_LIMIT,
    &super::NEIGHBOUR_NOT_ALLOWED,
    &super::NO_FREE_VRAM,
    &super::ROOM_PROMISED,
    // parallelism
    &super::SHM_ADDED,
    &super::SHM_UNSUITABLE,
    &super::TP_ON_MIG,
    &super::TP_ON_SHARED,
    &super::TP_GPU_MISMATCH,
    &super::MIG_SLICES_GT_ONE,
    // bypass
    &super::GPU_BYPASS_ENV,
    &super::PRIVILEGED_GPU_BYPASS,
    &super::GPU_BYPASS_HOSTPATH,
    &super::GPU_BYPASS_EPHEMERAL,
    &super::GPU_BYPASS_HOST_NAMESPACE,
    &super::NODENAME_BYPASS,
    &super::VISIBLE_DEVICES_VOID_SET,
    &super::WRONG_SCHEDULER,
    &super::STAMP_MISSING,
    &super::ADMISSION_SKIPPED,
    // DRA
    &super::DOUBLE_ALLOCATOR_NODE,
    &super::CLAIM_NOT_SHARED,
    &super::CLAIM_UNNAMED,
    &super::CLAIM_NOT_FOUND,
    &super::DEVICE_CLASS_NOT_FOUND,
    &super::CLAIM_SHARED_BY_REPLICAS,
    &super::CLAIM_BESIDE_DEVICE_PLUGIN,
    &super::MPS_SEVERAL_GPUS,
    // quota
    &super::QUOTA_KEY_INEFFECTIVE,
    &super::QUOTA_MISSES_NAMES,
    &super::LIMITRANGE_DEFAULTS_GPU,
    // node lifecycle
    &super::AUTOSCALER_UNAWARE_OF_SHARING,
    &super::POOL_NOT_PROVEN,
    &super::EVIDENCE_CONTRADICTED,
    &super::NODE_GPU_NOT_INITIALISED,
    &super::NODE_REJOINING,
    &super::NODE_DRIVER_NOT_READY,
    &super::NODE_UNKNOWN,
    // installation
    &super::SUPPRESSION_VOID,
    &super::WEBHOOK_LOCKS_CLUSTER,
    &super::WEBHOOK_TIMEOUT_TOO_LONG,
    &super::WEBHOOK_NOT_REINVOKED,
    &super::CA_BUNDLE_EXPIRES,
    &super::CA_LIVES_TOO_SHORT,
    &super::EXTENDER_NOT_CACHE_CAPABLE,
    &super::EXTENDER_UNVERIFIED,
    &super::EXTENDER_SLOW,
    &super::EXTENDER_IGNORABLE,
    &super::EXTENDER_TAKES_OVER,
];

/// The rule of that id.
#[must_use]
pub fn find(id: &str) -> Option<&'static Rule> {
    ALL.iter().copied().find(|rule| rule.id == id)
}

/// Every id, for policies that name rules.
#[must_use]
pub fn ids() -> Vec<&'static str> {
    ALL.iter().map(|rule| rule.id).collect()
}
