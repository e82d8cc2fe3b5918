//! `vram-overcommit`: engines that claim more of a card than they can have: more than their share of a
//! time-sliced one, or more than one unit has at all.

use crate::{
    gpu::{Mebibytes, Mode},
    k8s::quantity::Quantity,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::{
        demand::{self, Ask},
        engine::{Arguments, MemoryShare, Taken},
    },
    world::LivePool,
};

/// Annotation by which a Pod states the GPU memory that each of its units needs, as a quantity: `12Gi`. It goes
/// before what its engine is told.
pub const GPU_MEMORY: &str = "sluice.dev/gpu-memory";

/// `vram-overcommit`
pub static VRAM_OVERCOMMIT: Rule = Rule {
    id: "vram-overcommit",
    family: Family::Sharing,
    summary: "an engine takes at most its share of a time-sliced card's memory, and no more than a unit has",
    why: "Time-slicing isolates no memory, and engines take a fraction of the whole card when they start: the second one fails to start, or the first one dies. Under MPS and MIG the fraction is of the tenant's own part, and only an amount can be too large.",
    remedy: "Tell the engine a fraction of at most 1 divided by the tenants of a card, less some room; or use a larger unit.",
    severity: Severity::Deny,
    severity_because: "a stated fraction above one half leaves no room for any other tenant of its kind, and an amount above what the unit has fits nowhere; less certain sums only warn",
    applies: Applies::Pods,
    needs: &[],
    sources: &[
        "NVIDIA device plugin README: time-slicing has no memory isolation",
        "vLLM: --gpu-memory-utilization (0 to 1), --kv-cache-memory-bytes",
    ],
    check: Check::Case(check),
};

/// Left to CUDA contexts and fragmentation.
const ROOM: f64 = 0.05;

/// Fractions of which the engine refuses more than 1. (LMDeploy and TGI read other things into larger numbers.)
const AT_MOST_ALL: [&str; 2] = ["--gpu-memory-utilization", "--mem-fraction-static"];

/// What a container claims of the memory of its unit.
struct Claim<'a> {
    ask: &'a Ask<'a>,
    share: MemoryShare,
    /// Field that says so.
    path: String,
}

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        findings.under(&pod.prefix);
        for ask in demand::asks(&pod.pod.spec).iter().filter(|ask| ask.count().is_some_and(|n| n > 0)) {
            let Some(claim) = claim(pod, ask) else { continue };
            let pools: Vec<&LivePool> = offers::reachable(case.world, &pod.placement, ask.resource).collect();
            let said = no_part(&claim, rule, findings) || too_large(&claim, &pools, rule, findings);
            if !said {
                over_share(pod, &claim, &pools, rule, findings);
            }
        }
    }
}

/// What the Pod declares, else what its engine is told, else the engine's default.
fn claim<'a>(pod: &PodCase<'_>, ask: &'a Ask<'a>) -> Option<Claim<'a>> {
    if let Some(declared) = pod.pod.metadata.annotations.get(GPU_MEMORY) {
        let amount: Quantity = declared.parse().ok().filter(|amount: &Quantity| amount.is_positive())?;
        let taken = Taken::Mebibytes(u64::try_from(amount.value()).ok()? >> 20);
        let path = format!("metadata.annotations[{GPU_MEMORY}]");
        return Some(Claim { ask, share: MemoryShare { taken, said_by: Some(GPU_MEMORY) }, path });
    }
    let share = Arguments::of(ask.container).memory_share()?;
    let field = match share.said_by {
        Some(by) if !by.starts_with('-') => "env",
        _ if ask.container.args.is_empty() && !ask.container.command.is_empty() => "command",
        _ => "args",
    };
    let path = format!("{}.{field}", ask.path);
    Some(Claim { ask, share, path })
}

/// A fraction that is no part of a card: the engine refuses to start, on any card.
fn no_part(claim: &Claim<'_>, rule: &'static Rule, findings: &mut Findings) -> bool {
    let Some(by) = claim.share.said_by.filter(|by| AT_MOST_ALL.contains(by)) else { return false };
    let Taken::Part(part) = claim.share.taken else { return false };
    if part <= 1.0 {
        return false;
    }
    let remedy = format!("set {by} to a part of the card, such as {}", rounded((part / 100.0).min(0.9)));
    findings
        .add(rule, &claim.path, format!("{part} of the card ({by})"), "at most 1, all of it", remedy)
        .in_container(&claim.ask.container.name);
    true
}

/// An amount that no unit has, wherever the Pod may go.
fn too_large(claim: &Claim<'_>, pools: &[&LivePool], rule: &'static Rule, findings: &mut Findings) -> bool {
    let Taken::Mebibytes(amount) = claim.share.taken else { return false };
    let largest: Option<Vec<Mebibytes>> = pools.iter().map(|live| live.largest_memory()).collect();
    let Some(most) = largest.and_then(|all| all.into_iter().max()).filter(|most| most.0 < amount) else {
        return false;
    };
    findings
        .add(
            rule,
            &claim.path,
            format!("{} for one {}{}", Mebibytes(amount), claim.ask.resource, by(&claim.share)),
            format!("at most {most}, what the largest unit that it may get has"),
            "ask for less, or for a larger card or slice; `sluice pools` shows what each pool has",
        )
        .in_container(&claim.ask.container.name);
    true
}

/// More than its share of a card that others are to use too.
fn over_share(
    pod: &PodCase<'_>,
    claim: &Claim<'_>,
    pools: &[&LivePool],
    rule: &'static Rule,
    findings: &mut Findings,
) {
    // A pool that shares nothing is a way out, and placement leads there.
    if pools.is_empty() || pools.iter().any(|live| live.pool.mode != Mode::TimeSlicing) {
        return;
    }
    let Some((live, tenants)) =
        pools.iter().filter_map(|live| Some((*live, tenants(live, pod)?))).min_by_key(|(_, n)| *n)
    else {
        return;
    };
    let most = 1.0 / f64::from(tenants);
    let Some(part) = part_of(claim.share.taken, live).filter(|part| tenants > 1 && *part > most) else {
        return;
    };
    let (is, should, remedy) = match (claim.share.taken, live.memory) {
        (Taken::Mebibytes(amount), Some(memory)) => {
            let share = Mebibytes(memory.0 / u64::from(tenants));
            let is = format!("{} of a card of {memory}", Mebibytes(amount));
            (is, format!("at most {share}"), "ask for a card that fewer share, or for less".to_owned())
        }
        _ => (
            format!("{part} of the card"),
            format!("at most {}", rounded(most)),
            format!(
                "set {} to {}",
                claim.share.said_by.unwrap_or("the engine's memory fraction"),
                rounded(most - ROOM)
            ),
        ),
    };
    let is = format!("{is}{}, on pool {} with {tenants} tenants a card", by(&claim.share), live.pool.name);
    let finding = findings.add(rule, &claim.path, is, should, remedy);
    finding.in_container(&claim.ask.container.name);
    // A default is not known exactly, and smaller fractions collide only once the card is full.
    if claim.share.said_by.is_none() || part * 2.0 <= 1.0 {
        finding.at_most(Severity::Warn);
    }
}

fn part_of(taken: Taken, live: &LivePool) -> Option<f64> {
    match taken {
        Taken::Part(part) => Some(part),
        Taken::Mebibytes(amount) => {
            let whole = live.memory.filter(|memory| memory.0 > 0)?;
            // Memory of a card in MiB is far below 2^52: both are exact as floats.
            #[allow(clippy::cast_precision_loss, reason = "far below 2^52")]
            Some(amount as f64 / whole.0 as f64)
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
