//! Pictures from files, and objects laid over a picture.

use serde_json::json;

use super::{gpu_node, picture, pod};
use crate::cluster::{Cluster, Kind, unfold};

#[test]
fn a_list_in_a_list_is_unfolded_and_items_take_the_kind_of_their_list() {
    let list = json!({"apiVersion": "v1", "kind": "List", "items": [
        gpu_node("a"),
        {"apiVersion": "v1", "kind": "PodList", "items": [{"metadata": {"name": "p"}}]},
    ]});
    let objects = unfold(list);
    let kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap_or_default()).collect();
    assert_eq!(kinds, ["Node", "Pod"]);
    assert_eq!(objects[1]["apiVersion"], "v1");
    assert_eq!(unfold(gpu_node("a")), [gpu_node("a")]);
    assert!(unfold(json!({"kind": "List"})).is_empty());
}

#[test]
fn a_file_knows_nodes_and_pods_completely_and_else_what_it_holds() {
    let class =
        json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": "x"}});
    let cluster = Cluster::from_documents([class]).expect("all is readable");
    for kind in [Kind::Node, Kind::Pod, Kind::PriorityClass] {
        assert!(cluster.is_synced(kind), "{kind}");
    }
    assert!(!cluster.is_synced(Kind::PodDisruptionBudget));
    assert!(Kind::ALL.iter().all(|kind| !Cluster::none().is_synced(*kind)));
}

#[test]
fn a_snapshot_knows_completely_what_its_first_document_lists() {
    let marker = json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "Snapshot",
        "spec": {"takenAt": "1970-01-01T00:00:09Z", "kinds": ["Node", "PodDisruptionBudget"]},
    });
    let cluster = Cluster::from_documents([marker]).expect("all is readable");
    assert!(cluster.is_synced(Kind::PodDisruptionBudget));
    assert!(!cluster.is_synced(Kind::PriorityClass));
    assert_eq!(cluster.as_of(), Some(9));
}

#[test]
fn every_unreadable_object_of_a_file_is_named() {
    let mut bad_node = gpu_node("a");
    bad_node["spec"] = json!("text");
    let bad_pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}});
    let errors = Cluster::from_documents([bad_node, bad_pod]).expect_err("two cannot be read");
    let texts: Vec<_> = errors.iter().map(ToString::to_string).collect();
    assert_eq!(texts.len(), 2);
    assert!(texts[0].starts_with("Node a: spec: invalid type"), "{}", texts[0]);
    assert_eq!(texts[1], "Pod without a name: metadata.name: is missing");
}

#[test]
fn objects_laid_over_a_picture_exist_and_make_nothing_complete() {
    let below = picture(&[gpu_node("a"), pod("p", "a", 1)]);
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "new"}});
    let mut changed = gpu_node("a");
    changed["metadata"]["labels"]["team"] = json!("x");
    let over = below.with_objects([&namespace, &changed]).expect("all is readable");
    assert!(over.namespace("new").is_some());
    assert!(!over.is_synced(Kind::Namespace));
    assert_eq!(over.node("a").map(|node| node.labels["team"].as_str()), Some("x"));
    assert_eq!(over.load("a").pods, 1, "what lies below shows through");
    assert!(below.namespace("new").is_none(), "the picture below is as before");
    assert!(!below.node("a").is_some_and(|node| node.labels.contains_key("team")));
}

#[test]
fn kinds_that_the_picture_does_not_hold_are_passed_over() {
    let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}});
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}, "data": 7});
    let cluster = Cluster::from_documents([service, secret, json!("text")]).expect("none is read");
    assert_eq!(cluster, Cluster::from_documents([]).expect("nothing to read"));
}

#[test]
fn what_a_namespace_holds_is_found_by_namespace() {
    let budget = |namespace: &str, name: &str| {
        json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name, "namespace": namespace}, "spec": {"maxUnavailable": 1}})
    };
    let cluster = picture(&[budget("b", "2"), budget("b", "1"), budget("bb", "3"), budget("a", "4")]);
    let names: Vec<_> = cluster.budgets("b").map(|budget| budget.metadata.name.as_str()).collect();
    assert_eq!(names, ["1", "2"]);
    assert_eq!(cluster.budgets("none").count(), 0);
}

#[test]
fn of_workloads_only_those_whose_pods_ask_for_gpus_are_kept() {
    let deployment = |name: &str, resource: &str| {
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": name, "namespace": "team",
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "long"}},
            "spec": {"replicas": 3, "template": {"metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"resources": {"limits": {resource: "1"}}}]}}}})
    };
    let mut cluster = picture(&[deployment("llm", "nvidia.com/gpu"), deployment("web", "cpu")]);
    let kept = cluster.workload("Deployment", "team", "llm").expect("it asks for GPUs");
    assert_eq!(kept.object.spec.replicas, Some(3));
    assert_eq!(kept.pod_labels["app"], "llm");
    assert!(kept.object.metadata.annotations.is_empty());
    assert!(cluster.workload("Deployment", "team", "web").is_none());
    assert_eq!(cluster.workloads("team").count(), 1);
    cluster.apply(&deployment("llm", "cpu")).expect("it is readable");
    assert_eq!(cluster.workloads("team").count(), 0, "it asks for none any more");
}
