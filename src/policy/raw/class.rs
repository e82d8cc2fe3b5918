//! `kind: WorkloadClass`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ApiVersion, Metadata, Quantity, Selector};
use crate::{gpu::Mode, policy::set::Fallback};

/// A class of workloads: how it is recognised, what it needs, where it may run.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkloadClass {
    /// Group and version of this schema.
    pub api_version: ApiVersion,
    /// Always `WorkloadClass`.
    pub kind: WorkloadClassKind,
    /// Name of the class; also the value of the label `sluice.dev/class`.
    pub metadata: Metadata,
    /// What the class is.
    pub spec: WorkloadClassSpec,
}

/// The value of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum WorkloadClassKind {
    /// The only value.
    WorkloadClass,
}

/// What a class is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WorkloadClassSpec {
    /// Ways to recognise a Pod of this class, beside its label `sluice.dev/class`; any one is enough. Where
    /// several classes recognise a Pod, the strongest way wins, in the order: the label, `cel`, `labels`,
    /// `owners`, `arguments`, `programs`, `images`.
    #[serde(default)]
    pub recognize: Vec<Recognizer>,
    /// Ways that are asked only where no class recognises the Pod otherwise.
    #[serde(default)]
    pub hints: Vec<Recognizer>,
    /// What a Pod of this class must be protected from.
    #[serde(default)]
    pub isolation: Isolation,
    /// GPU memory that the unit it gets must have.
    #[schemars(extend("examples" = ["16Gi"]))]
    pub memory: Option<Quantity>,
    /// Pools that will do, in order of preference: by name, or by what they must be.
    pub pools: Vec<PoolTerm>,
    /// What happens where no pool of the list exists.
    #[serde(default)]
    pub fallback: FallbackSpec,
    /// Priority.
    #[serde(default)]
    pub priority: Priority,
    /// Who may share a card with it.
    #[serde(default)]
    pub sharing: Sharing,
    /// Start-up.
    #[serde(default)]
    pub startup: Startup,
    /// Its work comes to an end, as training does: Pods without `activeDeadlineSeconds` are found.
    #[serde(default)]
    pub runs_to_end: bool,
    /// Needs under disruption.
    #[serde(default)]
    pub disruption: Disruption,
    /// What sluice may rewrite in a Pod of this class.
    #[serde(default)]
    pub rewrite: Rewrite,
    /// Whether replicas are packed onto few cards or spread over many; a preference.
    #[serde(default)]
    pub placement: Placement,
}

/// One way to recognise a class. Where several fields are given, each is a way of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recognizer {
    /// A CEL expression over `pod` that is true for Pods of this class.
    #[schemars(extend("examples" = ["pod.metadata.namespace == 'speech'"]))]
    pub cel: Option<String>,
    /// Labels of the Pod.
    pub labels: Option<Selector>,
    /// Words among command and arguments of a container, `*` as wildcard, letter case ignored. Several
    /// words must follow each other; `--flag value` also finds `--flag=value`.
    #[serde(default)]
    #[schemars(extend("examples" = [["--task embed", "--model *whisper*"]]))]
    pub arguments: Vec<String>,
    /// The same, for the program that is started; weaker than `arguments`.
    #[serde(default)]
    #[schemars(extend("examples" = [["vllm serve", "-m sglang.launch_server"]]))]
    pub programs: Vec<String>,
    /// Image repositories without registry host, tag and digest, `*` as wildcard. A mirror's prefix does
    /// not matter: `vllm/vllm-openai` also finds `mirror.example/hub/vllm/vllm-openai:v1`.
    #[serde(default)]
    #[schemars(extend("examples" = [["vllm/vllm-openai"]]))]
    pub images: Vec<String>,
    /// Kinds of the controlling owner.
    #[serde(default)]
    #[schemars(extend("examples" = [["Job", "PyTorchJob"]]))]
    pub owners: Vec<String>,
}

/// What a tenant is protected from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Isolation {
    /// A neighbour cannot take its memory: exclusive, MIG, MPS.
    #[serde(default)]
    pub memory: bool,
    /// A neighbour's fault does not end it: exclusive, MIG.
    #[serde(default)]
    pub fault: bool,
}

/// A pool by `name`, or any pool with the other properties.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PoolTerm {
    /// A `GpuPool` of this directory; then nothing else is said.
    pub name: Option<String>,
    /// Sharing mode.
    pub mode: Option<Mode>,
    /// GPU models, any of these.
    #[serde(default)]
    #[schemars(extend("examples" = [["H100"]]))]
    pub models: Vec<String>,
    /// Least memory of a card, or of a slice.
    #[schemars(extend("examples" = ["20Gi"]))]
    pub memory: Option<Quantity>,
    /// Least isolation.
    #[serde(default)]
    pub isolation: Isolation,
}

/// What happens where no pool of the list exists.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct FallbackSpec {
    /// First the pools of that class, in its order, and then its own fallback.
    #[schemars(extend("examples" = ["embedding"]))]
    pub class: Option<String>,
    /// Last: `refuse`, or `any-compatible` with the class's isolation and memory. Left out: `refuse`, or
    /// what the class above says.
    pub otherwise: Option<Fallback>,
}

/// Priority of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Priority {
    /// PriorityClass that Pods of this class get.
    #[schemars(extend("examples" = ["gpu-llm"]))]
    pub class_name: Option<String>,
    /// PriorityClasses that a Pod may name itself.
    #[serde(default)]
    pub allowed: Vec<String>,
    /// The class counts on pushing away others: its PriorityClass must not have `preemptionPolicy: Never`.
    #[serde(default)]
    pub must_preempt: bool,
}

/// Who may share a card with a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sharing {
    /// Classes that may be neighbours; left out: any; empty: none.
    #[schemars(extend("examples" = [["embedding", "asr"]]))]
    pub with: Option<Vec<String>>,
    /// Most tenants of one card, this one included.
    #[schemars(extend("examples" = [4]))]
    pub max_tenants: Option<u32>,
}

/// Start-up of a class.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Startup {
    /// Longest time from the container's start to a loaded model.
    #[schemars(extend("examples" = ["30m"]))]
    pub budget: Option<String>,
    /// Add a startup probe where the Pod's probes would end it before the budget is over.
    #[serde(default)]
    pub add_probe: bool,
}

/// Needs under disruption.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Disruption {
    /// Never a preemption victim.
    #[serde(default)]
    pub protected: bool,
    /// Longest grace period.
    #[schemars(extend("examples" = ["10m"]))]
    pub max_grace_period: Option<String>,
}

/// What sluice may rewrite.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rewrite {
    /// The GPU resource name, from `nvidia.com/gpu` to what the chosen pool advertises.
    #[serde(default)]
    pub resource: bool,
    /// Size of a memory-backed `/dev/shm` that is added to Pods with several cards.
    #[schemars(extend("examples" = ["16Gi"]))]
    pub shm_size: Option<Quantity>,
    /// Set `NVIDIA_VISIBLE_DEVICES=void` in containers that ask for no GPU, so that the runtime does not
    /// hand them all cards.
    #[serde(default)]
    pub hide_devices: bool,
}

/// How replicas are laid over cards.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Placement {
    /// Onto few cards, so that whole ones stay free.
    #[default]
    Pack,
    /// Over many nodes, so that a lost one takes few replicas.
    Spread,
}
