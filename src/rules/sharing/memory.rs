//! `vram-overcommit`: engines that claim more of a shared card than their share.

use crate::{
    gpu::Mode,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::{
        demand,
        engine::{Arguments, MemoryShare},
    },
    world::LivePool,
};

/// `vram-overcommit`
pub static VRAM_OVERCOMMIT: Rule = Rule {
    id: "vram-overcommit",
    family: Family::Sharing,
    summary: "an engine on a time-sliced card takes at most its share of the memory",
    why: "Time-slicing isolates no memory, and engines take a fraction of the whole card when they start: the second one fails to start, or the first one dies. Under MPS and MIG the fraction is of the tenant's own part.",
    remedy: "Tell the engine a fraction of at most 1 divided by the tenants of a card, less some room.",
    severity: Severity::Deny,
    severity_because: "a stated fraction above one half leaves no room for any other tenant of its kind; less certain sums only warn",
    applies: Applies::Pods,
    needs: &[],
    sources: &[
        "NVIDIA device plugin README: time-slicing has no memory isolation",
        "vLLM: --gpu-memory-utilization",
    ],
    check: Check::Case(check),
};

/// Left to CUDA contexts and fragmentation.
const ROOM: f64 = 0.05;

// Long because the numbers that the finding tells are all computed from the same ask.
fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        findings.under(&pod.prefix);
        for ask in demand::asks(&pod.pod.spec).iter().filter(|ask| ask.count().is_some_and(|n| n > 0)) {
            let Some(share) = Arguments::of(ask.container).memory_share() else { continue };
            let pools: Vec<&LivePool> = offers::reachable(case.world, &pod.placement, ask.resource).collect();
            // A pool that shares nothing is a way out, and placement leads there.
            if pools.is_empty() || pools.iter().any(|live| live.pool.mode != Mode::TimeSlicing) {
                continue;
            }
            let Some((live, tenants)) =
                pools.iter().filter_map(|live| Some((*live, tenants(live, pod)?))).min_by_key(|(_, n)| *n)
            else {
                continue;
            };
            let most = 1.0 / f64::from(tenants);
            if tenants < 2 || share.part <= most {
                continue;
            }
            let finding = findings.add(
                rule,
                format!("{}.args", ask.path),
                format!(
                    "{} of the card{}, on pool {} with {tenants} tenants a card",
                    share.part,
                    by(&share),
                    live.pool.name
                ),
                format!("at most {}", rounded(most)),
                format!(
                    "set {} to {}",
                    share.said_by.unwrap_or("the engine's memory fraction"),
                    rounded(most - ROOM)
                ),
            );
            finding.in_container(&ask.container.name);
            // A default is not known exactly, and smaller fractions collide only once the card is full.
            if share.said_by.is_none() || share.part * 2.0 <= 1.0 {
                finding.at_most(Severity::Warn);
            }
        }
    }
}

/// Tenants that one card of the pool may have.
fn tenants(live: &LivePool, pod: &PodCase<'_>) -> Option<u32> {
    let seen = live.shapes.iter().filter_map(|shape| shape.assessment.replicas).max();
    let replicas = seen.or(live.pool.replicas)?;
    let most = pod.class.as_ref().and_then(|class| class.sharing.max_tenants);
    Some(most.map_or(replicas, |most| replicas.min(most)))
}

fn by(share: &MemoryShare) -> String {
    share.said_by.map_or_else(|| " (the engine's default)".to_owned(), |flag| format!(" ({flag})"))
}

fn rounded(part: f64) -> String {
    format!("{:.2}", (part * 100.0).floor().max(1.0) / 100.0)
}
