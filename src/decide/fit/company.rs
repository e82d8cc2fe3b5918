//! The tenants of a shared node beside whom the Pod would sit: those that the picture shows, and those that
//! were promised room. Counts without keeping, so that a node costs no allocation.
//!
//! The device plugin and the kubelet choose the card, so on a node of several cards a limit is kept for the
//! node as a whole, and what is only certain with one card is only asked there.

use std::sync::Arc;

use super::{Ask, Need, Obstacle};
use crate::{
    cluster::{Node, Tenant},
    gpu::{Mebibytes, Mode},
    policy::Class,
    rules,
    world::World,
};

/// Who is there.
#[derive(Clone, Copy, Debug, Default)]
pub struct Company {
    /// Physical cards of the node.
    pub cards: u32,
    /// Tenants in the picture, without the Pod itself and those that are thought away.
    pub tenants: u32,
    /// Those of them that the Pod disturbs or that disturb it.
    pub disturbing: u32,
    /// GPU memory of all cards, where isolation of memory is nobody's; MiB.
    pub memory: Option<u64>,
    /// Of it what tenants take, measured or declared, the larger; `None` where nobody knows. MiB.
    pub taken: Option<u64>,
    most: u64,
    incompatible: bool,
    largest_free: Option<u64>,
    declared: u64,
    promised: u32,
    promised_incompatible: bool,
    promised_memory: u64,
    unknown: bool,
}

/// Whether some class that may come onto nodes of that mode minds its neighbours or declares its memory.
pub(super) fn is_limited(world: &World, mode: Mode) -> bool {
    let isolation = mode.isolation();
    world.policies.classes.iter().any(|class| {
        let needs = class.isolation;
        let may_come = (isolation.memory || !needs.memory) && (isolation.fault || !needs.fault);
        let declares = class.memory.is_some() && !isolation.memory;
        may_come && (class.sharing.max_tenants.is_some() || class.sharing.with.is_some() || declares)
    })
}

impl Company {
    pub(super) fn of(ask: &Ask<'_>, need: &Need, node: &Node, mode: Mode) -> Self {
        let world = ask.world;
        let class = need.class.as_deref();
        let cards = node.shape.assessment.cards.unwrap_or(1).max(1);
        let own = class.and_then(|class| class.sharing.max_tenants);
        let most = own.map_or(u64::MAX, |most| u64::from(most) * u64::from(cards));
        let mut company = Self { cards, most, unknown: ask.promised.unknown, ..Self::default() };
        let mut all_declare = true;
        for tenant in world.cluster.tenants_on(&node.name).iter().filter(|t| !is_gone(ask, need, t)) {
            company.tenants += 1;
            let other = tenant.class.as_deref().and_then(|name| world.policies.class(name));
            let name = tenant.class.as_deref();
            company.incompatible |= !may_sit_together(class, name, other.map(|class| &**class));
            company.disturbing += u32::from(disturbs(class, name, other.map(|class| &**class)));
            company.limit_by(other.map(|class| &**class));
            let declared = other.and_then(|class| class.memory);
            all_declare &= declared.is_some();
            company.declared += declared.map_or(0, |memory| memory.0);
        }
        for promise in ask.promised.on(&node.name).filter(|promise| *promise.uid != *need.uid) {
            company.promised += 1;
            let other = promise.class.as_deref().and_then(|name| world.policies.class(name));
            let other = other.map(|class| &**class);
            company.promised_incompatible |= !may_sit_together(class, promise.class.as_deref(), other);
            company.limit_by(other);
            company.promised_memory += other.and_then(|class| class.memory).map_or(0, |memory| memory.0);
        }
        if !mode.isolation().memory {
            company.measure(world, node, all_declare);
        }
        company
    }

    /// With one card the tenants' own limits are certain too.
    fn limit_by(&mut self, other: Option<&Class>) {
        let theirs = other.and_then(|class| class.sharing.max_tenants).filter(|_| self.cards == 1);
        self.most = self.most.min(theirs.map_or(u64::MAX, u64::from));
    }

    /// What is free of memory that nobody isolates: as the agent measures it and as the tenants declare it.
    fn measure(&mut self, world: &World, node: &Node, all_declare: bool) {
        let card = node.shape.assessment.memory.map(|memory| memory.0);
        self.memory = card.map(|card| card.saturating_mul(u64::from(self.cards)));
        let agent = world.cluster.agent(&node.name).filter(|agent| agent.facts.fresh);
        let devices = agent.map_or(&[][..], |agent| agent.facts.status.devices.as_slice());
        let mut used = None;
        for device in devices {
            let (Some(Mebibytes(all)), Some(Mebibytes(taken))) = (device.memory, device.memory_used) else {
                continue;
            };
            used = Some(used.unwrap_or(0) + taken);
            let free = all.saturating_sub(taken);
            self.largest_free = Some(self.largest_free.map_or(free, |largest: u64| largest.max(free)));
        }
        let declared = (all_declare || self.declared > 0).then_some(self.declared);
        self.taken = match (used, declared) {
            (Some(used), declared) => Some(used.max(declared.unwrap_or(0))),
            (None, declared) => declared.filter(|_| all_declare),
        };
    }

    /// What stands in the way: first what is there, then what is promised.
    pub(super) fn obstacle(&self, need: &Need, accounts: bool) -> Option<Obstacle> {
        let class = need.class.as_deref()?;
        let busy = |rule| Some(Obstacle::Busy(rule));
        let room_for = |tenants: u32| u64::from(tenants) < self.most;
        if !room_for(self.tenants) {
            return busy(&rules::COLOCATION_LIMIT);
        }
        let one_card = self.cards == 1;
        if self.incompatible && one_card {
            return busy(&rules::NEIGHBOUR_NOT_ALLOWED);
        }
        let wanted = class.memory.map_or(0, |memory| memory.0);
        if !self.has_memory(wanted, 0) {
            return busy(&rules::NO_FREE_VRAM);
        }
        let promised = !room_for(self.tenants + self.promised)
            || (self.promised_incompatible && one_card)
            || !self.has_memory(wanted, self.promised_memory)
            || (self.unknown && accounts);
        promised.then_some(Obstacle::Busy(&rules::ROOM_PROMISED))
    }

    fn has_memory(&self, wanted: u64, promised: u64) -> bool {
        let Some(all) = self.memory.filter(|_| wanted > 0) else { return true };
        let taken = self.taken.unwrap_or(0).max(self.declared) + promised;
        let on_a_card = self.largest_free.is_none_or(|largest| wanted <= largest);
        on_a_card && wanted <= all.saturating_sub(taken)
    }
}

fn is_gone(ask: &Ask<'_>, need: &Need, tenant: &Arc<Tenant>) -> bool {
    let own = need.own.as_ref();
    own.is_some_and(|(namespace, name)| *tenant.namespace == **namespace && *tenant.name == **name)
        || ask.gone.contains(&tenant.uid)
}

/// Whether both classes accept each other; who has no class minds nobody.
fn may_sit_together(class: Option<&Class>, name: Option<&str>, other: Option<&Class>) -> bool {
    let (Some(class), Some(name)) = (class, name) else { return true };
    let allows =
        |class: &Class, name: &str| class.sharing.with.as_ref().is_none_or(|with| with.contains(name));
    allows(class, name) && other.is_none_or(|other| allows(other, &class.name))
}

/// Whether the two disturb each other as far as policies tell: they do not accept each other, or one of them
/// works through a queue while the other has somebody waiting for each answer.
fn disturbs(class: Option<&Class>, name: Option<&str>, other: Option<&Class>) -> bool {
    let differs = class.zip(other).is_some_and(|(class, other)| class.runs_to_end != other.runs_to_end);
    differs || !may_sit_together(class, name, other)
}
