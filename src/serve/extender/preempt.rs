//! Which Pods may go: the scheduler's victims on each node, less those that are spared. A node that cannot be
//! freed without a spared Pod is left out, and none is given with nobody to evict.

use std::{collections::BTreeMap, time::Instant as Clock};

use tokio::time::Instant;

use super::{
    Pace, pod_of,
    victims::{Questions, Victims},
};
use crate::{
    cluster::Tenant,
    decide::{Decision, Protection, decide, evict, violations},
    serve::gate::{Failure, Gate},
    subject::Subject,
    telemetry::{self, Endpoint, Spared, log::Asked},
    world::World,
};

pub(super) fn preempt(gate: &Gate, body: &[u8], deadline: Instant) -> Result<Vec<u8>, Failure> {
    let questions = Questions::parse(body)?;
    let subject = pod_of(questions.pod)?;
    let started = Clock::now();
    let world = gate.source.load();
    let decision = decide(&world, &subject);
    gate.telemetry.decided(Endpoint::Preempt, started.elapsed());
    let mut pace = Pace::until(deadline);
    let mut answer = BTreeMap::new();
    for (node, offered) in &questions.nodes {
        pace.next()?;
        if let Some(victims) = of_node(gate, &world, &subject, &decision, node, offered) {
            answer.insert(node.as_str(), victims);
        }
    }
    let asked = Asked { nodes: questions.nodes.len(), kept: answer.len(), ..Asked::default() };
    telemetry::log::asked(Endpoint::Preempt, &subject, &decision, &asked, started.elapsed());
    Ok(Victims::encode(&answer))
}

fn of_node(
    gate: &Gate,
    world: &World,
    subject: &Subject,
    decision: &Decision,
    node: &str,
    offered: &Victims,
) -> Option<Victims> {
    let uids: Vec<&str> = offered.uids.iter().map(String::as_str).collect();
    let eviction = evict(world, decision, node, &uids, subject.facts.now);
    let class = |tenant: &Tenant| tenant.class.as_deref().map(str::to_owned);
    for (tenant, why) in &eviction.spared {
        let why = match why {
            Protection::Class => Spared::Protected,
            Protection::Loading => Spared::Loading,
            Protection::Outranks => Spared::Outranks,
        };
        gate.telemetry.spared(class(tenant).as_deref(), why);
    }
    if eviction.victims.is_empty() {
        return None;
    }
    for victim in &eviction.victims {
        gate.telemetry.victim(world.cluster.tenant(victim).and_then(|tenant| class(tenant)).as_deref());
    }
    // The scheduler counted its own choice with a fresher picture.
    let counted = if eviction.changed { violations(world, &eviction.victims) } else { offered.violations };
    Some(Victims { uids: eviction.victims.iter().map(|uid| uid.to_string()).collect(), violations: counted })
}

#[cfg(test)]
mod tests;
