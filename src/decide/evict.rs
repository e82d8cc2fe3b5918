//! Which Pods of a node may go for another one: the scheduler's victims, less those that are spared, and
//! others in their place where that frees the node too.
//!
//! Nobody is evicted here, and no node is given that stays too full: the scheduler takes an empty list of
//! victims for an error (up to 1.37) or for nothing (from 1.38).

use std::{cmp::Reverse, sync::Arc};

use super::{Ask, Decision, Reach};
use crate::{
    cluster::{Phase, Tenant},
    k8s::labels::Selector,
    policy::Class,
    rules::Fit,
    world::World,
};

/// What preemption may have on one node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Eviction {
    /// UIDs of the Pods that may go; empty where the node is to be left out.
    pub victims: Vec<Arc<str>>,
    /// Whether they are other ones than those that were offered.
    pub changed: bool,
    /// Those of the offered ones that are spared, and why.
    pub spared: Vec<(Arc<Tenant>, Protection)>,
}

/// Why a Pod is no victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protection {
    /// Its class is protected, whatever its disruption budget says.
    Class,
    /// It is Running, not Ready, and within its class's startup budget.
    Loading,
    /// The PriorityClass of its class is above that of the class that asks, whatever the Pods' own say.
    Outranks,
}

/// What may go on `node` for the Pod of a decision, of the Pods with the `offered` UIDs and at `now` (Unix
/// seconds). With no offer the node is short only of what we keep the account of.
#[must_use]
pub fn evict(world: &World, decision: &Decision, node: &str, offered: &[&str], now: i64) -> Eviction {
    let why_spared = |tenant: &Arc<Tenant>| protection(world, decision, tenant, now);
    let mut eviction = Eviction::default();
    let mut gone: Vec<Arc<str>> = Vec::with_capacity(offered.len());
    for uid in offered {
        // A Pod that asks for no GPU is not in the picture by its UID, and nothing protects it.
        match world.cluster.tenant(uid).and_then(|tenant| Some((tenant, why_spared(tenant)?))) {
            Some((tenant, why)) => eviction.spared.push((Arc::clone(tenant), why)),
            None => gone.push(Arc::from(*uid)),
        }
    }
    // What the scheduler freed is free; where we keep a Pod of its choice, we have to look ourselves.
    let reach = if eviction.spared.is_empty() { Reach::BeyondScheduler } else { Reach::Everything };
    let frees = |gone: &[Arc<str>]| {
        matches!(Ask::new(world, decision, reach).about_nodes_alone().without(gone).of(node), Fit::Yes(_))
    };
    let kept = gone.len();
    let mut others = others(world, decision, node, &gone, now);
    while !frees(&gone) {
        let Some(next) = others.pop() else { return Eviction { victims: Vec::new(), ..eviction } };
        gone.push(next);
    }
    // The last one was needed; of those before it perhaps not all were.
    let mut at = gone.len();
    while at > kept {
        at -= 1;
        let one = gone.remove(at);
        if !frees(&gone) {
            gone.insert(at, one);
        }
    }
    eviction.changed = gone.len() != offered.len() || !eviction.spared.is_empty();
    eviction.victims = gone;
    eviction
}

/// How many disruption budgets would not allow these Pods to go (`filterPodsWithPDBViolation`: each Pod takes
/// one of what its budgets allow).
#[must_use]
pub fn violations(world: &World, victims: &[Arc<str>]) -> i64 {
    let tenants: Vec<&Arc<Tenant>> = victims.iter().filter_map(|uid| world.cluster.tenant(uid)).collect();
    let violating = tenants.iter().enumerate().filter(|(at, tenant)| {
        world.cluster.budgets(&tenant.namespace).any(|budget| {
            let selector = budget.spec.selector.as_ref().and_then(|own| Selector::compile(own).ok());
            let Some(selector) = selector else { return false };
            let earlier = tenants
                .iter()
                .take(*at)
                .filter(|other| other.namespace == tenant.namespace && selector.matches(&other.labels));
            let allowed = budget.status.as_ref().map_or(0, |status| status.disruptions_allowed);
            let before = i64::try_from(earlier.count()).unwrap_or(i64::MAX);
            selector.matches(&tenant.labels) && allowed <= before
        })
    });
    i64::try_from(violating.count()).unwrap_or(i64::MAX)
}

/// Why a tenant is no victim of the Pod of a decision.
fn protection(world: &World, decision: &Decision, tenant: &Tenant, now: i64) -> Option<Protection> {
    let class = world.policies.class(tenant.class.as_deref()?)?;
    if class.disruption.protected {
        return Some(Protection::Class);
    }
    if is_loading(class, tenant, now) {
        return Some(Protection::Loading);
    }
    let value = |class: &Class| {
        let named = class.priority_class.as_deref()?;
        world.cluster.priority_class(named).map(|named| named.value)
    };
    let own = decision.need.as_ref().and_then(|need| need.class.as_deref());
    let outranks = value(class).zip(own.and_then(value)).is_some_and(|(theirs, own)| theirs > own);
    outranks.then_some(Protection::Outranks)
}

fn is_loading(class: &Class, tenant: &Tenant, now: i64) -> bool {
    let Some(budget) = class.startup_budget.and_then(|budget| i64::try_from(budget).ok()) else {
        return false;
    };
    let since = tenant.started.or(tenant.created);
    tenant.phase == Phase::Running
        && !tenant.ready
        && since.is_none_or(|since| now.saturating_sub(since) <= budget)
}

/// Other tenants of the node that may go: the dearest first, to be taken from the end. As in the scheduler, a
/// lower priority goes first, and of equal ones the youngest.
fn others(world: &World, decision: &Decision, node: &str, gone: &[Arc<str>], now: i64) -> Vec<Arc<str>> {
    let Some(priority) = decision.need.as_ref().map(|need| need.priority) else { return Vec::new() };
    let tenants = world.cluster.tenants_on(node).iter();
    let mut others: Vec<&Arc<Tenant>> = tenants
        .filter(|tenant| tenant.priority < priority && !tenant.deleting && !gone.contains(&tenant.uid))
        .filter(|tenant| protection(world, decision, tenant, now).is_none())
        .collect();
    others.sort_by_key(|tenant| (Reverse(tenant.priority), tenant.started, Arc::clone(&tenant.uid)));
    others.into_iter().map(|tenant| Arc::clone(&tenant.uid)).collect()
}

#[cfg(test)]
mod tests;
