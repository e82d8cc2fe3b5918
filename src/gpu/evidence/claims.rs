//! What those sources that hand out or see devices say about the mode; the labels are in `label_claims`.

use super::{
    Source,
    facts::Facts,
    label_claims,
    ways::{Way, Ways},
};
use crate::gpu::{
    DraKind, ResourceKind,
    agent_facts::{GpuNodeStatus, MigMode},
    model::MigSuffix,
};

/// One statement of one source: the set of ways that it leaves possible.
#[derive(Clone, Debug)]
pub(super) struct Claim {
    pub(super) source: Source,
    pub(super) ways: Ways,
    /// A firm claim contradicts another that shares no way with it; the rest only helps to choose.
    pub(super) firm: bool,
    /// What was seen: half a sentence, so that two can be joined by "while".
    pub(super) text: String,
}

impl Claim {
    pub(super) const fn firm(source: Source, ways: Ways, text: String) -> Self {
        Self { source, ways, firm: true, text }
    }

    pub(super) const fn hint(source: Source, ways: Ways, text: String) -> Self {
        Self { source, ways, firm: false, text }
    }
}

/// Every claim, in the order of sources.
pub(super) fn claims(facts: &Facts<'_>) -> Vec<Claim> {
    let mut claims: Vec<Claim> = by_resource_slices(facts).into_iter().collect();
    by_allocatable(facts, &mut claims);
    if let Some(status) = facts.agent {
        by_mig_mode(facts, status, &mut claims);
        by_sharing(status, &mut claims);
    }
    label_claims::by_labels(facts, &mut claims);
    claims
}

fn by_resource_slices(facts: &Facts<'_>) -> Option<Claim> {
    let mig = facts.dra(DraKind::Mig).count();
    let cards = facts.devices.len() - mig;
    let shared = facts.devices.iter().any(|device| device.shared);
    let (ways, what) = match (mig, cards) {
        (0, 0) => return None,
        (0, _) if shared => {
            (Ways::SHARED_CARDS, format!("{} for several claims each", number(cards as u64, "card")))
        }
        (0, _) => (Ways::of(&[Way::Whole]), number(cards as u64, "whole card")),
        _ if shared => (
            Ways::of(&[Way::SharedSlices]),
            format!("{} for several claims each", number(mig as u64, "MIG device")),
        ),
        _ if facts.is_dynamic_mig() => {
            (Ways::of(&[Way::Slices]), format!("{} to be made on demand", number(mig as u64, "MIG device")))
        }
        _ => (Ways::of(&[Way::Slices]), number(mig as u64, "MIG device")),
    };
    Some(Claim::firm(Source::ResourceSlice, ways, format!("ResourceSlices of gpu.nvidia.com list {what}")))
}

fn by_allocatable(facts: &Facts<'_>, claims: &mut Vec<Claim>) {
    let mut say = |ways, text: String| {
        claims.push(Claim::firm(Source::Allocatable, ways, format!("node advertises {text}")));
    };
    if facts.renamed() > 0 || facts.slices() > 0 {
        return say(by_own_names(facts), facts.listed(|kind| *kind != ResourceKind::Whole));
    }
    let whole = facts.whole();
    if whole == 0 {
        let others = facts.listed(|kind| matches!(kind, ResourceKind::OtherVendor | ResourceKind::Unknown));
        if !others.is_empty() {
            say(Ways::ANY, others);
        }
        return;
    }
    let open = if facts.whole_may_be_slice() { Ways::ANY } else { Ways::UNSLICED };
    let text = format!("nvidia.com/gpu {whole}");
    match countable(facts) {
        Some((count, what)) if whole > count => {
            say(open.and(Ways::SHARED), format!("{text} for {}", number(count, what)))
        }
        Some((count, what)) if whole == count => {
            say(open, text.clone());
            let text = format!("node advertises {text} for {}", number(count, what));
            claims.push(Claim::hint(Source::Allocatable, Ways::UNSHARED, text));
        }
        _ => say(open, text),
    }
}

/// The ways that names other than `nvidia.com/gpu` leave possible. Where one of them says that its units are
/// shared, the node is as weak as those, whatever slices there are beside them.
fn by_own_names(facts: &Facts<'_>) -> Ways {
    let mut shared = Ways::of(&[]);
    for (resource, _) in &facts.advertised {
        shared = shared.or(match resource.kind() {
            ResourceKind::Shared if facts.whole_may_be_slice() => Ways::SHARED,
            ResourceKind::Shared => Ways::SHARED_CARDS,
            ResourceKind::MigShared(_) => Ways::of(&[Way::SharedSlices]),
            _ => Ways::of(&[]),
        });
    }
    if shared.is_empty() { Ways::SLICED } else { shared }
}

/// How many devices `nvidia.com/gpu` can stand for if none is shared.
fn countable(facts: &Facts<'_>) -> Option<(u64, &'static str)> {
    let single = matches!(facts.labels.mig_suffix(), Some(MigSuffix::Profile(_)));
    if facts.agent.is_some() {
        let slices = facts.mig_devices();
        let sliced = slices > 0 && facts.whole_may_be_slice();
        return Some(if sliced { (slices, "MIG device") } else { (facts.cards().len() as u64, "card") });
    }
    if facts.labels.gke().is_some_and(|gke| gke.partition.is_some()) {
        return None;
    }
    let count = if single { facts.labels.count() } else { facts.labels.cards() };
    Some((count?.into(), if single { "MIG device" } else { "card" }))
}

fn by_mig_mode(facts: &Facts<'_>, status: &GpuNodeStatus, claims: &mut Vec<Claim>) {
    let cards = status.devices.len();
    let on = status.devices.iter().filter(|card| card.mig == MigMode::Enabled).count();
    let unknown = status.devices.iter().any(|card| card.mig == MigMode::Unknown);
    let (ways, text) = if on > 0 && on == cards {
        (Ways::SLICED, format!("NVML reports MIG enabled on all cards ({cards})"))
    } else if on > 0 {
        let text = format!("NVML reports MIG enabled on {on} of {}", number(cards as u64, "card"));
        (Ways::SLICED.or(Ways::SHARED_CARDS), text)
    } else if !unknown && !facts.is_dynamic_mig() {
        (Ways::UNSLICED, format!("NVML reports MIG enabled on none of {}", number(cards as u64, "card")))
    } else {
        return;
    };
    claims.push(Claim::firm(Source::Nvml, ways, text));
}

fn by_sharing(status: &GpuNodeStatus, claims: &mut Vec<Claim>) {
    let not_mps = Ways::of(&[Way::Whole, Way::TimeSliced, Way::Slices, Way::SharedSlices]);
    let daemon = status.mps_daemon.map(|runs| match runs {
        true => (Ways::of(&[Way::Mps]), "the node agent sees an MPS daemon".to_owned()),
        false => (not_mps, "the node agent sees no MPS daemon".to_owned()),
    });
    let replicas = status.sharing_replicas.filter(|&replicas| replicas > 0).map(|replicas| {
        let ways = if replicas > 1 { Ways::SHARED } else { Ways::UNSHARED };
        (ways, format!("the kubelet's device ids show {replicas} units a device"))
    });
    let said = daemon.into_iter().chain(replicas);
    claims.extend(said.map(|(ways, text)| Claim::firm(Source::Nvml, ways, text)));
}

fn number(count: u64, what: &str) -> String {
    if count == 1 { format!("1 {what}") } else { format!("{count} {what}s") }
}
