//! `WorkloadClass`.

use std::sync::Arc;

use super::{Known, Place, cel, check_name, check_patterns, selectors, units};
use crate::{
    gpu,
    policy::{
        error::Faults,
        raw::{self, WorkloadClassSpec},
        set::{Class, Disruption, Fallback, PoolTerm, Properties, Recognizer, Rewrite, Sharing},
    },
};

/// Compiles a class. Its fallback to another class is followed later, when all are known.
pub fn compile(
    raw: &raw::WorkloadClass,
    known: &Known<'_>,
    place: Place<'_>,
    faults: &mut Faults<'_>,
) -> Class {
    let (spec, place) = (&raw.spec, place.key("spec"));
    priority(spec, known, place.key("priority"), faults);
    let rewrite = place.key("rewrite");
    Class {
        name: Arc::from(raw.metadata.name.as_str()),
        recognition: recognizers(&spec.recognize, place.key("recognize"), faults),
        hints: recognizers(&spec.hints, place.key("hints"), faults),
        isolation: isolation(spec.isolation),
        memory: units::memory(spec.memory.as_ref(), place.key("memory"), faults),
        terms: terms(spec, known, place.key("pools"), faults),
        fallback: spec.fallback.otherwise.unwrap_or(Fallback::Refuse),
        priority_class: spec.priority.class_name.clone(),
        allowed_priority_classes: spec.priority.allowed.iter().cloned().collect(),
        must_preempt: spec.priority.must_preempt,
        sharing: sharing(&spec.sharing, known, place.key("sharing"), faults),
        startup_budget: units::seconds(
            spec.startup.budget.as_ref(),
            place.key("startup").key("budget"),
            faults,
        ),
        add_startup_probe: spec.startup.add_probe,
        runs_to_end: spec.runs_to_end,
        disruption: disruption(&spec.disruption, place.key("disruption"), faults),
        rewrite: Rewrite { resource: spec.rewrite.resource },
        shm_size: units::bytes(spec.rewrite.shm_size.as_ref(), rewrite.key("shmSize"), faults),
        hide_devices: spec.rewrite.hide_devices,
        spread: spec.placement == raw::Placement::Spread,
    }
}

fn isolation(raw: raw::Isolation) -> gpu::Isolation {
    gpu::Isolation { memory: raw.memory, fault: raw.fault }
}

fn recognizers(raw: &[raw::Recognizer], place: Place<'_>, faults: &mut Faults<'_>) -> Vec<Recognizer> {
    raw.iter().enumerate().flat_map(|(index, raw)| recognizer(raw, place.item(index), faults)).collect()
}

fn recognizer(raw: &raw::Recognizer, place: Place<'_>, faults: &mut Faults<'_>) -> Vec<Recognizer> {
    if *raw == raw::Recognizer::default() {
        faults.push(place.at(), "empty recognizer".to_owned(), "it would recognise nothing", None);
    }
    let mut found = Vec::new();
    if let Some(source) = &raw.cel {
        found.extend(cel::compile(source, place.key("cel"), faults).map(Recognizer::Cel));
    }
    found.extend(selectors::labels(raw.labels.as_ref(), place.key("labels"), faults).map(Recognizer::Labels));
    for (key, patterns) in [
        ("arguments", &raw.arguments),
        ("programs", &raw.programs),
        ("images", &raw.images),
        ("owners", &raw.owners),
    ] {
        check_patterns(patterns, place.key(key), faults);
    }
    let lists = [
        Recognizer::Arguments(raw.arguments.clone()),
        Recognizer::Program(raw.programs.clone()),
        Recognizer::Image(raw.images.clone()),
        Recognizer::Owner(raw.owners.clone()),
    ];
    found.extend(lists.into_iter().filter(|list| !list.is_empty()));
    found
}

fn terms(
    spec: &WorkloadClassSpec,
    known: &Known<'_>,
    place: Place<'_>,
    faults: &mut Faults<'_>,
) -> Vec<PoolTerm> {
    let open = spec.fallback.class.is_some() || spec.fallback.otherwise == Some(Fallback::AnyCompatible);
    if spec.pools.is_empty() && !open {
        let why = "the class could run nowhere: name pools, or set fallback.otherwise to any-compatible";
        faults.push(place.at(), "no pools".to_owned(), why, None);
    }
    let needed = isolation(spec.isolation);
    spec.pools
        .iter()
        .enumerate()
        .map(|(index, raw)| term(raw, needed, known, place.item(index), faults))
        .collect()
}

fn term(
    raw: &raw::PoolTerm,
    needed: gpu::Isolation,
    known: &Known<'_>,
    place: Place<'_>,
    faults: &mut Faults<'_>,
) -> PoolTerm {
    let properties = Properties {
        mode: raw.mode,
        models: raw.models.clone(),
        memory: units::memory(raw.memory.as_ref(), place.key("memory"), faults),
        isolation: isolation(raw.isolation),
    };
    if let Some(name) = &raw.name {
        if *raw != (raw::PoolTerm { name: Some(name.clone()), ..Default::default() }) {
            let why = "a name already says which pool; drop the name or the properties";
            faults.push(place.at(), format!("pool `{name}` by name and by properties"), why, None);
        }
        check_name(name, "pool", known.pools.iter().copied(), place.key("name").at(), faults);
        return PoolTerm::Named(Arc::from(name.as_str()));
    }
    if let Some(mode) = raw.mode
        && !covers(mode.isolation(), needed)
    {
        let what = format!("a term of mode {mode} in a class that needs {}", words(needed));
        let why = format!(
            "{mode} gives {}, so no pool of this term can ever serve the class",
            words(mode.isolation())
        );
        faults.doubt("term-without-isolation", place.key("mode").at(), what, why);
    }
    PoolTerm::Properties(properties)
}

const fn covers(has: gpu::Isolation, needs: gpu::Isolation) -> bool {
    (has.memory || !needs.memory) && (has.fault || !needs.fault)
}

const fn words(isolation: gpu::Isolation) -> &'static str {
    match (isolation.memory, isolation.fault) {
        (true, true) => "memory and fault isolation",
        (true, false) => "memory isolation only",
        (false, true) => "fault isolation",
        (false, false) => "no isolation",
    }
}

/// A PriorityClass that is not in the directory may be in the cluster; one that is there can be read.
fn priority(spec: &WorkloadClassSpec, known: &Known<'_>, place: Place<'_>, faults: &mut Faults<'_>) {
    let at = place.key("mustPreempt").at();
    if !spec.priority.must_preempt {
        return;
    }
    let Some(name) = &spec.priority.class_name else {
        let why = "without a PriorityClass its Pods have the default priority and push nobody away";
        faults.push(at, "mustPreempt without className".to_owned(), why, None);
        return;
    };
    let never =
        known.priorities.get(name).is_some_and(|class| class.preemption_policy.as_deref() == Some("Never"));
    if never {
        let what = format!("mustPreempt with PriorityClass `{name}`");
        let why =
            "that class has preemptionPolicy Never: its Pods go first in the queue and push nobody away";
        faults.doubt("priority-never-for-critical", at, what, why);
    }
}

fn sharing(raw: &raw::Sharing, known: &Known<'_>, place: Place<'_>, faults: &mut Faults<'_>) -> Sharing {
    for (index, name) in raw.with.iter().flatten().enumerate() {
        check_name(name, "class", known.classes.iter().copied(), place.key("with").item(index).at(), faults);
    }
    if raw.max_tenants == Some(0) {
        let why = "a Pod of the class is a tenant itself, so at least 1 is needed";
        faults.push(place.key("maxTenants").at(), "sharing.maxTenants is 0".to_owned(), why, None);
    }
    let with = raw.with.as_ref().map(|names| names.iter().map(|name| Arc::from(name.as_str())).collect());
    Sharing { with, max_tenants: raw.max_tenants }
}

fn disruption(raw: &raw::Disruption, place: Place<'_>, faults: &mut Faults<'_>) -> Disruption {
    let grace = units::seconds(raw.max_grace_period.as_ref(), place.key("maxGracePeriod"), faults);
    Disruption { protected: raw.protected, max_grace: grace }
}
