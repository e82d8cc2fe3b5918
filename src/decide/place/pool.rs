//! One pool against one Pod: what it would give it, or why it cannot.

use std::{collections::BTreeMap, sync::Arc};

use crate::{
    cluster::Shape,
    gpu::{Isolation, Mode, resource::GpuResource},
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{Pod, Taint},
        taints,
    },
    policy::Class,
    rules::{Skipped, offers},
    subject::demand,
    world::{
        LivePool, Standing,
        taints::{guards_gpus, is_passing},
    },
};

/// The whole-GPU name that a rewrite may start from.
const WHOLE: &str = "nvidia.com/gpu";

/// What is asked of each pool.
#[derive(Clone, Copy)]
pub(super) struct Ask<'a> {
    pub class: &'a Class,
    pub pod: &'a Pod,
    /// Units of each GPU resource that the Pod needs at once.
    pub units: &'a BTreeMap<String, i64>,
    /// DeviceClasses that its claims name.
    pub claimed: &'a [String],
    /// The author's selector and affinity.
    pub required: &'a RequiredNodeAffinity,
    /// Shapes that meet them.
    pub matched: &'a [&'a Arc<Shape>],
    pub rewriting: bool,
    /// How well a pool has to be known.
    pub known: Known,
}

/// How well a pool has to be known to be a candidate: each step is taken only where the one before finds none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Known {
    /// Its evidence proves the mode.
    Proven,
    /// Its MIG layout is not in place yet; the Pod waits.
    Coming,
    /// Nobody proves the mode and nobody denies it. Never enough for MIG.
    Seeming,
}

/// What a pool gives.
pub(super) struct Offer {
    pub resource: String,
    pub rewritten: bool,
}

/// Why a pool cannot serve.
pub(super) struct Refusal {
    pub rule: &'static str,
    pub reason: String,
}

impl Refusal {
    pub(super) fn of(self, live: &LivePool, rank: usize) -> Skipped {
        Skipped {
            what: format!("pool {}", live.pool.name),
            rule: self.rule,
            reason: self.reason,
            rank: Some(rank),
        }
    }
}

/// Whether a mode that gives `has` is enough for who needs `needs`.
pub(super) fn isolates(has: Isolation, needs: Isolation) -> bool {
    (has.memory || !needs.memory) && (has.fault || !needs.fault)
}

/// What the pool would give the Pod; conditions in the order in which a person would ask them.
pub(super) fn accept(live: &LivePool, ask: &Ask<'_>) -> Result<Offer, Refusal> {
    let refuse = |rule, reason| Err(Refusal { rule, reason });
    let usable = standing(live, ask.known)?;
    let needs = ask.class.isolation;
    if !isolates(live.pool.mode.isolation(), needs) {
        return refuse("isolation-insufficient", isolation_in_words(live.pool.mode, needs));
    }
    if let (Some(least), Some(memory)) = (ask.class.memory, live.memory)
        && memory < least
    {
        let reason = format!("its units have {memory}, class {} needs {least}", ask.class.name);
        return refuse("memory-insufficient", reason);
    }
    let offer = resource(live, ask)?;
    if usable.is_empty() && live.declared_labels_match(ask.required) {
        return large_enough(live, ask, offer);
    }
    let chosen: Vec<&Arc<Shape>> =
        usable.iter().filter(|shape| ask.matched.iter().any(|m| Arc::ptr_eq(m, shape))).copied().collect();
    if chosen.is_empty() {
        let whose = if usable.is_empty() { "no node that it may get" } else { "none of its nodes" };
        let reason = format!("{whose} meets the Pod's own selector and affinity");
        return refuse("selector-matches-no-node", reason);
    }
    if let Some(taint) = reserved(live, &chosen, ask.pod) {
        let reason = format!("reserved by taint {}={}:{}", taint.key, taint.value, taint.effect);
        return refuse("pool-reserved", reason);
    }
    let needed = needed_units(ask, &offer);
    let most = chosen.iter().map(|shape| offers::units(shape, &offer.resource)).max().unwrap_or(0);
    // DRA advertises no allocatable; its count is not known here and never asserted.
    if most > 0 && needed > most {
        let reason =
            format!("the Pod needs {needed} {} at once, its largest node has {most}", offer.resource);
        return refuse("no-node-large-enough", reason);
    }
    Ok(offer)
}

/// A pool without nodes grows by nodes of its own size, however many.
fn large_enough(live: &LivePool, ask: &Ask<'_>, offer: Offer) -> Result<Offer, Refusal> {
    let pool = &live.pool;
    let shares = if pool.mode.is_software_shared() { pool.replicas } else { Some(1) };
    let most = pool.cards_per_node.zip(shares).filter(|_| pool.mode != Mode::Mig);
    let most = most.map(|(cards, shares)| i64::from(cards).saturating_mul(i64::from(shares)));
    let needed = needed_units(ask, &offer);
    match most.filter(|most| needed > *most) {
        None => Ok(offer),
        Some(most) => Err(Refusal {
            rule: "no-node-large-enough",
            reason: format!("the Pod needs {needed} {} at once, its nodes will have {most}", offer.resource),
        }),
    }
}

/// The shapes that may be used; empty for a pool that an autoscaler can grow from nothing.
fn standing(live: &LivePool, known: Known) -> Result<Vec<&Arc<Shape>>, Refusal> {
    let usable: Vec<&Arc<Shape>> = live.usable_shapes().collect();
    if !usable.is_empty() {
        return Ok(usable);
    }
    let others: Vec<&Arc<Shape>> = match known {
        Known::Proven => Vec::new(),
        Known::Coming => live.coming_shapes().collect(),
        Known::Seeming => live.seeming_shapes().collect(),
    };
    if !others.is_empty() {
        return Ok(others);
    }
    let (rule, reason) = match &live.standing {
        Standing::Empty { autoscaled: true } => return Ok(Vec::new()),
        Standing::Empty { autoscaled: false } => ("mode-not-offered", "has no node".to_owned()),
        Standing::Contradicted(reasons) => ("evidence-contradicted", reasons.join("; ")),
        Standing::Unmet(reasons) => ("pool-requirement-unmet", reasons.join("; ")),
        Standing::Unproven(reasons) if live.pool.mode == Mode::Mig && hardware_has_none(live) => {
            ("mig-unsupported-hardware", reasons.join("; "))
        }
        Standing::Unproven(reasons) => ("pool-not-proven", reasons.join("; ")),
        Standing::Proven => ("pool-not-proven", "none of its nodes is usable now".to_owned()),
    };
    Err(Refusal { rule, reason })
}

fn hardware_has_none(live: &LivePool) -> bool {
    use crate::gpu::evidence::MigCapability;
    live.shapes.iter().all(|s| matches!(s.assessment.mig.capability, MigCapability::NotCapable(_)))
}

/// The name by which the Pod gets its units there.
fn resource(live: &LivePool, ask: &Ask<'_>) -> Result<Offer, Refusal> {
    let is_unit = |name: &&String| GpuResource::parse(name).is_none_or(|resource| resource.is_unit());
    let asked: Vec<&String> = ask.units.keys().filter(is_unit).collect();
    let offered = || live.resources.iter().cloned().collect::<Vec<_>>().join(", ");
    match asked.as_slice() {
        [] => claimed(live, ask),
        [one] if live.resources.contains(*one) => {
            several_shares(live, ask, one)?;
            Ok(Offer { resource: (*one).clone(), rewritten: false })
        }
        [one] if live.usable_shapes().any(|shape| offers::serves_by_class(shape, one)) => {
            Ok(Offer { resource: (*one).clone(), rewritten: false })
        }
        [one] if one.as_str() == WHOLE => rewritten(live, ask),
        [one] => {
            let mig = GpuResource::parse(one).is_some_and(|resource| resource.profile().is_some());
            let rule = if mig { "mig-profile-not-available" } else { "resource-not-in-pool" };
            Err(Refusal { rule, reason: format!("offers {}, the Pod asks for {one}", offered()) })
        }
        several => match several.iter().find(|name| !live.resources.contains(**name)) {
            None => Ok(Offer { resource: several[0].clone(), rewritten: false }),
            Some(name) => Err(Refusal {
                rule: "resource-not-in-pool",
                reason: format!("offers {}, the Pod asks for {name} too", offered()),
            }),
        },
    }
}

/// A Pod that asks by claim alone goes to pools whose devices come by DRA.
fn claimed(live: &LivePool, ask: &Ask<'_>) -> Result<Offer, Refusal> {
    let own = live.pool.device_class.as_ref();
    match own.filter(|own| ask.claimed.contains(*own)) {
        Some(own) => Ok(Offer { resource: own.clone(), rewritten: false }),
        None if live.shapes.iter().any(|shape| shape.assessment.dra) => {
            Ok(Offer { resource: ask.claimed.first().cloned().unwrap_or_default(), rewritten: false })
        }
        None => Err(Refusal {
            rule: "resource-not-in-pool",
            reason: "the Pod asks by resource claim, the pool's cards come from the device plugin".to_owned(),
        }),
    }
}

fn rewritten(live: &LivePool, ask: &Ask<'_>) -> Result<Offer, Refusal> {
    let offered = live.resources.iter().cloned().collect::<Vec<_>>().join(", ");
    let refuse = |reason| Err(Refusal { rule: "resource-not-in-pool", reason });
    let Some(target) = target(live, ask.class) else {
        return refuse(format!("offers {offered}, the Pod asks for {WHOLE}"));
    };
    if !ask.class.rewrite.resource {
        return refuse(format!(
            "offers {offered}, the Pod asks for {WHOLE}, and class {} does not allow a rewrite",
            ask.class.name
        ));
    }
    if !ask.rewriting {
        return refuse(format!("offers {offered}, the Pod asks for {WHOLE}"));
    }
    let asks = demand::asks(&ask.pod.spec);
    let qualifies = |a: &&demand::Ask<'_>| GpuResource::parse(a.resource).is_some_and(|name| !name.is_unit());
    if let Some(amount) = asks.iter().find(qualifies) {
        return refuse(format!(
            "offers {offered}, and the Pod says by {} how much of a card it needs",
            amount.resource
        ));
    }
    if let Some(several) = asks.iter().find(|a| a.count().is_some_and(|n| n > 1)) {
        return refuse(format!(
            "container {} asks for {} cards; units of {target} are parts of a card and do not add up to cards",
            several.container.name,
            several.count().unwrap_or_default()
        ));
    }
    Ok(Offer { resource: target, rewritten: true })
}

/// What a whole card is rewritten to: the smallest unit that has the memory which the class needs; a unit
/// of unknown memory only where no need is stated.
fn target(live: &LivePool, class: &Class) -> Option<String> {
    let least = class.memory.unwrap_or_default();
    let mut units: Vec<_> = live
        .usable_shapes()
        .flat_map(|shape| &shape.assessment.units)
        .filter(|unit| live.resources.contains(&unit.resource))
        .filter(|unit| unit.memory.map_or(class.memory.is_none(), |memory| memory >= least))
        .collect();
    units.sort_by(|a, b| a.memory.cmp(&b.memory).then_with(|| a.resource.cmp(&b.resource)));
    let named = || live.resources.iter().next().filter(|_| live.shapes.is_empty()).cloned();
    units.first().map(|unit| unit.resource.clone()).or_else(named)
}

/// Several shares of a card in one container are no cards, and some device plugins fail such a container.
fn several_shares(live: &LivePool, ask: &Ask<'_>, resource: &str) -> Result<(), Refusal> {
    if !live.refuses_several_units() {
        return Ok(());
    }
    let asks = demand::asks(&ask.pod.spec);
    match asks.iter().find(|a| a.resource == resource && a.count().is_some_and(|n| n > 1)) {
        None => Ok(()),
        Some(several) => Err(Refusal {
            rule: "shared-request-gt-one",
            reason: format!(
                "container {} asks for {} units, which are shares of a card there ({})",
                several.container.name,
                several.count().unwrap_or_default(),
                live.pool.mode
            ),
        }),
    }
}

fn needed_units(ask: &Ask<'_>, offer: &Offer) -> i64 {
    let name = if offer.rewritten { WHOLE } else { offer.resource.as_str() };
    ask.units.get(name).copied().unwrap_or(0)
}

/// A taint of every chosen shape that is neither tolerated, declared, nor a guard of GPUs, nor passing.
fn reserved<'a>(live: &LivePool, chosen: &[&'a Arc<Shape>], pod: &Pod) -> Option<&'a Taint> {
    let declared = |taint: &Taint| live.declared && live.pool.taints.iter().any(|own| own.key == taint.key);
    let reserving = |shape: &&'a Arc<Shape>| {
        shape.taints.iter().find(|taint| {
            taints::repels(taint)
                && !is_passing(taint)
                && !guards_gpus(taint)
                && !declared(taint)
                && !taints::covers(&pod.spec.tolerations, taint, false)
        })
    };
    let found: Vec<Option<&Taint>> = chosen.iter().map(reserving).collect();
    found.iter().all(Option::is_some).then(|| found.into_iter().flatten().next()).flatten()
}

fn isolation_in_words(mode: Mode, needs: Isolation) -> String {
    let has = mode.isolation();
    let lacks = match (needs.memory && !has.memory, needs.fault && !has.fault) {
        (true, true) => "neither memory nor faults",
        (true, false) => "no memory",
        _ => "no faults",
    };
    format!("{mode} isolates {lacks}, which the class needs")
}
