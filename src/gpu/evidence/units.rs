//! What a node hands out under which name, and what one of it is.

use super::{
    ModeEvidence, Unit, UnitKind,
    cards::{Cards, single_memory, slice_memory},
    facts::Facts,
};
use crate::gpu::{
    DraDevice, DraKind, GpuDeviceClass, GpuResource, Mebibytes, MigProfile, ResourceKind,
    agent_facts::MigMode, model::MigSuffix,
};

/// Units of the device plugin and of DRA, sorted by name.
pub(super) fn units(facts: &Facts<'_>, cards: &Cards<'_>, mode: &ModeEvidence) -> Vec<Unit> {
    let plugin = facts.advertised.iter().filter(|(resource, _)| resource.is_unit());
    let mut units: Vec<Unit> = plugin
        .map(|(resource, count)| {
            let kind = kind(facts, mode, resource);
            let memory = memory(facts, cards, kind);
            Unit { resource: resource.name().to_owned(), kind, count: *count, memory, device_class: None }
        })
        .collect();
    for class in facts.classes {
        units.extend(by_class(facts, cards, class));
    }
    units.sort_by(|a, b| a.resource.cmp(&b.resource));
    // One name is served by the plugin or by one class, never by both (KEP-5004); the plugin's comes first.
    units.dedup_by(|later, earlier| later.resource == earlier.resource);
    units
}

/// Whether `nvidia.com/gpu` stands for cards that cannot be had whole. After a switch to renamed units the
/// kubelet keeps the old name for a while; with strategy `none` the plugin advertises cards in MIG mode.
pub(super) fn whole_count_is_stale(facts: &Facts<'_>, replicas: Option<u32>) -> bool {
    let whole = facts.whole();
    let renamed = facts.count(|kind| *kind == ResourceKind::Shared) > 0;
    let in_mig = facts.cards().iter().filter(|card| card.mig == MigMode::Enabled).count();
    let free = (facts.cards().len() - in_mig) as u64;
    let most = free.saturating_mul(replicas.unwrap_or(1).max(1).into());
    whole > 0 && (renamed || (in_mig > 0 && !facts.whole_is_slice() && whole > most))
}

/// Units of each card or slice, from what is handed out before what labels say.
pub(super) fn replicas(
    facts: &Facts<'_>,
    cards: &Cards<'_>,
    mode: &ModeEvidence,
    units: &[Unit],
) -> Option<u32> {
    if !mode.mode.is_some_and(|mode| mode.is_software_shared()) {
        return mode.mode.map(|_| 1);
    }
    let of = |is: fn(UnitKind) -> bool| {
        let counts = units.iter().filter(|unit| is(unit.kind)).map(|unit| unit.count);
        counts.fold(0, u64::saturating_add)
    };
    let shared_cards = of(|kind| kind == UnitKind::SharedCard);
    let shared_slices = of(|kind| matches!(kind, UnitKind::SharedSlice(_)));
    let (shares, among) = if shared_cards > 0 {
        (shared_cards, cards.count.map(u64::from))
    } else {
        (shared_slices, slices_behind(facts))
    };
    let counted = among.filter(|&among| among > 0 && shares > 0 && shares.is_multiple_of(among));
    counted
        .and_then(|among| u32::try_from(shares / among).ok())
        .or_else(|| facts.agent?.sharing_replicas)
        .or_else(|| facts.labels.replicas())
        .or_else(|| facts.labels.slices.values().filter_map(|slice| slice.replicas).max())
        .or_else(|| facts.labels.gke()?.clients)
}

/// MIG devices that shares are made of.
fn slices_behind(facts: &Facts<'_>) -> Option<u64> {
    let single = matches!(facts.labels.mig_suffix(), Some(MigSuffix::Profile(_)));
    let labelled = facts.labels.slices.values().map(|slice| u64::from(slice.count));
    let labelled = labelled.fold(0, u64::saturating_add);
    let by_label = if single { facts.labels.count().map_or(0, u64::from) } else { labelled };
    [facts.mig_devices(), by_label].into_iter().find(|&count| count > 0)
}

fn kind(facts: &Facts<'_>, mode: &ModeEvidence, resource: &GpuResource) -> UnitKind {
    let shared = mode.mode.is_some_and(|mode| mode.is_software_shared());
    match *resource.kind() {
        ResourceKind::Whole if facts.whole_is_slice() => sliced(single_profile(facts), shared),
        ResourceKind::Whole if shared && facts.renamed() == 0 && facts.slices() == 0 => UnitKind::SharedCard,
        ResourceKind::Whole => UnitKind::Card,
        ResourceKind::Shared if facts.whole_is_slice() => UnitKind::SharedSlice(single_profile(facts)),
        ResourceKind::Shared => UnitKind::SharedCard,
        ResourceKind::Mig(profile) => sliced(Some(profile), slices_are_shared(facts, profile)),
        ResourceKind::MigShared(profile) => UnitKind::SharedSlice(Some(profile)),
        _ => UnitKind::Other,
    }
}

const fn sliced(profile: Option<MigProfile>, shared: bool) -> UnitKind {
    if shared { UnitKind::SharedSlice(profile) } else { UnitKind::Slice(profile) }
}

/// Whether labels say that slices under their own, unchanged name are shared.
fn slices_are_shared(facts: &Facts<'_>, profile: MigProfile) -> bool {
    let labels = facts.labels.slices.get(&profile);
    labels.is_some_and(|slice| {
        slice.replicas.is_some_and(|replicas| replicas > 1) || slice.sharing == Some("time-slicing")
    })
}

/// The profile of every slice where `nvidia.com/gpu` is one.
fn single_profile(facts: &Facts<'_>) -> Option<MigProfile> {
    if let Some(MigSuffix::Profile(profile)) = facts.labels.mig_suffix() {
        return profile;
    }
    if let Some(partition) = facts.labels.gke().and_then(|gke| gke.partition) {
        return partition.parse().ok();
    }
    let mut profiles = facts.cards().iter().flat_map(|card| &card.mig_devices).map(|device| device.profile);
    let first = profiles.next()?;
    profiles.all(|profile| profile == first).then_some(first)
}

fn memory(facts: &Facts<'_>, cards: &Cards<'_>, kind: UnitKind) -> Option<Mebibytes> {
    match kind {
        UnitKind::Card | UnitKind::SharedCard => cards.memory,
        UnitKind::Slice(Some(profile)) | UnitKind::SharedSlice(Some(profile)) => {
            slice_memory(facts, cards, profile)
        }
        UnitKind::Slice(None) | UnitKind::SharedSlice(None) => single_memory(facts),
        UnitKind::Other => None,
    }
}

/// The unit of a DeviceClass: devices that a Pod gets by a resource name, none of it in allocatable.
fn by_class(facts: &Facts<'_>, cards: &Cards<'_>, class: &GpuDeviceClass) -> Option<Unit> {
    let selected = class.selects()?;
    let name = class.resource();
    let wanted = GpuResource::parse(&name).and_then(|resource| resource.profile());
    let fits = |device: &&DraDevice| wanted.is_none() || device.profile == wanted;
    let devices: Vec<&DraDevice> = facts.dra(selected).filter(fits).collect();
    let first = devices.first()?;
    let alike = devices.iter().all(|device| device.profile == first.profile);
    let profile = first.profile.filter(|_| alike);
    let shared = devices.iter().any(|device| device.shared);
    let kind = match selected {
        DraKind::Mig => sliced(profile, shared),
        DraKind::Gpu | DraKind::Vfio if shared => UnitKind::SharedCard,
        DraKind::Gpu | DraKind::Vfio => UnitKind::Card,
    };
    let measured = devices.iter().map(|device| device.memory).min().flatten();
    Some(Unit {
        resource: name,
        kind,
        count: devices.len() as u64,
        memory: measured.or_else(|| memory(facts, cards, kind)),
        device_class: Some(class.name.clone()),
    })
}
