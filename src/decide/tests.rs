//! The decision on small clusters: what each kind of Pod becomes, with the built-in policies.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{Decision, Reach, Verdict, decide, fit};
use crate::{
    cluster::Cluster,
    policy, rules,
    rules::Fit,
    subject::{Facts, Reading, Stage, read},
    world::{Features, World},
};

/// Three pools under one resource name, each tainted: whole H100s, time-sliced L4s, and MIG under its own.
fn cluster() -> Vec<Value> {
    let node = |name: &str, labels: Value, allocatable: Value| {
        json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
            "status": {"allocatable": allocatable, "nodeInfo": {"kubeletVersion": "v1.37.2"}}})
    };
    vec![
        node(
            "h100-1",
            json!({"kubernetes.io/hostname": "h100-1", "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gpu.count": "8", "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "81559",
                "nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/mig.capable": "true"}),
            json!({"nvidia.com/gpu": "8", "cpu": "64", "pods": "110"}),
        ),
        node(
            "l4-1",
            json!({"kubernetes.io/hostname": "l4-1", "nvidia.com/gpu.product": "NVIDIA-L4-SHARED",
                "nvidia.com/gpu.count": "1", "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.memory": "23034",
                "nvidia.com/gpu.sharing-strategy": "time-slicing", "nvidia.com/mig.capable": "false"}),
            json!({"nvidia.com/gpu": "4", "cpu": "16", "pods": "110"}),
        ),
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": "system-node-critical"}, "value": 2_000_001_000}),
    ]
}

fn world(objects: Vec<Value>) -> World {
    let policies = Arc::new(policy::built_in(&rules::ids()));
    World::new(policies, Cluster::from_documents(objects).expect("a readable picture"))
}

fn pod(class: &str, resources: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team-a", "labels": {"sluice.dev/class": class}},
        "spec": {"containers": [{"name": "server", "image": "registry.example/x:1", "resources": resources}]}})
}

fn judge(world: &World, object: &Value, stage: Stage) -> Decision {
    match read(Arc::new(object.clone()), None, Facts::new(stage)) {
        Reading::Subject(subject) => decide(world, &subject),
        other => panic!("not a subject: {other:?}"),
    }
}

fn pools(decision: &Decision) -> Vec<&str> {
    decision.candidates.iter().map(|candidate| &*candidate.pool).collect()
}

fn rules_of(decision: &Decision) -> Vec<&str> {
    decision.findings.iter().map(|finding| finding.rule).collect()
}

#[test]
fn an_llm_pod_goes_to_whole_cards_and_an_embedding_pod_to_shared_ones() {
    let world = world(cluster());
    let gpu = json!({"limits": {"nvidia.com/gpu": "1"}});
    let llm = judge(&world, &pod("llm", gpu.clone()), Stage::Mutate);
    assert_eq!(pools(&llm), ["h100-80gb-exclusive"], "{llm:#?}");
    assert!(matches!(fit(&world, &llm, "l4-1", Reach::Everything), Fit::Never(_)));
    let embedding = judge(&world, &pod("embedding", gpu), Stage::Mutate);
    assert_eq!(pools(&embedding), ["l4-time-slicing"], "{embedding:#?}");
}

#[test]
fn deciding_again_on_the_changed_pod_changes_nothing() {
    let world = world(cluster());
    let written = pod("llm", json!({"limits": {"nvidia.com/gpu": "1"}}));
    let first = judge(&world, &written, Stage::Mutate);
    let changed = first.applied_to(&written);
    assert_ne!(changed, written);
    let second = judge(&world, &changed, Stage::Mutate);
    assert_eq!(second.patch(&changed).0, [], "{:#?}", second.changes);
    assert_eq!(first.id, second.id);
    let validated = judge(&world, &changed, Stage::Validate);
    assert_eq!(validated.verdict, Verdict::Allow, "{:#?}", validated.findings);
    let node = fit(&world, &judge(&world, &changed, Stage::Schedule), "h100-1", Reach::Everything);
    assert!(matches!(node, Fit::Yes(_)), "{node:?}");
}

#[test]
fn a_pod_that_never_met_the_mutating_webhook_is_not_validated() {
    let world = world(cluster());
    let unseen = judge(&world, &pod("llm", json!({"limits": {"nvidia.com/gpu": "1"}})), Stage::Validate);
    assert_eq!(unseen.verdict, Verdict::Deny);
    assert!(rules_of(&unseen).contains(&"stamp-missing"));
}

#[test]
fn unequal_request_and_limit_are_refused_and_equal_ones_are_not() {
    let world = world(cluster());
    let unequal = json!({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}});
    let refused = judge(&world, &pod("llm", unequal), Stage::Mutate);
    assert_eq!((refused.verdict, rules_of(&refused)[0]), (Verdict::Deny, "request-limit-mismatch"));
    let equal = json!({"requests": {"nvidia.com/gpu": 1000}, "limits": {"nvidia.com/gpu": "1k"}});
    assert!(!rules_of(&judge(&world, &pod("llm", equal), Stage::Mutate)).contains(&"request-limit-mismatch"));
}

#[test]
fn without_a_picture_rules_about_nodes_are_not_judged_and_nothing_is_refused() {
    let world = World::new(Arc::new(policy::built_in(&rules::ids())), Cluster::none());
    let mut written = pod("llm", json!({"limits": {"nvidia.com/gpu": "1"}}));
    written["spec"]["nodeSelector"] = json!({"nvidia.com/gpu.product": "A100"});
    let decision = judge(&world, &written, Stage::Check);
    assert!(decision.not_judged.contains(&"selector-matches-no-node"));
    assert_ne!(decision.verdict, Verdict::Deny, "{:#?}", decision.findings);
}

#[test]
fn what_does_not_concern_us_is_left_alone() {
    let world = world(cluster());
    let mut cpu = pod("llm", json!({"limits": {"cpu": "1"}}));
    cpu["metadata"]["labels"] = json!({});
    let decision = judge(&world, &cpu, Stage::Mutate);
    assert!(!decision.relevant && decision.changes.is_empty(), "{decision:#?}");
}

#[test]
fn what_is_on_in_the_control_plane_counts_only_where_somebody_says_so() {
    let plain = world(cluster());
    let with = |features| World { features, ..plain.clone() };
    let mut written = pod("llm", json!({"limits": {"nvidia.com/gpu": "1"}}));
    written["metadata"]["labels"] = json!({});
    written["spec"]["nodeSelector"] = json!({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"});
    written["spec"]["tolerations"] =
        json!([{"key": "memory", "operator": "Gt", "value": "40", "effect": "NoSchedule"}]);
    let said = |world: &World| rules_of(&judge(world, &written, Stage::Check)).join(" ");
    let off = said(&plain);
    assert!(off.contains("toleration-invalid") && off.contains("toleration-missing"), "{off}");
    let gate = said(&with(Features { comparison_operators: true, ..Features::default() }));
    assert!(!gate.contains("toleration-invalid") && gate.contains("toleration-missing"), "{gate}");
    let plugin = said(&with(Features { extended_resource_toleration: true, ..Features::default() }));
    assert!(plugin.contains("toleration-invalid") && !plugin.contains("toleration-missing"), "{plugin}");
}
