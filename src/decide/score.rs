//! How well a node fits, part by part: [`Score`] from what all nodes of a shape share, and from who is there.

use std::sync::Arc;

use super::fit::{Company, Need};
use crate::{
    cluster::Node,
    gpu::Mode,
    rules::{Candidate, Score},
    world::{LivePool, World},
};

/// The parts that are equal for all nodes of a shape.
#[derive(Clone, Copy, Debug)]
pub(super) struct Standing {
    preference: u8,
    cost: u8,
    remnant: u8,
    /// Index of the candidate by which the Pod comes here.
    candidate: Option<usize>,
}

impl Standing {
    pub(super) fn of(world: &World, need: &Need, node: &Arc<Node>, pools: &[&LivePool]) -> Self {
        let is_of = |candidate: &Candidate| pools.iter().any(|live| live.pool.name == candidate.pool);
        let candidate = need.candidates.iter().position(is_of);
        let chosen = candidate.and_then(|index| need.candidates.get(index));
        let pool = chosen.and_then(|chosen| pools.iter().find(|live| live.pool.name == chosen.pool));
        Self {
            preference: preference(need, chosen),
            cost: pool.map_or(Score::NEUTRAL, |live| cost(world, need, live)),
            remnant: pool.zip(chosen).map_or(Score::NEUTRAL, |(live, chosen)| {
                remnant(world, need, node, live, chosen).unwrap_or(Score::NEUTRAL)
            }),
            candidate,
        }
    }
}

/// The score of a node that fits.
pub(super) fn score(
    world: &World,
    need: &Need,
    node: &Node,
    standing: Standing,
    company: Option<&Company>,
) -> Score {
    let candidate = standing.candidate.and_then(|index| need.candidates.get(index));
    let fullness = fullness(world, need, node, candidate);
    let spreads = need.class.as_ref().is_some_and(|class| class.spread);
    Score {
        preference: standing.preference,
        cost: standing.cost,
        company: company.map_or(Score::MOST, |company| {
            tenths(u64::from(company.cards.saturating_sub(company.disturbing)), u64::from(company.cards))
        }),
        remnant: standing.remnant,
        packing: if spreads { Score::MOST - fullness } else { fullness },
        free_memory: company.map_or(Score::NEUTRAL, free_memory),
    }
}

/// 10 for the best term that has a pool, one less for each further one.
fn preference(need: &Need, chosen: Option<&Candidate>) -> u8 {
    let Some(chosen) = chosen else { return Score::NO_PREFERENCE };
    let mut better: Vec<usize> = need.candidates.iter().map(|candidate| candidate.rank).collect();
    better.retain(|rank| *rank < chosen.rank);
    better.sort_unstable();
    better.dedup();
    Score::MOST.saturating_sub(u8::try_from(better.len()).unwrap_or(Score::MOST))
}

/// Against the cheapest of the candidates; only pools with a cost are compared.
fn cost(world: &World, need: &Need, live: &LivePool) -> u8 {
    let of = |candidate: &Candidate| world.pools.get(&candidate.pool)?.pool.cost;
    let cheapest = need.candidates.iter().filter_map(of).min_by(f64::total_cmp);
    let (Some(own), Some(cheapest)) = (live.pool.cost, cheapest) else { return Score::NEUTRAL };
    if own <= cheapest {
        return Score::MOST;
    }
    // Both are finite and own is the larger one, so the quotient lies between 0 and 1.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "between 0 and 10")]
    let part = (f64::from(Score::MOST) * (cheapest / own).clamp(0.0, 1.0)) as u8;
    part
}

/// Of a slice: the part that the class needs, or that the smallest slice it could have has.
fn remnant(world: &World, need: &Need, node: &Node, live: &LivePool, chosen: &Candidate) -> Option<u8> {
    if live.pool.mode != Mode::Mig {
        return None;
    }
    let smallest = || {
        let pools = need.candidates.iter().filter_map(|candidate| world.pools.get(&candidate.pool));
        pools.filter(|live| live.pool.mode == Mode::Mig).filter_map(|live| live.memory).min()
    };
    let wanted = need.class.as_ref().and_then(|class| class.memory).or_else(smallest)?;
    let mut units = node.shape.assessment.units.iter();
    let slice = units.find(|unit| unit.resource == chosen.resource)?.memory?;
    Some(tenths(wanted.0, slice.0))
}

/// Tenths of the node's units that are taken; of its cards' tenants where the class bounds those.
fn fullness(world: &World, need: &Need, node: &Node, candidate: Option<&Candidate>) -> u8 {
    let tenants = i64::try_from(world.cluster.tenants_on(&node.name).len()).unwrap_or(i64::MAX);
    let resource = candidate.map_or("", |candidate| &candidate.resource);
    let units = node.allocatable(resource).value();
    let (taken, all) = if units > 0 {
        (world.cluster.load(&node.name).requested(resource).value(), units)
    } else {
        (tenants, 10)
    };
    let cards = i64::from(node.shape.assessment.cards.unwrap_or(1).max(1));
    let most = need.class.as_ref().and_then(|class| class.sharing.max_tenants);
    let all = most.map_or(all, |most| all.min(i64::from(most).saturating_mul(cards))).max(1);
    u8::try_from(taken.clamp(0, all).saturating_mul(10) / all).unwrap_or(10)
}

fn free_memory(company: &Company) -> u8 {
    match (company.memory, company.taken) {
        (Some(all), Some(taken)) => tenths(all.saturating_sub(taken), all),
        _ => Score::NEUTRAL,
    }
}

/// 0 to 10, rounded down.
fn tenths(part: u64, whole: u64) -> u8 {
    let part = part.min(whole).saturating_mul(10).checked_div(whole).unwrap_or(0);
    u8::try_from(part).unwrap_or(Score::MOST)
}
