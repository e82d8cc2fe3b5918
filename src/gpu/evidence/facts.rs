//! All sources of one node side by side, each read but not yet weighed.

use std::collections::BTreeMap;

use super::{Observed, labels::LabelFacts};
use crate::gpu::{
    DraDevice, DraKind, GpuDeviceClass, GpuResource, MigStrategy, ResourceKind,
    agent_facts::{AgentDevice, GpuNodeStatus, MigMode},
    model::MigSuffix,
};

/// What each source says.
#[derive(Clone, Debug)]
pub(super) struct Facts<'a> {
    pub(super) labels: LabelFacts<'a>,
    /// GPU resources of which allocatable has at least one.
    pub(super) advertised: Vec<(GpuResource, u64)>,
    pub(super) capacity: &'a BTreeMap<String, u64>,
    /// Devices of NVIDIA's DRA driver.
    pub(super) devices: Vec<&'a DraDevice>,
    pub(super) classes: &'a [GpuDeviceClass],
    /// The agent's status, only while fresh and with at least one card.
    pub(super) agent: Option<&'a GpuNodeStatus>,
}

impl<'a> Facts<'a> {
    pub(super) fn read(observed: &'a Observed) -> Self {
        let advertised = observed
            .allocatable
            .iter()
            .filter(|&(_, &count)| count > 0)
            .filter_map(|(name, &count)| Some((GpuResource::parse(name)?, count)))
            .collect();
        let agent = observed.agent.as_ref().filter(|agent| agent.fresh).map(|agent| &agent.status);
        Self {
            labels: LabelFacts::read(&observed.labels),
            advertised,
            capacity: &observed.capacity,
            devices: observed.slices.iter().filter(|device| device.is_nvidia()).collect(),
            classes: &observed.device_classes,
            agent: agent.filter(|status| !status.devices.is_empty()),
        }
    }

    /// Advertised count of the names for which `is` holds.
    pub(super) fn count(&self, is: impl Fn(&ResourceKind) -> bool) -> u64 {
        let counts = self.advertised.iter().filter(|(resource, _)| is(resource.kind()));
        counts.map(|(_, count)| *count).fold(0, u64::saturating_add)
    }

    /// Advertised `nvidia.com/gpu`.
    pub(super) fn whole(&self) -> u64 {
        self.count(|kind| *kind == ResourceKind::Whole)
    }

    /// Advertised units with a name of sharing.
    pub(super) fn renamed(&self) -> u64 {
        self.count(|kind| matches!(kind, ResourceKind::Shared | ResourceKind::MigShared(_)))
    }

    /// Advertised MIG slices under names of their own, shared or not.
    pub(super) fn slices(&self) -> u64 {
        self.count(|kind| matches!(kind, ResourceKind::Mig(_) | ResourceKind::MigShared(_)))
    }

    /// `nvidia.com/gpu 4, nvidia.com/mig-1g.10gb 7`, for messages.
    pub(super) fn listed(&self, is: impl Fn(&ResourceKind) -> bool) -> String {
        let of = self.advertised.iter().filter(|(resource, _)| is(resource.kind()));
        of.map(|(resource, count)| format!("{resource} {count}")).collect::<Vec<_>>().join(", ")
    }

    /// DRA devices of one kind.
    pub(super) fn dra(&self, kind: DraKind) -> impl Iterator<Item = &'a DraDevice> + '_ {
        self.devices.iter().copied().filter(move |device| device.kind == kind)
    }

    /// Whether DRA offers MIG devices of cards that it also offers whole: then they are placements to be
    /// made on demand (dynamic MIG), and MIG mode may be off until one is asked for. Static MIG lists a card
    /// in MIG mode as its slices only.
    pub(super) fn is_dynamic_mig(&self) -> bool {
        let whole = |parent: &str| self.dra(DraKind::Gpu).any(|gpu| gpu.uuid.as_deref() == Some(parent));
        self.dra(DraKind::Mig).filter_map(|mig| mig.parent.as_deref()).any(whole)
    }

    /// Cards as NVML sees them; empty where the agent says nothing.
    pub(super) fn cards(&self) -> &'a [AgentDevice] {
        self.agent.map_or(&[], |status| &status.devices)
    }

    /// MIG devices as NVML sees them.
    pub(super) fn mig_devices(&self) -> u64 {
        self.cards().iter().map(|card| card.mig_devices.len() as u64).fold(0, u64::saturating_add)
    }

    /// Whether `nvidia.com/gpu` is known to be a MIG slice here: strategy `single`, or GKE's partitions.
    pub(super) fn whole_is_slice(&self) -> bool {
        let single = matches!(self.labels.mig_suffix(), Some(MigSuffix::Profile(_)));
        let gke = self.labels.gke().is_some_and(|gke| gke.partition.is_some());
        single || gke || self.is_single_by_nvml()
    }

    /// Whether `nvidia.com/gpu` can be a MIG slice: nobody says that the strategy is another one.
    pub(super) fn whole_may_be_slice(&self) -> bool {
        match self.labels.strategy() {
            Some(MigStrategy::Mixed) => false,
            // Under `single` slices show as a suffix of the product.
            Some(MigStrategy::Single) => self.whole_is_slice() || self.labels.product().is_none(),
            None => self.whole_is_slice() || !self.labels.has_discovery(),
        }
    }

    /// Nobody labelled the node, every card is in MIG mode, and only `nvidia.com/gpu` is advertised, as
    /// often as there are MIG devices or a multiple of that.
    fn is_single_by_nvml(&self) -> bool {
        let slices = self.mig_devices();
        let all_on = self.cards().iter().all(|card| card.mig == MigMode::Enabled);
        let whole = self.whole().saturating_add(self.count(|kind| *kind == ResourceKind::Shared));
        let labelled = self.labels.has_discovery() || self.labels.gke().is_some();
        !labelled && all_on && slices > 0 && self.slices() == 0 && whole > 0 && whole.is_multiple_of(slices)
    }

    /// Whether anything that hands out or sees devices speaks at all.
    pub(super) fn has_device(&self) -> bool {
        let unit = self.advertised.iter().any(|(resource, _)| resource.is_unit());
        unit || !self.devices.is_empty() || self.agent.is_some()
    }
}
