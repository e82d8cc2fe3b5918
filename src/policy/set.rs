//! The compiled policies: what the engine uses. Built only by the loader, checked as a whole, immutable.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde::{Deserialize, Serialize};

use super::{error::PolicyWarning, recognize::RecognitionIndex};
use crate::{
    gpu::{Isolation, Mebibytes, MigStrategy, Mode},
    k8s::{
        labels::Selector,
        object::{NodeSelectorTerm, Taint},
    },
};

/// Every policy of one revision.
#[derive(Clone, Debug, Default)]
pub struct PolicySet {
    /// Git commit of the files where there is one, else a hash of their content; `built-in` for none.
    pub revision: String,
    /// Declared pools, sorted by name.
    pub pools: Vec<Arc<Pool>>,
    /// Classes, sorted by name.
    pub classes: Vec<Arc<Class>>,
    /// Admission policies, the most specific first.
    pub policies: Vec<Arc<AdmissionPolicy>>,
    /// Exceptions, sorted by name.
    pub exceptions: Vec<Arc<Exception>>,
    /// Doubts about the files that do not keep them from being used.
    pub warnings: Vec<PolicyWarning>,
    /// Which class recognises what; made from `classes` when it is first asked.
    pub index: RecognitionIndex,
}

/// What is done with findings, and the severity of one: the same ladder, worst last, so that the lower of
/// two is their minimum.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing said, everything counted.
    Audit,
    /// Shown, never refused.
    Warn,
    /// Refused; only this action patches.
    Deny,
}

/// A pool: nodes that serve GPUs in one mode.
#[derive(Clone, Debug, PartialEq)]
pub struct Pool {
    /// Unique name.
    pub name: Arc<str>,
    /// Which nodes: terms are ORed, never empty for a declared pool.
    pub nodes: Vec<NodeSelectorTerm>,
    /// The declared sharing mode.
    pub mode: Mode,
    /// The extended resource that its nodes advertise; `None` = whatever they advertise in that mode.
    pub resource: Option<String>,
    /// DRA instead of the device plugin: the DeviceClass to ask for.
    pub device_class: Option<String>,
    /// Units of each card under time-slicing and MPS.
    pub replicas: Option<u32>,
    /// What the device plugin does with a container that asks for several shared units. `None`: the
    /// plugin's default, which is to refuse under MPS and to allow under time-slicing.
    pub fail_requests_greater_than_one: Option<bool>,
    /// MIG layout.
    pub mig: Option<MigLayout>,
    /// Physical cards of one node, for pools that may be empty.
    pub cards_per_node: Option<u32>,
    /// Taints that the pool's nodes are declared to carry.
    pub taints: Vec<Taint>,
    /// Set where an autoscaler may grow the pool.
    pub autoscaling: Option<Autoscaling>,
    /// Conditions of use.
    pub requires: Requires,
    /// Relative cost of a node of this pool; only compared.
    pub cost: Option<f64>,
}

/// Declared MIG layout of a pool.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MigLayout {
    /// Strategy of the device plugin.
    pub strategy: MigStrategy,
    /// Profiles such as `1g.10gb`, without the `mig-` of resource names.
    pub profiles: Vec<String>,
}

/// Bounds of an autoscaled pool, in nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Autoscaling {
    /// Fewest nodes.
    pub min: u32,
    /// Most nodes.
    pub max: u32,
}

/// Conditions of use: what the nodes must prove before the pool serves anyone.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Requires {
    /// GPU models, matched as [`crate::gpu`] matches product names; empty = any.
    pub models: Vec<String>,
    /// Lowest compute capability, (major, minor).
    pub compute_capability: Option<(u32, u32)>,
    /// Least memory of a card or slice.
    pub memory: Option<Mebibytes>,
    /// Lowest driver version, numeric parts.
    pub driver: Option<Vec<u32>>,
    /// Lowest kubelet version, (major, minor).
    pub kubernetes: Option<(u32, u32)>,
    /// Devices must come by DRA.
    pub dra: bool,
}

/// A class of workloads.
#[derive(Clone, Debug)]
pub struct Class {
    /// Interned name: `llm`, `embedding`, `asr`, `batch`, or the team's own.
    pub name: Arc<str>,
    /// How it is recognised, beside the label `sluice.dev/class`.
    pub recognition: Vec<Recognizer>,
    /// Ways to recognise it that are asked only where no class recognises a Pod otherwise.
    pub hints: Vec<Recognizer>,
    /// What a tenant of this class must be protected from.
    pub isolation: Isolation,
    /// GPU memory that a unit must have.
    pub memory: Option<Mebibytes>,
    /// Acceptable pools in order of preference.
    pub terms: Vec<PoolTerm>,
    /// What happens when no term has a pool.
    pub fallback: Fallback,
    /// PriorityClass that its Pods get.
    pub priority_class: Option<String>,
    /// Priority classes that are left alone where a Pod names one itself.
    pub allowed_priority_classes: BTreeSet<String>,
    /// Whether it counts on pushing others away: its PriorityClass must not say `Never`.
    pub must_preempt: bool,
    /// Who may share a card with it.
    pub sharing: Sharing,
    /// Longest time from start to a loaded model; seconds.
    pub startup_budget: Option<u64>,
    /// Its work comes to an end, so that it should have a deadline.
    pub runs_to_end: bool,
    /// Whether the webhook adds a startup probe where the budget is too small.
    pub add_startup_probe: bool,
    /// Disruption needs.
    pub disruption: Disruption,
    /// What may be rewritten.
    pub rewrite: Rewrite,
    /// Size of a memory-backed `/dev/shm` for Pods that use several cards; `None` = leave alone.
    pub shm_size: Option<String>,
    /// Whether containers that ask for no GPU get `NVIDIA_VISIBLE_DEVICES=void`.
    pub hide_devices: bool,
    /// Whether replicas are packed or spread by the extender's score.
    pub spread: bool,
}

/// One way to recognise a class; the order of kinds is the order of strength.
#[derive(Clone, Debug)]
pub enum Recognizer {
    /// A CEL expression over `pod`, true for this class.
    Cel(Arc<CelExpression>),
    /// Labels of the Pod.
    Labels(Selector),
    /// Kinds of the controlling owner, such as `Job`.
    Owner(Vec<String>),
    /// Words that occur among command and arguments; `*` as wildcard.
    Arguments(Vec<String>),
    /// The same for the program that is started.
    Program(Vec<String>),
    /// Image repositories (without registry host, tag and digest) with `*` as wildcard.
    Image(Vec<String>),
}

/// A compiled CEL expression with its source.
pub struct CelExpression {
    /// Source text.
    pub source: String,
    /// Compiled program.
    pub program: cel::Program,
}

/// One acceptable pool or kind of pool.
#[derive(Clone, Debug, PartialEq)]
pub enum PoolTerm {
    /// A pool by name.
    Named(Arc<str>),
    /// Any pool with these properties.
    Properties(Properties),
}

/// Properties that a pool must have; absent means any.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Properties {
    /// Mode.
    pub mode: Option<Mode>,
    /// Models, as in [`Requires::models`].
    pub models: Vec<String>,
    /// Least memory of a card or slice.
    pub memory: Option<Mebibytes>,
    /// Least isolation.
    pub isolation: Isolation,
}

/// What happens to a Pod for which no term has a pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Fallback {
    /// It is refused, in the inventory's own words.
    #[default]
    Refuse,
    /// Any pool that meets the class's isolation and memory needs will do.
    AnyCompatible,
}

/// Who may share a card with a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sharing {
    /// Classes that may be neighbours; `None` = any.
    pub with: Option<BTreeSet<Arc<str>>>,
    /// Most tenants of one card, this one included.
    pub max_tenants: Option<u32>,
}

/// Disruption needs of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Disruption {
    /// Never a preemption victim.
    pub protected: bool,
    /// Longest grace period, seconds.
    pub max_grace: Option<u64>,
}

/// What the webhook may rewrite for a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rewrite {
    /// The GPU resource name, from the whole-GPU name to what the chosen pool advertises.
    pub resource: bool,
}

/// Where and how findings act.
#[derive(Clone, Debug)]
pub struct AdmissionPolicy {
    /// Name.
    pub name: Arc<str>,
    /// Namespaces that it applies to.
    pub namespaces: NamespaceScope,
    /// Highest severity that takes effect.
    pub action: Severity,
    /// Severity of single rules, by rule id.
    pub rules: BTreeMap<String, Severity>,
    /// Ids of rules that a manifest may suppress for itself, with a reason.
    pub suppressible: BTreeSet<String>,
    /// Seconds after which a picture is too old to assert absence.
    pub max_picture_age: u64,
    /// ServiceAccounts (`namespace/name`) whose Pods the bypass rules leave alone.
    pub exempt_service_accounts: BTreeSet<String>,
    /// Scheduler that GPU Pods are given where they name none of their own; `None` = leave alone.
    pub scheduler_name: Option<String>,
    /// Whether CPU Pods on GPU pools are refused instead of warned about.
    pub gpu_nodes_only_for_gpu: bool,
    /// Kinds that hold Pod templates, besides those that are known.
    pub template_kinds: Vec<TemplateKind>,
}

/// A kind that holds Pod templates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TemplateKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Paths of templates, each with that of its number of Pods; empty: searched for.
    pub templates: Vec<(String, Option<String>)>,
}

/// The age after which a picture is too old to assert absence, where a policy does not say; seconds.
///
/// Watches deliver within milliseconds and a broken one is set up again within a minute, so two minutes
/// mean that something is really wrong.
pub const DEFAULT_PICTURE_AGE: u64 = 120;

/// Which namespaces: names with `*`, or labels; everything where neither is given.
#[derive(Clone, Debug, Default)]
pub struct NamespaceScope {
    /// Names, `*` as wildcard; empty = all.
    pub names: Vec<String>,
    /// Names left out.
    pub except: Vec<String>,
    /// Labels of the Namespace.
    pub labels: Option<Selector>,
}

/// A time-limited exception from rules.
#[derive(Clone, Debug)]
pub struct Exception {
    /// Name.
    pub name: Arc<str>,
    /// Rule ids.
    pub rules: BTreeSet<String>,
    /// Namespaces, `*` as wildcard; never empty.
    pub namespaces: Vec<String>,
    /// Object names, `*` as wildcard; empty = all.
    pub names: Vec<String>,
    /// Labels of the Pod or template.
    pub labels: Option<Selector>,
    /// Who answers for it.
    pub owner: String,
    /// Why.
    pub reason: String,
    /// First second (Unix time) at which it is void.
    pub expires: i64,
}

impl PolicySet {
    /// The class of that name.
    #[must_use]
    pub fn class(&self, name: &str) -> Option<&Arc<Class>> {
        self.classes.iter().find(|class| &*class.name == name)
    }

    /// The declared pool of that name.
    #[must_use]
    pub fn pool(&self, name: &str) -> Option<&Arc<Pool>> {
        self.pools.iter().find(|pool| &*pool.name == name)
    }
}

impl std::fmt::Display for PoolTerm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Named(name) => write!(f, "pool {name}"),
            Self::Properties(properties) => properties.fmt(f),
        }
    }
}

impl std::fmt::Display for Properties {
    /// `mode mig, model H100, memory 20Gi, isolated memory`.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let isolated = |what: &str| format!("isolated {what}");
        let parts: Vec<String> = [
            self.mode.map(|mode| format!("mode {mode}")),
            (!self.models.is_empty()).then(|| format!("model {}", self.models.join(" or "))),
            self.memory.map(|memory| format!("memory {memory}")),
            self.isolation.memory.then(|| isolated("memory")),
            self.isolation.fault.then(|| isolated("faults")),
        ]
        .into_iter()
        .flatten()
        .collect();
        if parts.is_empty() { f.write_str("any pool") } else { f.write_str(&parts.join(", ")) }
    }
}

impl Recognizer {
    /// Whether it has no pattern at all and recognises nothing.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        match self {
            Self::Cel(_) | Self::Labels(_) => false,
            Self::Arguments(patterns)
            | Self::Program(patterns)
            | Self::Image(patterns)
            | Self::Owner(patterns) => patterns.is_empty(),
        }
    }
}

impl Severity {
    /// The word used in policies, reports and metrics.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Audit => "audit",
            Self::Warn => "warn",
            Self::Deny => "deny",
        }
    }
}

impl std::fmt::Display for Severity {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

impl std::fmt::Debug for CelExpression {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("CelExpression").field(&self.source).finish()
    }
}
