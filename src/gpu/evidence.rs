//! What a node can do, and how we know: all sources of one node weighed against each other.
//!
//! Sources in order: DRA ResourceSlices; allocatable; the agent's NVML; labels of GFD, the device plugin
//! and the cloud. The order only chooses which source explains. NVML's "not supported" and the model table
//! are vetoes over all; sources that disagree make the mode contradicted, and contradicted or unknown
//! satisfies nothing. Pure: no clock, so whether a source is fresh comes in with it.

mod cards;
mod claims;
mod facts;
mod label_claims;
mod labels;
mod mig_state;
mod units;
mod ways;
mod weigh;

use std::{collections::BTreeMap, fmt};

use serde::{Deserialize, Serialize};

use self::{cards::Cards, facts::Facts};
use super::{
    AgentFacts, DraDevice, GpuDeviceClass, Mebibytes, MigProfile, MigStrategy, Mode, ResourceKind,
    model::{Model, ModelName},
};

pub use labels::is_evidence_label;

/// Everything that is known of one node. Nodes with equal `Observed` have equal [`Assessment`]s.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Observed {
    /// Labels; those that [`is_evidence_label`] does not know are not read and may be left out.
    pub labels: BTreeMap<String, String>,
    /// GPU-like resources of `status.allocatable`, as whole counts.
    pub allocatable: BTreeMap<String, u64>,
    /// The same of `status.capacity`.
    pub capacity: BTreeMap<String, u64>,
    /// Devices of this node's ResourceSlices, of every driver.
    pub slices: Vec<DraDevice>,
    /// DeviceClasses of the cluster.
    pub device_classes: Vec<GpuDeviceClass>,
    /// What the node agent published.
    pub agent: Option<AgentFacts>,
}

/// What a node can do. Everything absent is unknown, never "no".
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Assessment {
    /// The model of all its cards; `None` for a card outside the table, for cards of several models, and
    /// where sources name different ones.
    pub model: Option<ModelName>,
    /// Product name without the suffixes for sharing and MIG; `None` as for the model.
    pub product: Option<String>,
    /// Memory of the card or slice behind a unit, the smallest where units differ; never from a name.
    pub memory: Option<Mebibytes>,
    /// How its cards are shared.
    pub mode: ModeEvidence,
    /// What it hands out, sorted by resource name; only what there is at least one of.
    pub units: Vec<Unit>,
    /// Physical cards.
    pub cards: Option<u32>,
    /// Units for each card, or for each slice; 1 = not shared.
    pub replicas: Option<u32>,
    /// Whether shared units have names of their own (`….shared`).
    pub renamed: bool,
    /// MIG, whether on or not.
    pub mig: MigState,
    /// Whether DRA hands out GPUs here.
    pub dra: bool,
    /// Whether DRA and the device plugin both hand out this node's cards, unknown to each other.
    pub double_allocator: bool,
    /// Whether the advertised count of `nvidia.com/gpu` stands for cards that cannot be had whole: units
    /// of the same cards are advertised under another name, or all of them are in MIG mode.
    pub whole_count_stale: bool,
    /// Driver version, numeric parts.
    pub driver: Option<Vec<u32>>,
    /// Compute capability, (major, minor).
    pub compute_capability: Option<(u32, u32)>,
    /// What is odd about this node without changing its mode; sentences for a person.
    pub remarks: Vec<String>,
}

/// The sharing mode of a node and how we know it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ModeEvidence {
    /// The mode. Where sources leave it open: exclusive if nobody speaks of sharing, else the method that
    /// isolates less. Shared slices are time-slicing. `None`: nothing is known, the MIG layout is not in
    /// place, or MIG is claimed for a card that has none.
    pub mode: Option<Mode>,
    /// How far it may be believed.
    pub standing: Standing,
    /// Which source explains it; `None` where nothing is known.
    pub source: Option<Source>,
    /// A sentence for a person.
    pub explanation: String,
    /// What speaks against it, with the source that says so; empty unless contradicted.
    pub against: Vec<(Source, String)>,
}

/// How far evidence may be believed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Standing {
    /// Sources disagree, or a veto applies: satisfies no requirement.
    Contradicted,
    /// Plausible and unopposed, but nobody who knows has said so, or the layout is still changing.
    Unverified,
    /// A source that knows says so, and no other denies it.
    Verified,
}

/// Where evidence comes from, in the order in which sources explain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Source {
    /// ResourceSlices.
    ResourceSlice,
    /// `status.allocatable`: what the kubelet hands out.
    Allocatable,
    /// NVML, by the node agent.
    Nvml,
    /// Labels of GPU feature discovery, device plugin, MIG manager or cloud.
    Labels,
    /// The table of models; only ever a veto or a hint.
    ModelTable,
}

/// One resource that a node hands out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unit {
    /// The name to ask for.
    pub resource: String,
    /// What one of it is.
    pub kind: UnitKind,
    /// How many there are.
    pub count: u64,
    /// Memory of the card or slice behind it. A tenant of a shared unit sees all of it; MPS limits each
    /// tenant to this divided by the replicas.
    pub memory: Option<Mebibytes>,
    /// The DeviceClass, where DRA serves the name and the kubelet does not list it.
    pub device_class: Option<String>,
}

/// What one unit of a resource is on this node, whatever its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum UnitKind {
    /// A whole card.
    Card,
    /// A share of a card.
    SharedCard,
    /// A MIG slice; the profile is unknown where the node does not tell it.
    Slice(Option<MigProfile>),
    /// A share of a MIG slice.
    SharedSlice(Option<MigProfile>),
    /// A device of another maker, or of a plugin that we do not know.
    Other,
}

/// MIG on a node.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MigState {
    /// Whether its cards have MIG.
    pub capability: MigCapability,
    /// Whether MIG mode is on for at least one card; `None` = unknown.
    pub enabled: Option<bool>,
    /// Strategy of the device plugin; `None` = none or unknown.
    pub strategy: Option<MigStrategy>,
    /// Whether the wanted layout is in place.
    pub layout: MigLayoutState,
    /// A sentence for a person, such as `L4: not capable of MIG` or `H200: capable, disabled`.
    pub explanation: String,
}

/// Whether the cards of a node have MIG.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MigCapability {
    /// They have.
    Capable,
    /// They have not, and who says so.
    NotCapable(String),
    /// Nobody knows. Satisfies no MIG requirement.
    Unknown,
}

/// Whether the MIG layout that a node should have is in place (`nvidia.com/mig.config`, `….state`).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MigLayoutState {
    /// In place, or none is wanted.
    Settled,
    /// On its way; the state as the MIG manager writes it, or `absent`.
    Pending(String),
    /// The MIG manager gave up.
    Failed,
    /// Strategy `single` on cards that are not all partitioned alike (product label `…-MIG-INVALID`).
    Invalid,
}

/// Weighs everything that is known of a node. Total: whatever the labels say, there is an answer.
#[must_use]
pub fn assess(observed: &Observed) -> Assessment {
    let facts = Facts::read(observed);
    let cards = Cards::read(&facts);
    let veto = mig_state::veto(&facts, &cards);
    let mig = mig_state::mig_state(&facts, &cards, veto.as_ref());
    let mode = weigh::weigh(&facts, &mig.layout, veto.as_ref());
    let units = units::units(&facts, &cards, &mode);
    let replicas = units::replicas(&facts, &cards, &mode, &units);
    let mut assessment = Assessment {
        model: cards.model.map(Model::name),
        product: cards.product.map(str::to_owned),
        memory: memory(&cards, &mig, &units),
        cards: cards.count.or_else(|| whole_cards(&mode, &units)),
        replicas,
        renamed: facts.renamed() > 0,
        dra: observed.slices.iter().any(DraDevice::is_gpu),
        double_allocator: !facts.devices.is_empty() && facts.count(is_plugins) > 0,
        whole_count_stale: units::whole_count_is_stale(&facts, replicas),
        driver: cards.driver.clone(),
        compute_capability: cards.compute_capability,
        remarks: Vec::new(),
        mode,
        units,
        mig,
    };
    assessment.remarks = remarks(&facts, &cards, &assessment);
    assessment
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::ResourceSlice => "ResourceSlice",
            Self::Allocatable => "allocatable",
            Self::Nvml => "NVML",
            Self::Labels => "labels",
            Self::ModelTable => "model table",
        })
    }
}

/// Names of NVIDIA's device plugin.
const fn is_plugins(kind: &ResourceKind) -> bool {
    matches!(
        kind,
        ResourceKind::Whole | ResourceKind::Shared | ResourceKind::Mig(_) | ResourceKind::MigShared(_)
    )
}

/// The least memory behind any unit; unknown as soon as one is. A card that is cut is no unit.
fn memory(cards: &Cards<'_>, mig: &MigState, units: &[Unit]) -> Option<Mebibytes> {
    let known = units.iter().filter(|unit| unit.kind != UnitKind::Other).map(|unit| unit.memory);
    known.min().unwrap_or(cards.memory.filter(|_| mig.enabled != Some(true)))
}

/// Cards of a node that hands out whole ones and nothing else.
fn whole_cards(mode: &ModeEvidence, units: &[Unit]) -> Option<u32> {
    let trusted = mode.mode == Some(Mode::Exclusive) && mode.standing == Standing::Verified;
    let cards = units.iter().filter(|unit| trusted && unit.kind == UnitKind::Card);
    let count = cards.map(|unit| unit.count).fold(0, u64::saturating_add);
    u32::try_from(count).ok().filter(|&count| count > 0)
}

fn remarks(facts: &Facts<'_>, cards: &Cards<'_>, assessment: &Assessment) -> Vec<String> {
    let mut remarks: Vec<String> = cards.remark.iter().cloned().collect();
    if assessment.double_allocator {
        let names = facts.listed(is_plugins);
        remarks.push(format!(
            "the device plugin ({names}) and DRA ({} devices) both hand out these cards, \
             unknown to each other",
            facts.devices.len()
        ));
    }
    if assessment.whole_count_stale {
        let whole = facts.whole();
        remarks.push(format!("nvidia.com/gpu {whole} stands for cards that cannot be had whole"));
    }
    if let (Some(label), Some(real)) = (facts.labels.replicas_label(), assessment.replicas)
        && label > 0
        && label != real
    {
        remarks.push(format!("label nvidia.com/gpu.replicas says {label}, units of each device are {real}"));
    }
    for (name, &capacity) in facts.capacity {
        let allocatable = facts.advertised.iter().find(|(resource, _)| resource.name() == name);
        let allocatable = allocatable.map_or(0, |(_, count)| *count);
        if allocatable < capacity {
            let lost = capacity - allocatable;
            remarks.push(format!(
                "{lost} of {capacity} {name} are not allocatable: unhealthy, or no device plugin"
            ));
        }
    }
    remarks
}

#[cfg(test)]
mod tests;
