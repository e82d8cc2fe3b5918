//! Where may it go: the class's terms in order of preference against the live pools, with a reason for every
//! pool that is passed over.

mod pool;

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    cluster::{
        Kind, Shape,
        matching::{self, Match},
    },
    gpu::Mode,
    k8s::{affinity::RequiredNodeAffinity, object::Pod},
    policy::{Class, Fallback, PoolTerm, Properties},
    rules::{Candidate, Placement, Skipped, offers},
    subject::{demand, relevant},
    world::{LivePool, World, hands_out_gpus, taints::is_passing},
};

use pool::{Ask, Known, Refusal};

/// A Pod's placement and what it needs for it.
pub(super) struct Placed {
    /// What the rules see.
    pub placement: Placement,
    /// The GPU resource to which the Pod's asks are rewritten, where they are.
    pub rewrite: Option<String>,
}

/// Looks for pools. `rewriting`: whether the Pod may still be changed; if not, only what it asks for counts.
pub(super) fn place(
    world: &World,
    class: Option<&Arc<Class>>,
    pod: &Pod,
    namespace: &str,
    rewriting: bool,
) -> Placed {
    let units = demand::units(&pod.spec);
    let claimed = world.claimed_device_classes(namespace, pod);
    // A claim that the picture does not show may be a network card; nobody names a class for one of those.
    let asks_gpu = demand::asks(&pod.spec).iter().any(|ask| !ask.is_zero())
        || claimed.iter().any(|name| hands_out_gpus(world, name))
        || class.is_some() && claimed.is_empty() && !pod.spec.resource_claims.is_empty();
    let mut placement = Placement { asks_gpu, ..Placement::default() };
    if !world.cluster.is_synced(Kind::Node) {
        return Placed { placement, rewrite: None };
    }
    let required = RequiredNodeAffinity::of(&pod.spec);
    let matched = matching::matching_shapes(&world.cluster, &required);
    note_choice(world, &required, &matched, &mut placement);
    placement.only_gpu_nodes = relevant::chooses_nodes(&pod.spec) && are_gpu_nodes(&matched);
    // What no API server takes has no place; rules say what is wrong with it.
    let readable = demand::asks(&pod.spec).iter().all(|ask| ask.count().is_some());
    let Some(class) = class.filter(|_| asks_gpu && readable) else {
        return Placed { placement, rewrite: None };
    };
    let matched: Vec<&Arc<Shape>> = matched.iter().map(|matched| matched.shape).collect();
    let ask = Ask {
        class,
        pod,
        units: &units,
        claimed: &claimed,
        required: &required,
        matched: &matched,
        rewriting,
        known: Known::Proven,
    };
    let mut rewrite = walk(world, class, &ask, &mut placement);
    for known in [Known::Coming, Known::Seeming] {
        if placement.candidates.is_empty() {
            let mut later = Placement::default();
            rewrite = walk(world, class, &Ask { known, ..ask }, &mut later);
            placement.candidates = later.candidates;
        }
    }
    placement.steered = !placement.candidates.is_empty();
    Placed { placement, rewrite }
}

/// The live pools that a term of a class speaks of, whatever a Pod asks for.
pub fn pools_of<'a>(world: &'a World, term: &'a PoolTerm) -> impl Iterator<Item = &'a LivePool> {
    world.pools.iter().filter(move |pool| matches_term(term, pool))
}

/// Whether a Pod's selector and affinity choose nodes, and only nodes with GPUs.
pub(super) fn only_gpu_nodes(world: &World, pod: &Pod) -> bool {
    if !relevant::chooses_nodes(&pod.spec) || !world.cluster.is_synced(Kind::Node) {
        return false;
    }
    are_gpu_nodes(&matching::matching_shapes(&world.cluster, &RequiredNodeAffinity::of(&pod.spec)))
}

fn are_gpu_nodes(matched: &[Match<'_>]) -> bool {
    !matched.is_empty() && matched.iter().all(|matched| matched.shape.has_gpu())
}

/// Walks the class's terms. The first pool that will do decides the resource name; later ones stay
/// candidates where they offer the same name, so that the scheduler binds late.
fn walk(world: &World, class: &Class, ask: &Ask<'_>, placement: &mut Placement) -> Option<String> {
    let mut rewrite: Option<String> = None;
    let mut seen: BTreeMap<Arc<str>, ()> = BTreeMap::new();
    let last = class.terms.len();
    let fallback =
        (class.fallback == Fallback::AnyCompatible).then(|| PoolTerm::Properties(Properties::default()));
    for (rank, term) in class.terms.iter().chain(&fallback).enumerate() {
        if rank == last && !placement.candidates.is_empty() {
            break;
        }
        let pools: Vec<&LivePool> = pools_of(world, term).collect();
        if pools.is_empty() && rank < last {
            placement.skipped.push(absent(world, term, rank));
        }
        for live in pools {
            if seen.insert(live.pool.name.clone(), ()).is_some() {
                continue;
            }
            consider(live, rank, ask, placement, &mut rewrite);
        }
    }
    rewrite
}

fn consider(
    live: &LivePool,
    rank: usize,
    ask: &Ask<'_>,
    placement: &mut Placement,
    rewrite: &mut Option<String>,
) {
    match pool::accept(live, ask) {
        Ok(offer) => {
            let settled = placement.candidates.first().map(|first| first.resource.clone());
            if settled.as_ref().is_some_and(|resource| *resource != offer.resource) {
                let reason = format!(
                    "offers {}, and the preferred pool {}",
                    offer.resource,
                    settled.unwrap_or_default()
                );
                let skipped = Refusal { rule: "resource-not-in-pool", reason };
                placement.skipped.push(skipped.of(live, rank));
                return;
            }
            if offer.rewritten {
                *rewrite = Some(offer.resource.clone());
            }
            let pool = live.pool.name.clone();
            placement.candidates.push(Candidate { pool, rank, resource: offer.resource });
        }
        Err(refusal) => placement.skipped.push(refusal.of(live, rank)),
    }
}

fn matches_term(term: &PoolTerm, live: &LivePool) -> bool {
    match term {
        PoolTerm::Named(name) => live.pool.name == *name,
        PoolTerm::Properties(wanted) => {
            wanted.mode.is_none_or(|mode| live.pool.mode == mode)
                && (wanted.models.is_empty() || wanted.models.iter().any(|model| live.is_model(model)))
                && wanted.memory.is_none_or(|least| live.memory.is_some_and(|memory| memory >= least))
                && pool::isolates(live.pool.mode.isolation(), wanted.isolation)
        }
    }
}

/// A term that no live pool meets, in the inventory's own words.
fn absent(world: &World, term: &PoolTerm, rank: usize) -> Skipped {
    let (what, rule, reason) = match term {
        PoolTerm::Named(name) => (format!("pool {name}"), "mode-not-offered", "has no node".to_owned()),
        PoolTerm::Properties(wanted) => {
            let mig = wanted.mode == Some(Mode::Mig);
            let (rule, reason) = if mig && offers::no_hardware_has_mig(world) {
                ("mig-unsupported-hardware", offers::mig_inventory(world))
            } else if mig {
                ("mode-not-offered", format!("no pool offers it: {}", offers::mig_inventory(world)))
            } else {
                ("mode-not-offered", format!("no pool offers it, only {}", offers::modes_in_words(world)))
            };
            (wanted.to_string(), rule, reason)
        }
    };
    Skipped { what, rule, reason, rank: Some(rank) }
}

/// What the author's own selector and affinity choose.
fn note_choice(
    world: &World,
    required: &RequiredNodeAffinity,
    matched: &[Match<'_>],
    placement: &mut Placement,
) {
    placement.any_node_matches = !matched.is_empty();
    placement.gpu_node_matches = matched.iter().any(|matched| matched.shape.has_gpu());
    placement.starting_node_matches = matched.iter().any(|m| m.shape.taints.iter().any(is_passing));
    if required.is_unrestricted() {
        return;
    }
    let all = world.cluster.shapes().filter(|shape| shape.has_gpu()).count();
    let gpu: Vec<Arc<Shape>> =
        matched.iter().map(|matched| matched.shape).filter(|shape| shape.has_gpu()).cloned().collect();
    // A choice that leaves every GPU node in says nothing about pools.
    if gpu.len() < all || all == 1 {
        placement.selected = gpu;
    }
    placement.declared_match =
        world.pools.iter().any(|live| live.is_empty() && live.declared_labels_match(required));
}
