//! The status of a `GpuNode`, made of what hardware and kubelet answer. Pure: the time comes in as text.

use std::collections::BTreeMap;

use super::{
    card::{Answer, Card, ComputeMode, Inventory, Sample, Unreadable},
    device_id::{Device, DeviceId},
    handed::Handed,
    mig,
    ready::NotReady,
};
use crate::gpu::{
    AgentCondition, AgentDevice, AgentMigDevice, AgentProfile, AgentTenant, GpuNodeStatus, Mebibytes,
};

/// All that was seen in one round.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// RFC 3339.
    pub now: &'a str,
    /// Seconds between two rounds that are published without a change.
    pub heartbeat: u32,
    /// Boot id of the node.
    pub boot_id: Option<&'a str>,
    /// Hardware.
    pub inventory: &'a Result<Inventory, Unreadable>,
    /// Its last sample.
    pub sample: Option<&'a Sample>,
    /// Kubelet; `None` where it does not answer.
    pub handed: Option<&'a Handed>,
    /// Whether an MPS daemon runs on the node; `None` where we may not look.
    pub mps_daemon: Option<bool>,
    /// What keeps the node from being ready; empty when it is.
    pub not_ready: &'a [NotReady],
}

/// The status, with conditions that keep the time since when they hold in `before`.
#[must_use]
pub fn status(seen: &Seen<'_>, before: Option<&GpuNodeStatus>) -> GpuNodeStatus {
    let inventory = seen.inventory.as_ref().ok();
    let replicas = seen.handed.and_then(Handed::replicas);
    GpuNodeStatus {
        observed_at: Some(seen.now.to_owned()),
        heartbeat_seconds: Some(seen.heartbeat),
        boot_id: seen.boot_id.map(str::to_owned),
        driver_version: inventory.and_then(|found| found.driver_version.value().cloned()),
        cuda_version: inventory.and_then(|found| found.cuda_version.value().cloned()),
        mps_daemon: seen.mps_daemon,
        sharing_replicas: replicas,
        product: inventory.and_then(product),
        mig: inventory.and_then(|found| mig::of_node(&found.cards)),
        sharing: sharing(replicas, seen.mps_daemon),
        advertised: seen.handed.map(advertised).unwrap_or_default(),
        conditions: conditions(seen, before),
        devices: inventory.map(|found| devices(found, seen)).unwrap_or_default(),
    }
}

fn product(inventory: &Inventory) -> Option<String> {
    let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
    for card in &inventory.cards {
        *counts.entry(card.product.value().map_or("unknown", String::as_str)).or_default() += 1;
    }
    let parts: Vec<String> = counts.iter().map(|(name, count)| format!("{count} × {name}")).collect();
    (!parts.is_empty()).then(|| parts.join(", "))
}

fn sharing(replicas: Option<u32>, mps: Option<bool>) -> Option<String> {
    Some(match (replicas?, mps) {
        (1, _) => "none".to_owned(),
        (replicas, Some(true)) => format!("mps × {replicas}"),
        (replicas, Some(false)) => format!("time-slicing × {replicas}"),
        (replicas, None) => format!("time-slicing or mps × {replicas}"),
    })
}

fn advertised(handed: &Handed) -> BTreeMap<String, u32> {
    let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
    handed.ids.iter().map(|(resource, ids)| (resource.clone(), count(ids.len()))).collect()
}

fn conditions(seen: &Seen<'_>, before: Option<&GpuNodeStatus>) -> Vec<AgentCondition> {
    let readable = match seen.inventory {
        Ok(_) => Said { holds: true, reason: "Answered", message: "NVML answers".to_owned() },
        Err(why) => Said { holds: false, reason: word(why), message: why.to_string() },
    };
    let ready = match seen.not_ready {
        [] => {
            let message = "the kubelet advertises what the hardware is".to_owned();
            Said { holds: true, reason: "AsAdvertised", message }
        }
        reasons => {
            let texts: Vec<String> = reasons.iter().map(ToString::to_string).collect();
            Said { holds: false, reason: reasons[0].word(), message: texts.join("; ") }
        }
    };
    [("Readable", readable), ("Ready", ready)]
        .map(|(kind, said)| said.condition(kind, seen.now, before))
        .into()
}

struct Said {
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Said {
    fn condition(self, kind: &str, now: &str, before: Option<&GpuNodeStatus>) -> AgentCondition {
        let status = if self.holds { "True" } else { "False" };
        let was = before.and_then(|before| before.conditions.iter().find(|one| one.kind == kind));
        let since = was.filter(|was| was.status == status).map(|was| was.last_transition_time.clone());
        AgentCondition {
            kind: kind.to_owned(),
            status: status.to_owned(),
            reason: self.reason.to_owned(),
            message: self.message,
            last_transition_time: since.unwrap_or_else(|| now.to_owned()),
        }
    }
}

const fn word(why: &Unreadable) -> &'static str {
    match why {
        Unreadable::NoLibrary(_) => "NoLibrary",
        Unreadable::NoDriver => "NoDriver",
        Unreadable::VersionMismatch => "VersionMismatch",
        Unreadable::NoPermission => "NoPermission",
        Unreadable::Hung(_) => "Hung",
        Unreadable::Failed(_) => "Failed",
        Unreadable::Recording(_) => "BadRecording",
    }
}

fn devices(inventory: &Inventory, seen: &Seen<'_>) -> Vec<AgentDevice> {
    inventory.cards.iter().map(|card| device(card, seen)).collect()
}

fn device(card: &Card, seen: &Seen<'_>) -> AgentDevice {
    let uuid = card.uuid.value().cloned().unwrap_or_default();
    let memory = card.memory.value();
    AgentDevice {
        product: card.product.value().cloned(),
        memory: memory.map(|memory| memory.total),
        usable: memory.map(|memory| memory.usable),
        memory_used: seen.sample.and_then(|sample| used(sample, &uuid)),
        compute_capability: card.compute_capability.value().cloned(),
        compute_mode: card.compute_mode.value().map(|mode| compute_mode(*mode).to_owned()),
        mig: mig::mode(card),
        mig_pending: mig::pending(card),
        mig_reason: Some(mig::reason(card)),
        mig_profiles: profiles(card),
        mig_devices: mig_devices(card),
        faults: faults(card),
        tenants: seen.handed.map(|handed| tenants(card, &uuid, handed)).unwrap_or_default(),
        uuid,
    }
}

fn used(sample: &Sample, uuid: &str) -> Option<Mebibytes> {
    let card = sample.cards.iter().find(|card| card.uuid == uuid)?;
    card.memory_used.value().map(|Mebibytes(used)| Mebibytes::from_gib(used.div_ceil(1024)))
}

const fn compute_mode(mode: ComputeMode) -> &'static str {
    match mode {
        ComputeMode::Default => "default",
        ComputeMode::ExclusiveProcess => "exclusive-process",
        ComputeMode::Prohibited => "prohibited",
        ComputeMode::Other => "other",
    }
}

fn profiles(card: &Card) -> Vec<AgentProfile> {
    let known = card.mig_profiles.value().map(Vec::as_slice).unwrap_or_default();
    let profile = |profile: &super::card::Profile| {
        Some(AgentProfile {
            profile: profile.name.clone()?,
            memory: profile.memory,
            max_instances: profile.max_instances,
        })
    };
    known.iter().filter_map(profile).collect()
}

/// MIG devices with the profile of the instance that they are part of. One whose profile is not known, or
/// that is a split instance, is left out: nothing can be said about what it is.
fn mig_devices(card: &Card) -> Vec<AgentMigDevice> {
    let found = card.mig_devices.value().map(Vec::as_slice).unwrap_or_default();
    let device = |device: &super::card::MigDevice| {
        let instance =
            card.gpu_instances.value()?.iter().find(|one| Some(&one.id) == device.gpu_instance.value())?;
        let profile = card.mig_profiles.value()?.iter().find(|one| one.id == instance.profile_id)?;
        Some(AgentMigDevice {
            uuid: device.uuid.value().cloned().unwrap_or_default(),
            profile: profile.name.as_deref()?.parse().ok()?,
            memory: device.memory.value().copied(),
        })
    };
    found.iter().filter_map(device).collect()
}

fn faults(card: &Card) -> Vec<String> {
    let rows = card.remapped_rows.value();
    let said = [
        (card.is_lost(), "lost"),
        (rows.is_some_and(|rows| rows.failed), "row-remap-failed"),
        (rows.is_some_and(|rows| rows.pending), "row-remap-pending"),
        (card.ecc_uncorrected.value().is_some_and(|&errors| errors > 0), "ecc-uncorrected"),
    ];
    said.into_iter().filter(|(holds, _)| *holds).map(|(_, word)| word.to_owned()).collect()
}

fn tenants(card: &Card, uuid: &str, handed: &Handed) -> Vec<AgentTenant> {
    let on_card = |id: &&String| DeviceId::parse(id).is_some_and(|id| is_of(card, uuid, id.device));
    let tenant = |holder: &super::handed::Holder| {
        let units = holder.ids.iter().filter(on_card).count();
        (units > 0).then(|| AgentTenant {
            namespace: holder.namespace.clone(),
            pod: holder.pod.clone(),
            container: holder.container.clone(),
            resource: holder.resource.clone(),
            units: u32::try_from(units).unwrap_or(u32::MAX),
        })
    };
    handed.holders.iter().filter_map(tenant).collect()
}

fn is_of(card: &Card, uuid: &str, device: Device<'_>) -> bool {
    let slices = || card.mig_devices.value().into_iter().flatten();
    match device {
        Device::Card(other) => other == uuid,
        Device::Mig(other) => slices().any(|mig| matches!(&mig.uuid, Answer::Value(own) if own == other)),
        Device::Instance { card: other, .. } => other == uuid || other == card.index.to_string(),
        Device::Index(index) => index == card.index,
    }
}
