//! What holds for every input: the engine is total, its patch can be applied, changes only what it names and
//! never widens a choice, the second time changes nothing, and every stage gives the same answer.
//!
//! Seeded: a failure prints the seed and the input. `SLUICE_SEED=N` repeats a run, `SLUICE_CASES=N` sets the
//! number of inputs of each property.

pub mod generate;
mod mutate;

use std::{
    collections::BTreeSet,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use fastrand::Rng;
use serde_json::{Value, json};
use sluice::{
    cluster::Cluster,
    decide::{Decision, Reach, STAMP, Verdict, decide, fit},
    k8s::{affinity::RequiredNodeAffinity, object::Pod},
    rules::{Edit, Fit},
    subject::{Facts, Operation, Reading, Stage, Subject, read},
    world::World,
};

use crate::cases::{
    fixture::{self, Fixture},
    setting,
};

/// Inputs of a property where nothing else is said.
fn inputs(usual: usize) -> usize {
    std::env::var("SLUICE_CASES").ok().and_then(|number| number.parse().ok()).unwrap_or(usual)
}

/// A generator whose seed is printed.
/// The seed where none is given: the same inputs in every run of CI. Other seeds by `SLUICE_SEED`.
const FIRST_SEED: u64 = 20_261_201;

fn rng(property: &str) -> Rng {
    let given = std::env::var("SLUICE_SEED").ok().and_then(|seed| seed.parse().ok());
    let seed: u64 = given.unwrap_or(FIRST_SEED);
    println!("{property}: SLUICE_SEED={seed}");
    Rng::with_seed(seed)
}

fn subject(object: &Value, facts: Facts) -> Option<Box<Subject>> {
    match read(Arc::new(object.clone()), None, facts) {
        Reading::Subject(subject) => Some(subject),
        Reading::NotOurs | Reading::Unreadable(_) => None,
    }
}

fn at(stage: Stage) -> Facts {
    Facts { now: setting::NOW, ..Facts::new(stage) }
}

fn judge(world: &World, pod: &Value, stage: Stage) -> Decision {
    let subject = subject(pod, at(stage)).unwrap_or_else(|| panic!("a Pod that can be read: {pod}"));
    decide(world, &subject)
}

/// Judges and holds the laws that need no second look: the patch can be applied by an independent
/// implementation and gives what the decision says.
fn lawful(world: &World, object: &Value, facts: Facts) -> Option<Decision> {
    let subject = subject(object, facts)?;
    let decision = decide(world, &subject);
    let mut patched = object.clone();
    let patch = decision.patch(object);
    json_patch::patch(&mut patched, &patch).unwrap_or_else(|e| panic!("the patch {patch:?} fails: {e}"));
    assert_eq!(patched, decision.applied_to(object), "patch and edits differ");
    for node in world.cluster.nodes() {
        let _ = fit(world, &decision, &node.name, Reach::Everything);
    }
    Some(decision)
}

#[test]
fn whatever_an_object_looks_like_there_is_a_decision_and_its_patch_applies() {
    let mut rng = rng("totality");
    let cases: Vec<(Fixture, World)> = fixture::all()
        .into_iter()
        .filter(|case| case.object.is_some())
        .filter_map(|case| Some((case.clone(), setting::world(setting::policies(&case).ok()?, &case).ok()?)))
        .collect();
    let mut judged = 0;
    let total = inputs(4_000);
    for _ in 0..total {
        let (case, world) = &cases[rng.usize(..cases.len())];
        let mut object = case.object.clone().unwrap_or_default();
        let mut old = case.request.old.clone().unwrap_or_else(|| object.clone());
        for _ in 0..rng.usize(1..5) {
            mutate::once(&mut object, &mut rng);
        }
        mutate::once(&mut old, &mut rng);
        let facts = facts(&mut rng, old);
        let answer = catch_unwind(AssertUnwindSafe(|| lawful(world, &object, facts.clone())));
        match answer {
            Ok(decision) => judged += usize::from(decision.is_some()),
            Err(_) => panic!("{} with {facts:?}:\n{object}", case.file),
        }
    }
    println!("{judged} of {total} inputs could be read");
    assert!(judged * 3 > total, "most inputs should be readable, else nothing is tested");
}

fn facts(rng: &mut Rng, old: Value) -> Facts {
    let stages = [Stage::Mutate, Stage::Validate, Stage::Schedule, Stage::Check];
    let operations = [Operation::Create, Operation::Create, Operation::Update, Operation::Delete];
    let subresources = [None, None, None, Some("ephemeralcontainers"), Some("resize"), Some("status")];
    let operation = operations[rng.usize(..4)];
    Facts {
        operation,
        subresource: subresources[rng.usize(..6)].map(str::to_owned),
        old: (operation == Operation::Update).then(|| Arc::new(old)),
        user: if rng.bool() { "system:node:n".to_owned() } else { String::new() },
        now: rng.i64(..),
        ..at(stages[rng.usize(..4)])
    }
}

#[test]
fn whatever_a_picture_looks_like_there_is_a_decision() {
    let mut rng = rng("pictures");
    for _ in 0..inputs(150) {
        let mut objects = generate::cluster();
        for _ in 0..rng.usize(1..6) {
            let index = rng.usize(..objects.len());
            mutate::once(&mut objects[index], &mut rng);
        }
        let pod = generate::pod(&mut rng);
        let answer = catch_unwind(AssertUnwindSafe(|| {
            let mut cluster = Cluster::from_documents([]).unwrap_or_default();
            for object in &objects {
                // What cannot be read is left out, as the watch does.
                let _ = cluster.apply(object);
            }
            let world = World::new(generate::policies(), cluster);
            lawful(&world, &pod, at(Stage::Check));
        }));
        assert!(answer.is_ok(), "{pod}\n{objects:?}");
    }
}

#[test]
fn deciding_on_what_was_decided_changes_nothing() {
    let mut rng = rng("settled");
    for world in generate::worlds() {
        for _ in 0..inputs(250) {
            let pod = generate::pod(&mut rng);
            let Some(first) = lawful(&world, &pod, at(Stage::Mutate)) else { continue };
            let changed = first.applied_to(&pod);
            let second = judge(&world, &changed, Stage::Mutate);
            let again: Vec<&str> = second.changes.iter().map(|change| &*change.path).collect();
            assert_eq!(second.patch(&changed).0, [], "{again:?} again\n{pod}\n{changed}");
            assert_eq!(first.id, second.id, "{pod}");
        }
    }
}

#[test]
fn a_node_that_fits_a_steered_pod_lies_in_a_candidate_pool() {
    let mut rng = rng("agreed");
    let mut fitting = 0;
    for world in generate::worlds() {
        for _ in 0..inputs(200) {
            let pod = generate::pod(&mut rng);
            let Some(decision) = lawful(&world, &pod, at(Stage::Check)) else { continue };
            if decision.candidates.is_empty() {
                continue;
            }
            for node in world.cluster.nodes() {
                if !matches!(fit(&world, &decision, &node.name, Reach::Everything), Fit::Yes(_)) {
                    continue;
                }
                fitting += 1;
                let pools: Vec<&str> = world.pools.of_node(node).map(|live| &*live.pool.name).collect();
                let candidate = decision.candidates.iter().any(|candidate| pools.contains(&&*candidate.pool));
                assert!(candidate, "{} in {pools:?}, candidates {:?}\n{pod}", node.name, decision.candidates);
            }
        }
    }
    assert!(fitting > 20, "{fitting} nodes fitted: too few to say anything");
}

#[test]
fn steering_never_widens_the_authors_choice() {
    let mut rng = rng("widening");
    let (mut narrowed, mut looked) = (0, 0);
    for world in generate::worlds() {
        for _ in 0..inputs(250) {
            let mut pod = generate::pod(&mut rng);
            pod["spec"]["affinity"] = generate::affinity(&mut rng);
            let Some(decision) = lawful(&world, &pod, at(Stage::Mutate)) else { continue };
            let changed = decision.applied_to(&pod);
            let (before, after) = (required(&pod), required(&changed));
            for node in generate::imagined_nodes(&world, &mut rng) {
                looked += 1;
                let (name, labels) = (&node.0, &node.1);
                let (was, is) = (before.matches(Some(name), labels), after.matches(Some(name), labels));
                assert!(was || !is, "node {name} {labels:?} was not chosen and is now\n{pod}\n{changed}");
                narrowed += usize::from(was && !is);
            }
        }
    }
    assert!(narrowed > 30, "{narrowed} of {looked}: steering hardly ever narrowed anything");
}

fn required(pod: &Value) -> RequiredNodeAffinity {
    let pod: Pod = serde_json::from_value(pod.clone()).unwrap_or_else(|e| panic!("{e}: {pod}"));
    RequiredNodeAffinity::of(&pod.spec)
}

#[test]
fn fields_that_nobody_knows_survive_at_every_level() {
    let mut rng = rng("unknown fields");
    for world in generate::worlds() {
        for _ in 0..inputs(100) {
            let mut pod = generate::pod(&mut rng);
            let marks = mutate::mark_every_object(&mut pod);
            let Some(decision) = lawful(&world, &pod, at(Stage::Mutate)) else { continue };
            let changed = decision.applied_to(&pod);
            for mark in &marks {
                // Terms may be multiplied: each copy keeps what it had, at another index.
                let kept = if mark.contains("/nodeSelectorTerms/") {
                    changed.to_string().matches(mutate::MARK).count() >= marks.len()
                } else {
                    changed.pointer(mark) == pod.pointer(mark)
                };
                assert!(kept, "{mark} is lost\n{pod}\n{changed}");
            }
        }
    }
}

#[test]
fn nothing_changes_but_what_the_decision_names() {
    let mut rng = rng("named paths");
    let mut changes = 0;
    for world in generate::worlds() {
        for _ in 0..inputs(200) {
            let pod = generate::pod(&mut rng);
            let Some(decision) = lawful(&world, &pod, at(Stage::Mutate)) else { continue };
            let changed = decision.applied_to(&pod);
            let mut different = Vec::new();
            mutate::differences(&pod, &changed, &mut Vec::new(), &mut different);
            for path in &different {
                let named = |edit: &Edit| {
                    let segments = edit.segments();
                    path.starts_with(segments) || segments.starts_with(path)
                };
                assert!(
                    decision.changes.iter().any(|change| named(&change.edit)),
                    "{path:?}\n{pod}\n{changed}"
                );
            }
            changes += different.len();
        }
    }
    assert!(changes > 200, "only {changes} differences were looked at");
}

#[test]
fn the_same_input_in_any_order_gives_the_same_decision() {
    let mut rng = rng("deterministic");
    let mut objects = generate::cluster();
    let ordered = World::new(generate::policies(), generate::picture(&objects));
    for _ in 0..20 {
        rng.shuffle(&mut objects);
        let shuffled = World::new(generate::policies(), generate::picture(&objects));
        for _ in 0..inputs(200) / 20 {
            let pod = generate::pod(&mut rng);
            let (one, other) = (judge(&ordered, &pod, Stage::Check), judge(&shuffled, &pod, Stage::Check));
            assert_eq!(essence(&ordered, &one), essence(&shuffled, &other), "{pod}");
            assert_eq!(essence(&ordered, &one), essence(&ordered, &judge(&ordered, &pod, Stage::Check)));
        }
    }
}

/// All of a decision that anybody can see, and its answer for each node.
fn essence(world: &World, decision: &Decision) -> String {
    let nodes: Vec<String> = world
        .cluster
        .nodes()
        .map(|node| format!("{} {:?}", node.name, fit(world, decision, &node.name, Reach::Everything)))
        .collect();
    format!(
        "{} {:?} {:?} {:?} {:#?} {:#?} {} {nodes:#?}",
        decision.id,
        decision.class,
        decision.candidates,
        decision.skipped,
        decision.changes,
        decision.findings,
        decision.verdict
    )
}

#[test]
fn the_webhooks_and_check_refuse_the_same_pods() {
    let mut rng = rng("same verdict");
    let mut seen: BTreeSet<Verdict> = BTreeSet::new();
    for world in generate::worlds() {
        for _ in 0..inputs(250) {
            let pod = generate::pod(&mut rng);
            let Some(check) = lawful(&world, &pod, at(Stage::Check)) else { continue };
            let mutated = judge(&world, &pod, Stage::Mutate);
            assert_eq!(mutated.patch(&pod), check.patch(&pod), "{pod}");
            let changed = mutated.applied_to(&pod);
            let validated = judge(&world, &changed, Stage::Validate);
            let refuse = |decision: &Decision| decision.verdict == Verdict::Deny;
            assert_eq!(
                refuse(&check),
                refuse(&validated),
                "check: {:#?}\nvalidate: {:#?}\n{pod}\n{changed}",
                check.findings,
                validated.findings
            );
            seen.insert(check.verdict);
        }
    }
    assert_eq!(seen.len(), 3, "every verdict occurs: {seen:?}");
}

#[test]
fn a_stamp_that_somebody_wrote_is_no_input() {
    let mut rng = rng("stamp");
    for world in generate::worlds() {
        for _ in 0..inputs(60) {
            let pod = generate::pod(&mut rng);
            let mut forged = pod.clone();
            forged["metadata"]["annotations"] = json!({
                "sluice.dev/decision": "0000", "sluice.dev/pools": "somewhere", "sluice.dev/decided-class": "batch",
                "sluice.dev/fallback": "x", "sluice.dev/arm": "control", "sluice.dev/revision": "none"});
            let (one, other) = (judge(&world, &pod, Stage::Mutate), judge(&world, &forged, Stage::Mutate));
            assert_eq!(one.id, other.id, "{pod}");
            assert_eq!(one.findings, other.findings, "{pod}");
            // What does not concern us is not touched, whatever somebody wrote on it.
            if !one.relevant {
                continue;
            }
            let stamped = |decision: &Decision, pod: &Value| {
                decision.applied_to(pod)["metadata"]["annotations"].clone()
            };
            assert_eq!(sorted(&stamped(&one, &pod)), sorted(&stamped(&other, &forged)), "{pod}");
            assert!(one.changes.iter().any(|change| change.rule == STAMP));
        }
    }
}

fn sorted(annotations: &Value) -> Vec<(String, Value)> {
    let mut pairs: Vec<(String, Value)> = annotations
        .as_object()
        .into_iter()
        .flatten()
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    pairs.sort_by(|a, b| a.0.cmp(&b.0));
    pairs
}
