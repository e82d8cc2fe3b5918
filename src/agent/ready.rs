//! Whether a node may take GPU Pods: NVML answers, the MIG layout is done, and what the node advertises is
//! what the hardware is. Until then the node keeps the startup taint.

use std::{collections::BTreeMap, fmt};

use super::{
    card::{Card, Inventory, Unreadable},
    device_id::{Device, DeviceId},
    handed::Handed,
};
use crate::gpu::GpuResource;

/// Taint of a node whose cards are not known to be ready.
pub const STARTUP_TAINT: &str = "sluice.dev/not-ready";

/// One thing that keeps a node from being ready.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotReady {
    /// NVML does not answer.
    Unreadable(String),
    /// The driver has no card.
    NoCard,
    /// Cards that fell off the bus, by index.
    Lost(Vec<u32>),
    /// Cards whose MIG mode changes with the next reset, by index.
    MigPending(Vec<u32>),
    /// The MIG manager is at work or failed: the value of its label.
    MigLayout(String),
    /// The kubelet does not answer.
    NoKubelet(String),
    /// No device plugin has registered.
    NothingAdvertised,
    /// The node's allocatable is not what the kubelet can hand out: resource, allocatable, devices.
    Allocatable(String, u64, u64),
    /// Devices of the hardware that the plugin does not hand out.
    NotHandedOut(Vec<String>),
    /// Devices that the plugin hands out and the hardware does not have.
    NotThere(Vec<String>),
}

/// What the API server says of the node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NodeSays {
    /// GPU resources of `status.allocatable`.
    pub allocatable: BTreeMap<String, u64>,
    /// `nvidia.com/mig.config.state`.
    pub mig_state: Option<String>,
    /// Whether a DRA driver hands out the cards: then no device plugin has to.
    pub dra: bool,
}

/// Everything that keeps the node from being ready; empty when it is.
#[must_use]
pub fn not_ready(
    inventory: &Result<Inventory, Unreadable>,
    handed: Result<&Handed, &str>,
    node: &NodeSays,
) -> Vec<NotReady> {
    let inventory = match inventory {
        Ok(inventory) => inventory,
        Err(why) => return vec![NotReady::Unreadable(why.to_string())],
    };
    if inventory.cards.is_empty() {
        return vec![NotReady::NoCard];
    }
    let mut reasons = of_cards(inventory, node);
    match handed {
        Err(why) => reasons.push(NotReady::NoKubelet(why.to_owned())),
        Ok(handed) if handed.ids.is_empty() && node.dra => {}
        Ok(handed) if handed.ids.is_empty() => reasons.push(NotReady::NothingAdvertised),
        Ok(handed) => {
            reasons.extend(of_allocatable(handed, node));
            reasons.extend(of_devices(inventory, handed));
        }
    }
    reasons
}

fn of_cards(inventory: &Inventory, node: &NodeSays) -> Vec<NotReady> {
    let which = |holds: fn(&Card) -> bool| -> Vec<u32> {
        inventory.cards.iter().filter(|card| holds(card)).map(|card| card.index).collect()
    };
    let mut reasons = Vec::new();
    let lost = which(Card::is_lost);
    if !lost.is_empty() {
        reasons.push(NotReady::Lost(lost));
    }
    let pending = which(|card| super::mig::pending(card).is_some());
    if !pending.is_empty() {
        reasons.push(NotReady::MigPending(pending));
    }
    // Absent: nobody manages the layout. `success` is the one steady state (mig-parted, k8s-mig-manager).
    if let Some(state) = node.mig_state.as_ref().filter(|state| *state != "success") {
        reasons.push(NotReady::MigLayout(state.clone()));
    }
    reasons
}

fn of_allocatable(handed: &Handed, node: &NodeSays) -> Vec<NotReady> {
    let differs = |(resource, ids): (&String, &std::collections::BTreeSet<String>)| {
        let (devices, said) = (ids.len() as u64, node.allocatable.get(resource).copied().unwrap_or_default());
        (devices != said).then(|| NotReady::Allocatable(resource.clone(), said, devices))
    };
    let stale = node.allocatable.iter().filter(|(resource, count)| {
        let unit = GpuResource::parse(resource).is_some_and(|resource| resource.is_unit());
        unit && **count > 0 && !handed.ids.contains_key(*resource)
    });
    let stale = stale.map(|(resource, &count)| NotReady::Allocatable(resource.clone(), count, 0));
    handed.ids.iter().filter_map(differs).chain(stale).collect()
}

/// Compares devices by UUID, and by number where the plugin names them by index.
fn of_devices(inventory: &Inventory, handed: &Handed) -> Vec<NotReady> {
    let ids = handed.ids.values().flatten().filter_map(|id| DeviceId::parse(id));
    let mut named: Vec<&str> = Vec::new();
    for id in ids {
        match id.device {
            Device::Card(uuid) | Device::Mig(uuid) => named.push(uuid),
            // Indices are GKE's and of `deviceIDStrategy: index`: nothing to compare with.
            Device::Index(_) | Device::Instance { .. } => return Vec::new(),
        }
    }
    let there = expected(inventory);
    let missing: Vec<String> = there.iter().filter(|uuid| !named.contains(&uuid.as_str())).cloned().collect();
    let mut gone: Vec<String> =
        named.into_iter().map(str::to_owned).filter(|uuid| !there.contains(uuid)).collect();
    gone.sort();
    gone.dedup();
    let mut reasons = Vec::new();
    if !missing.is_empty() {
        reasons.push(NotReady::NotHandedOut(missing));
    }
    if !gone.is_empty() {
        reasons.push(NotReady::NotThere(gone));
    }
    reasons
}

/// What a plugin hands out of these cards: a card whole, or with MIG on its MIG devices. Lost cards have
/// been named already.
fn expected(inventory: &Inventory) -> Vec<String> {
    let of_card = |card: &Card| -> Vec<String> {
        if card.is_lost() {
            return Vec::new();
        }
        if card.mig_mode.value().is_some_and(|modes| modes.current) {
            let devices = card.mig_devices.value().into_iter().flatten();
            return devices.filter_map(|device| device.uuid.value().cloned()).collect();
        }
        card.uuid.value().cloned().into_iter().collect()
    };
    inventory.cards.iter().flat_map(of_card).collect()
}

impl NotReady {
    /// One word, for the reason of a condition.
    #[must_use]
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Unreadable(_) => "Unreadable",
            Self::NoCard => "NoCard",
            Self::Lost(_) => "CardLost",
            Self::MigPending(_) => "MigModePending",
            Self::MigLayout(_) => "MigLayoutPending",
            Self::NoKubelet(_) => "NoKubelet",
            Self::NothingAdvertised => "NothingAdvertised",
            Self::Allocatable(..) => "AllocatableDiffers",
            Self::NotHandedOut(_) => "DevicesMissing",
            Self::NotThere(_) => "DevicesGone",
        }
    }
}

impl fmt::Display for NotReady {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let indices = |cards: &[u32]| cards.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
        match self {
            Self::Unreadable(why) => f.write_str(why),
            Self::NoCard => f.write_str("the driver has no card"),
            Self::Lost(cards) => write!(f, "card {} fell off the bus: reboot the node", indices(cards)),
            Self::MigPending(cards) => {
                write!(f, "the MIG mode of card {} waits for a reset of the card", indices(cards))
            }
            Self::MigLayout(state) => write!(f, "nvidia.com/mig.config.state is {state}, not success"),
            Self::NoKubelet(why) => write!(f, "the kubelet's PodResources API does not answer: {why}"),
            Self::NothingAdvertised => f.write_str("no device plugin has registered with the kubelet"),
            Self::Allocatable(resource, said, devices) => {
                write!(f, "allocatable says {said} of {resource}, the kubelet has {devices} devices of it")
            }
            Self::NotHandedOut(devices) => {
                write!(f, "the device plugin does not hand out {}", devices.join(", "))
            }
            Self::NotThere(devices) => write!(
                f,
                "the device plugin hands out {}, which NVML does not have: restart the plugin",
                devices.join(", ")
            ),
        }
    }
}
