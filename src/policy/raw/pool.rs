//! `kind: GpuPool`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ApiVersion, Metadata, NodeTerm, Quantity};
use crate::gpu::{MigStrategy, Mode};

/// A pool: the nodes that serve GPUs in one sharing mode.
///
/// NVIDIA's device plugin knows one sharing method for a node, the same for all its cards, so the mode
/// belongs to the pool and not to a card.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuPool {
    /// Group and version of this schema.
    pub api_version: ApiVersion,
    /// Always `GpuPool`.
    pub kind: GpuPoolKind,
    /// Name of the pool.
    pub metadata: Metadata,
    /// What the pool is.
    pub spec: GpuPoolSpec,
}

/// The value of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum GpuPoolKind {
    /// The only value.
    GpuPool,
}

/// What a pool is.
#[derive(Clone, Debug, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuPoolSpec {
    /// Which nodes belong to the pool. Terms are alternatives; within a term everything must hold.
    #[schemars(extend("examples" = [[{"matchLabels": {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}}]]))]
    pub nodes: Vec<NodeTerm>,
    /// How the cards are shared. `exclusive`: a whole card for one container. `mig`: hardware partitions.
    /// `mps`: several containers at once, memory limited, one fault domain. `time-slicing`: containers take
    /// turns, nothing is isolated. `cuda-fraction` and `hami-core` are recognised but not managed.
    pub mode: Mode,
    /// The extended resource that the nodes advertise; left out: whatever they advertise in this mode.
    #[schemars(extend("examples" = ["nvidia.com/gpu", "nvidia.com/gpu.shared"]))]
    pub resource: Option<String>,
    /// The DeviceClass to ask for where the devices come by DRA instead of the device plugin.
    #[schemars(extend("examples" = ["gpu.nvidia.com"]))]
    pub device_class: Option<String>,
    /// Parameters of `mode: time-slicing`, as in the device plugin's `sharing.timeSlicing`.
    pub time_slicing: Option<SharedUnits>,
    /// Parameters of `mode: mps`, as in the device plugin's `sharing.mps`.
    pub mps: Option<SharedUnits>,
    /// MIG layout of the cards.
    pub mig: Option<Mig>,
    /// Physical cards of one node. Say it for pools that may be empty: nobody can be asked then.
    #[schemars(extend("examples" = [8]))]
    pub cards_per_node: Option<u32>,
    /// Taints that the nodes carry; Pods that are steered here get the tolerations.
    #[serde(default)]
    #[schemars(extend("examples" = [[{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]]))]
    pub taints: Vec<Taint>,
    /// Bounds of a pool that an autoscaler grows and shrinks.
    pub autoscaling: Option<Autoscaling>,
    /// Conditions of use: what the nodes must prove before the pool serves anyone.
    pub requires: Option<Requires>,
    /// Relative cost of a node; only compared with that of other pools.
    #[schemars(extend("examples" = [4.0]))]
    pub cost: Option<f64>,
}

/// How many units a shared card is advertised as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SharedUnits {
    /// Units of each card, at least 2; at most 48 under MPS (device plugin v0.20).
    #[schemars(extend("examples" = [4]))]
    pub replicas: u32,
    /// What the device plugin does with a container that asks for several units: refuse or allow. Left out:
    /// its default, which is to refuse under MPS and to allow under time-slicing.
    pub fail_requests_greater_than_one: Option<bool>,
}

/// MIG layout.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Mig {
    /// `single`: every slice is advertised as `nvidia.com/gpu` and all slices are equal. `mixed`: every
    /// profile has a name of its own, such as `nvidia.com/mig-1g.10gb`.
    pub strategy: MigStrategy,
    /// Profiles that the cards are cut into, without the `mig-` of resource names.
    #[serde(default)]
    #[schemars(extend("examples" = [["1g.10gb", "3g.40gb"]]))]
    pub profiles: Vec<String>,
}

/// A taint of the pool's nodes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Taint {
    /// Key.
    #[schemars(extend("examples" = ["nvidia.com/gpu"]))]
    pub key: String,
    /// Value; may be left out.
    #[serde(default)]
    pub value: String,
    /// What happens to Pods without the toleration.
    pub effect: TaintEffect,
}

/// Effects of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum TaintEffect {
    /// They are not placed here.
    NoSchedule,
    /// They are placed here only if nothing else is free.
    PreferNoSchedule,
    /// They are not placed here, and running ones are evicted.
    NoExecute,
}

impl TaintEffect {
    /// The word in Kubernetes objects.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::NoSchedule => "NoSchedule",
            Self::PreferNoSchedule => "PreferNoSchedule",
            Self::NoExecute => "NoExecute",
        }
    }
}

/// Bounds of an autoscaled pool, in nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Autoscaling {
    /// Fewest nodes. A shared pool that starts from 0 is grown by the physical number of cards, not by the
    /// shared one, so keep at least 1 there.
    pub min: u32,
    /// Most nodes.
    pub max: u32,
}

/// Conditions of use. What cannot be proven counts as not met.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requires {
    /// GPU models, any of these; written as people say them (`H100`) or as the product label has them.
    #[serde(default)]
    #[schemars(extend("examples" = [["H100", "H200"]]))]
    pub models: Vec<String>,
    /// Lowest compute capability, in quotes.
    #[schemars(extend("examples" = ["8.0"]))]
    pub compute_capability: Option<String>,
    /// Least memory of a card, or of a slice.
    #[schemars(extend("examples" = ["40Gi"]))]
    pub memory: Option<Quantity>,
    /// Lowest driver version, in quotes.
    #[schemars(extend("examples" = ["550.90.07"]))]
    pub driver: Option<String>,
    /// Lowest kubelet version, in quotes.
    #[schemars(extend("examples" = ["1.34"]))]
    pub kubernetes: Option<String>,
    /// Devices must come by DRA.
    #[serde(default)]
    pub dra: bool,
}
