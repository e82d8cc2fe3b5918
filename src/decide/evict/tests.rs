use serde_json::{Value, json};

use super::*;
use crate::{
    cluster::Cluster,
    decide::decide,
    policy, rules,
    subject::{Facts, Reading, Stage, read},
};

const NOW: i64 = 1_796_126_400;

const CLASSES: &str = "
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: llm}
spec: {pools: [{mode: exclusive}], startup: {budget: 30m}, priority: {className: high}}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: saint}
spec: {pools: [{mode: exclusive}], disruption: {protected: true}}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: embedding}
spec: {pools: [{mode: exclusive}, {mode: time-slicing}], sharing: {maxTenants: 2}, priority: {className: middle}}
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {name: batch}
spec: {pools: [{mode: exclusive}, {mode: time-slicing}], priority: {className: low}}
";

fn world(objects: Vec<Value>) -> World {
    let file = |(index, text): (usize, &str)| policy::SourceFile {
        path: format!("{index}.yaml"),
        text: text.to_owned(),
    };
    let files: Vec<_> = CLASSES.split("---").enumerate().map(file).collect();
    let policies = policy::compile(&files, "test", &rules::ids()).unwrap();
    let priority = |(name, value): (&str, i64)| {
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
               "metadata": {"name": name}, "value": value})
    };
    let priorities = [("high", 100), ("middle", 50), ("low", 10)].map(priority);
    World::new(Arc::new(policies), Cluster::from_documents(objects.into_iter().chain(priorities)).unwrap())
}

fn node(name: &str, cards: u32) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.count": cards.to_string(),
            "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "23034",
            "nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/mig.capable": "false"}},
        "status": {"allocatable": {"cpu": "16", "pods": "110", "nvidia.com/gpu": cards.to_string()}}
    })
}

fn shared(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {
            "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": "1",
            "nvidia.com/gpu.replicas": "8", "nvidia.com/gpu.memory": "15360",
            "nvidia.com/gpu.sharing-strategy": "time-slicing"}},
        "status": {"allocatable": {"cpu": "16", "pods": "110", "nvidia.com/gpu": "8"}}
    })
}

/// A Pod whose UID is its name.
fn pod(name: &str, class: &str, priority: i64) -> Value {
    let gpu = json!({"nvidia.com/gpu": "1"});
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "n", "uid": name, "labels": {"sluice.dev/class": class, "app": name},
                     "annotations": {"sluice.dev/decision": "seen"}},
        "spec": {"priority": priority, "containers": [
            {"name": "c", "image": "i", "resources": {"requests": gpu, "limits": gpu}}]}
    })
}

fn running(node: &str, mut pod: Value, ready: bool, started: &str) -> Value {
    pod["spec"]["nodeName"] = json!(node);
    let ready = if ready { "True" } else { "False" };
    pod["status"] = json!({"phase": "Running", "startTime": started,
                           "conditions": [{"type": "Ready", "status": ready}]});
    pod
}

const LONG_AGO: &str = "2026-12-01T10:00:00Z";
const JUST_NOW: &str = "2026-12-01T11:50:00Z";

fn evicted(world: &World, pod: Value, node: &str, offered: &[&str]) -> Eviction {
    let facts = Facts { now: NOW, ..Facts::new(Stage::Schedule) };
    let Reading::Subject(subject) = read(Arc::new(pod), None, facts) else { panic!("a Pod") };
    evict(world, &decide(world, &subject), node, offered, NOW)
}

fn why(eviction: &Eviction) -> Vec<Protection> {
    eviction.spared.iter().map(|(_, why)| *why).collect()
}

#[test]
fn what_nobody_protects_goes_as_it_was_offered() {
    let world = world(vec![node("g", 1), running("g", pod("old", "batch", 10), true, LONG_AGO)]);
    let eviction = evicted(&world, pod("new", "embedding", 50), "g", &["old"]);
    assert_eq!((eviction.victims, eviction.changed, eviction.spared.len()), (vec!["old".into()], false, 0));
    let plain = evicted(&world, pod("new", "embedding", 50), "g", &["a-pod-without-gpu"]);
    assert_eq!(plain.victims, ["a-pod-without-gpu".into()]);
}

#[test]
fn a_protected_class_and_a_loading_model_are_left_alone_and_the_node_with_them() {
    let loading = running("g", pod("chat", "llm", 0), false, JUST_NOW);
    let cases = [
        (running("g", pod("chat", "saint", 0), true, LONG_AGO), "batch", Some(Protection::Class)),
        (loading.clone(), "llm", Some(Protection::Loading)),
        (running("g", pod("chat", "llm", 0), false, LONG_AGO), "llm", None),
        (running("g", pod("chat", "llm", 0), true, JUST_NOW), "llm", None),
        (running("g", pod("chat", "llm", 0), true, LONG_AGO), "batch", Some(Protection::Outranks)),
        (running("g", pod("chat", "batch", 0), true, LONG_AGO), "llm", None),
    ];
    for (tenant, asking, want) in cases {
        let world = world(vec![node("g", 1), tenant.clone()]);
        let eviction = evicted(&world, pod("new", asking, 1_000), "g", &["chat"]);
        assert_eq!(why(&eviction), Vec::from_iter(want), "{tenant}");
        assert_eq!(eviction.victims.is_empty(), want.is_some(), "{tenant}");
    }
}

#[test]
fn another_pod_goes_where_that_frees_the_node_too() {
    let world = world(vec![
        node("g", 3),
        running("g", pod("chat", "llm", 0), false, JUST_NOW),
        running("g", pod("old", "batch", 5), true, LONG_AGO),
        running("g", pod("dear", "batch", 7), true, LONG_AGO),
    ]);
    let eviction = evicted(&world, pod("new", "llm", 50), "g", &["chat"]);
    assert_eq!(eviction.victims, ["old".into()], "the lower priority");
    assert!(eviction.changed);
    let weak = evicted(&world, pod("new", "llm", 5), "g", &["chat"]);
    assert!(weak.victims.is_empty(), "nobody is below it");
}

#[test]
fn victims_are_completed_by_what_only_we_count_and_never_more_than_needed() {
    // Two tenants of a class that accepts two on a card; the scheduler of 1.38 offers nobody.
    let world = world(vec![
        shared("t"),
        running("t", pod("a", "embedding", 5), true, LONG_AGO),
        running("t", pod("b", "batch", 7), true, LONG_AGO),
    ]);
    let eviction = evicted(&world, pod("new", "embedding", 50), "t", &[]);
    assert_eq!((eviction.victims, eviction.changed), (vec!["a".into()], true));
    let none = evicted(&world, pod("new", "embedding", 5), "t", &[]);
    assert!(none.victims.is_empty(), "a node that cannot be freed is left out, not given with nobody");
}

#[test]
fn victims_in_vain_are_refused() {
    let mut cordoned = node("g", 1);
    cordoned["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] = json!("time-slicing");
    let world = world(vec![cordoned, running("g", pod("old", "batch", 10), true, LONG_AGO)]);
    let eviction = evicted(&world, pod("new", "llm", 50), "g", &["old"]);
    assert!(eviction.victims.is_empty(), "the node's evidence contradicts itself: {eviction:?}");
}

#[test]
fn budgets_that_do_not_allow_a_victim_are_counted() {
    let budget = |name: &str, app: &str, allowed: i64| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
               "metadata": {"name": name, "namespace": "n"},
               "spec": {"minAvailable": 1, "selector": {"matchExpressions": [
                   {"key": "app", "operator": "In", "values": app.split(' ').collect::<Vec<_>>()}]}},
               "status": {"disruptionsAllowed": allowed}})
    };
    let tenants = ["a", "b", "c"].map(|name| running("g", pod(name, "batch", 1), true, LONG_AGO));
    let with = |budgets: Vec<Value>| world(tenants.iter().cloned().chain(budgets).collect());
    let victims: Vec<Arc<str>> = ["a", "b", "c"].map(Arc::from).to_vec();
    assert_eq!(violations(&with(vec![]), &victims), 0);
    assert_eq!(violations(&with(vec![budget("x", "a", 0)]), &victims), 1);
    assert_eq!(violations(&with(vec![budget("x", "a b c", 1)]), &victims), 2);
    assert_eq!(violations(&with(vec![budget("x", "a b c", 3)]), &victims), 0);
}
