use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    cluster::Cluster,
    decide::decide,
    policy,
    subject::{Facts, Reading, Stage, read},
};

const CLASSES: &str = "
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: asr}
spec: {pools: [{mode: time-slicing}], memory: 6Gi, sharing: {maxTenants: 3}, placement: spread}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: lone}
spec: {pools: [{mode: time-slicing}], sharing: {maxTenants: 1}}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: easy}
spec: {pools: [{mode: time-slicing}]}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: job}
spec: {pools: [{mode: time-slicing}], runsToEnd: true}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: sliced}
spec: {pools: [{mode: mig}], memory: 8Gi}
---
apiVersion: sluice.dev/v1alpha1
kind: AdmissionPolicy
metadata: {name: all}
spec: {action: deny, schedulerName: sluice-scheduler}
";

fn world(objects: Vec<Value>) -> World {
    let file = |(index, text): (usize, &str)| policy::SourceFile {
        path: format!("{index}.yaml"),
        text: text.to_owned(),
    };
    let files: Vec<_> = CLASSES.split("---").enumerate().map(file).collect();
    let policies = policy::compile(&files, "test", &rules::ids()).unwrap();
    World::new(Arc::new(policies), Cluster::from_documents(objects).unwrap())
}

/// T4s (15 GiB), each advertised eight times.
fn t4(name: &str, cards: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": cards.to_string(),
            "nvidia.com/gpu.replicas": "8", "nvidia.com/gpu.memory": "15360",
            "nvidia.com/gpu.sharing-strategy": "time-slicing"}},
        "status": {"allocatable": {"cpu": "16", "pods": "110", "nvidia.com/gpu": (cards * 8).to_string()}}
    })
}

fn slices(name: &str, profile: &str, memory: u32) -> Value {
    let (count, size) =
        (format!("nvidia.com/mig-{profile}.count"), format!("nvidia.com/mig-{profile}.memory"));
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "nvidia.com/gpu.product": format!("NVIDIA-A100-SXM4-80GB-MIG-{profile}"),
            "nvidia.com/gpu.count": "2", "nvidia.com/gpu.memory": memory.to_string(),
            "nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "single",
            "nvidia.com/mig.config": format!("all-{profile}"), "nvidia.com/mig.config.state": "success",
            count: "2", size: memory.to_string()}},
        "status": {"allocatable": {"cpu": "16", "pods": "110", "nvidia.com/gpu": "2"}}
    })
}

fn pod(uid: &str, class: &str, node: Option<&str>) -> Value {
    let gpu = json!({"nvidia.com/gpu": "1"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": uid, "namespace": "n", "uid": uid, "labels": {"sluice.dev/class": class},
                     "annotations": {"sluice.dev/decision": "seen"}},
        "spec": {"nodeName": node, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": gpu, "limits": gpu}}]}
    })
}

fn judged(world: &World, pod: Value) -> Decision {
    judged_at(Stage::Schedule, world, pod)
}

fn judged_at(stage: Stage, world: &World, pod: Value) -> Decision {
    match read(Arc::new(pod), None, Facts { now: 1_000, ..Facts::new(stage) }) {
        Reading::Subject(subject) => decide(world, &subject),
        other => panic!("{other:?}"),
    }
}

fn asks(world: &World, class: &str) -> Decision {
    judged(world, pod("new", class, None))
}

/// `yes`, or the rule.
fn word(fit: &Fit) -> &'static str {
    match fit {
        Fit::Yes(_) => "yes",
        Fit::Busy(rule) | Fit::Never(rule) => rule.id,
    }
}

fn score(fit: &Fit) -> Score {
    match fit {
        Fit::Yes(score) => *score,
        Fit::Busy(rule) | Fit::Never(rule) => panic!("{}", rule.id),
    }
}

fn at(world: &World, class: &str, node: &str) -> Fit {
    fit(world, &asks(world, class), node, Reach::BeyondScheduler)
}

fn promised(uid: &str, class: &str, nodes: &[&str]) -> Promised {
    let nodes = nodes.iter().map(|node| Arc::from(*node)).collect();
    let promise = Promise { uid: uid.into(), class: Some(class.into()), nodes };
    Promised { pods: vec![Arc::new(promise)], unknown: false }
}

#[test]
fn the_tenants_limits_count_as_the_newcomers_own_do_where_there_is_one_card() {
    let objects = |cards| vec![t4("n", cards), pod("a", "lone", Some("n"))];
    assert_eq!(word(&at(&world(objects(1)), "easy", "n")), "colocation-limit");
    assert_eq!(word(&at(&world(objects(2)), "easy", "n")), "yes", "it may get the other card");
    assert_eq!(word(&at(&world(vec![t4("n", 1), pod("a", "easy", Some("n"))]), "easy", "n")), "yes");
}

#[test]
fn declared_memory_of_a_time_sliced_card_is_not_given_out_twice() {
    let two = vec![t4("n", 1), pod("a", "asr", Some("n")), pod("b", "asr", Some("n"))];
    assert_eq!(word(&at(&world(two.clone()), "asr", "n")), "no-free-vram", "three times 6 GiB on 15");
    assert_eq!(word(&at(&world(two[..2].to_vec()), "asr", "n")), "yes");
    assert_eq!(word(&at(&world(two), "easy", "n")), "yes", "it declares nothing");
}

#[test]
fn what_the_agent_measures_counts_where_it_is_more() {
    let agent = |used: u64| {
        json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "GpuNode", "metadata": {"name": "n"},
            "status": {"devices": [{"uuid": "GPU-1", "product": "Tesla T4", "memoryMib": 15360,
                                    "memoryUsedMib": used, "mig": "not-supported"}], "sharingReplicas": 8}
        })
    };
    let with = |used| world(vec![t4("n", 1), agent(used), pod("a", "easy", Some("n"))]);
    assert_eq!(word(&at(&with(10_000), "asr", "n")), "no-free-vram");
    assert_eq!(word(&at(&with(2_000), "asr", "n")), "yes");
    let [full, empty] = [10_000, 2_000].map(|used| score(&at(&with(used), "easy", "n")).free_memory);
    assert!(full < empty, "{full} {empty}");
    let silent = world(vec![t4("n", 1), pod("a", "easy", Some("n"))]);
    assert_eq!(score(&at(&silent, "easy", "n")).free_memory, Score::NEUTRAL, "nobody knows");
}

#[test]
fn promised_room_is_taken_and_only_by_others() {
    let world = world(vec![t4("n", 1), t4("m", 1)]);
    let decision = asks(&world, "lone");
    let laid = |promised: &Promised, node| {
        word(&Ask::new(&world, &decision, Reach::BeyondScheduler).over(promised).of(node))
    };
    let other = promised("other", "lone", &["n"]);
    assert_eq!((laid(&other, "n"), laid(&other, "m")), ("room-promised", "yes"));
    assert_eq!(laid(&promised("new", "lone", &["n"]), "n"), "yes", "its own promise");
    let memory = promised("other", "asr", &["n"]);
    let heavy = asks(&world, "asr");
    let heavy = Ask::new(&world, &heavy, Reach::BeyondScheduler).over(&memory);
    assert_eq!(word(&heavy.of("n")), "yes", "two of 6 GiB fit");
    let unknown = Promised { unknown: true, ..Promised::default() };
    assert_eq!(laid(&unknown, "n"), "room-promised");
}

#[test]
fn the_account_is_kept_where_some_class_minds_its_neighbours_or_its_memory() {
    let shared = world(vec![t4("n", 1), slices("s", "1g.10gb", 9728)]);
    let ask = |node: &str| {
        let decision = asks(&shared, "easy");
        Ask::new(&shared, &decision, Reach::BeyondScheduler).of_accounted(node).1.is_some()
    };
    assert!(ask("n") && !ask("s") && !ask("unknown"));
    let built_in = World::new(Arc::new(policy::built_in(&rules::ids())), shared.cluster.clone());
    let decision = asks(&built_in, "embedding");
    let kept = Ask::new(&built_in, &decision, Reach::BeyondScheduler).of_accounted("n").1;
    assert!(kept.is_none(), "no built-in class that may come here minds anything");
}

#[test]
fn tenants_that_are_thought_away_leave_their_room() {
    let world = world(vec![t4("n", 1), pod("a", "lone", Some("n"))]);
    let decision = asks(&world, "lone");
    let gone = [Arc::from("a")];
    let ask = Ask::new(&world, &decision, Reach::Everything);
    assert_eq!(word(&ask.of("n")), "colocation-limit");
    assert_eq!(word(&ask.without(&gone).of("n")), "yes");
}

#[test]
fn company_that_disturbs_is_avoided_before_packing_counts() {
    let objects = vec![t4("n", 2), t4("m", 2), pod("a", "job", Some("n")), pod("b", "easy", Some("m"))];
    let world = world(objects);
    let [beside_a_job, beside_its_like] = ["n", "m"].map(|node| score(&at(&world, "easy", node)));
    assert_eq!((beside_a_job.company, beside_its_like.company), (5, 10));
    assert!(beside_a_job < beside_its_like);
}

#[test]
fn the_smallest_slice_that_will_do_is_taken() {
    let world = world(vec![slices("small", "1g.10gb", 9728), slices("large", "3g.40gb", 40192)]);
    let [small, large] = ["small", "large"].map(|node| score(&at(&world, "sliced", node)));
    assert_eq!((small.remnant, large.remnant), (8, 2));
    assert!(small > large);
}

#[test]
fn a_pod_that_admission_would_refuse_finds_no_node() {
    let world = world(vec![t4("n", 1)]);
    let mut bad = pod("new", "easy", None);
    bad["spec"]["containers"][0]["securityContext"] = json!({"privileged": true});
    let decision = judged(&world, bad);
    assert_eq!(decision.verdict, crate::decide::Verdict::Deny, "{:?}", decision.findings);
    let fit_of = |reach| fit(&world, &decision, "n", reach);
    assert!(matches!(fit_of(Reach::BeyondScheduler), Fit::Never(rule) if rule.id == "privileged-gpu-bypass"));
    assert_eq!(word(&fit_of(Reach::Everything)), "yes", "the report tells the finding beside the nodes");
}

#[test]
fn whichever_scheduler_asks_us_may_place_the_pod() {
    let world = world(vec![t4("n", 1)]);
    let mut other = pod("new", "easy", None);
    other["spec"]["schedulerName"] = json!("default-scheduler");
    let refused = |stage| {
        let findings = judged_at(stage, &world, other.clone()).findings;
        findings.iter().any(|finding| finding.rule == "wrong-scheduler")
    };
    assert!(refused(Stage::Validate) && !refused(Stage::Schedule));
    let decision = judged(&world, other.clone());
    assert_eq!(word(&fit(&world, &decision, "n", Reach::BeyondScheduler)), "yes");
}

#[test]
fn a_node_that_nobody_knows_is_never_an_answer() {
    let world = world(vec![t4("n", 1)]);
    assert!(matches!(at(&world, "easy", "gone"), Fit::Never(rule) if rule.id == "node-unknown"));
}
