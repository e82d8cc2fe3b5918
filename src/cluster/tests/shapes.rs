//! Equal nodes share a shape.

use serde_json::json;

use super::{gpu_node, picture, with};
use crate::cluster::{Change, Cluster, Kind};

#[test]
fn nodes_that_differ_in_identity_alone_share_a_shape() {
    let cluster = picture(&[gpu_node("a"), gpu_node("bb"), gpu_node("ccc")]);
    assert_eq!(cluster.shapes().count(), 1);
    let shape = cluster.shapes().next().expect("there is one");
    let members: Vec<_> = cluster.members(shape).into_iter().flatten().map(ToString::to_string).collect();
    assert_eq!(members, ["a", "bb", "ccc"]);
    assert!(!shape.labels.contains_key("kubernetes.io/hostname"));
    assert!(cluster.node("a").expect("it is there").labels.contains_key("kubernetes.io/hostname"));
}

#[test]
fn cpu_memory_and_the_order_of_taints_make_no_shape() {
    let mut other = with(gpu_node("b"), "/status/allocatable/memory", json!("511999Mi"));
    let taints =
        json!([{"key": "x", "effect": "NoSchedule"}, {"key": "nvidia.com/gpu", "effect": "NoSchedule"}]);
    other["spec"]["taints"] = taints;
    let mut one = gpu_node("a");
    one["spec"]["taints"] = json!([
        {"key": "nvidia.com/gpu", "effect": "NoSchedule"},
        {"key": "x", "effect": "NoSchedule", "timeAdded": "2026-01-01T00:00:00Z"},
    ]);
    assert_eq!(picture(&[one, other]).shapes().count(), 1);
}

#[test]
fn what_rules_read_of_a_node_makes_a_shape() {
    for (pointer, value) in [
        ("/metadata/labels/team", json!("b")),
        ("/spec/unschedulable", json!(true)),
        ("/spec/taints", json!([])),
        ("/status/allocatable/nvidia.com~1gpu", json!("7")),
        ("/status/nodeInfo/kubeletVersion", json!("v1.36.0")),
    ] {
        let other = with(gpu_node("b"), pointer, value);
        assert_eq!(picture(&[gpu_node("a"), other]).shapes().count(), 2, "{pointer}");
    }
}

#[test]
fn the_set_of_shapes_is_another_one_only_when_a_shape_comes_or_goes() {
    let before = picture(&[gpu_node("a")]);
    let mut after = before.clone();
    after.apply(&gpu_node("b")).expect("it is readable");
    assert!(after.same_shapes(&before), "a node of a known shape");
    assert!(!after.same_members(&before));
    let before = after.clone();
    let ready = json!([{"type": "Ready", "status": "False"}]);
    let change = after.apply(&with(gpu_node("b"), "/status/conditions", ready));
    assert_eq!(change, Ok(Change::Changed(Kind::Node)));
    assert!(after.same_members(&before), "readiness is no part of a shape");
    after.apply(&with(gpu_node("b"), "/spec/unschedulable", json!(true))).expect("it is readable");
    assert!(!after.same_shapes(&before), "a new shape");
    let before = after.clone();
    after.delete(&gpu_node("b")).expect("it is readable");
    assert!(!after.same_shapes(&before), "a shape is gone");
    assert_eq!(after.shapes().count(), 1);
}

#[test]
fn copies_that_changed_apart_do_not_pass_for_one_another() {
    let origin = picture(&[gpu_node("a")]);
    let mut one = origin.clone();
    one.apply(&with(gpu_node("b"), "/metadata/labels/x", json!("1"))).expect("it is readable");
    let mut other = origin.clone();
    other.apply(&with(gpu_node("b"), "/metadata/labels/x", json!("2"))).expect("it is readable");
    assert!(!one.same_shapes(&other));
}

#[test]
fn a_heartbeat_changes_nothing() {
    let mut cluster = picture(&[gpu_node("a")]);
    let mut beat = gpu_node("a");
    beat["status"]["conditions"][0]["lastHeartbeatTime"] = json!("2026-01-01T00:00:05Z");
    beat["metadata"]["resourceVersion"] = json!("2");
    assert_eq!(cluster.apply(&beat), Ok(Change::Unchanged(Kind::Node)));
}

#[test]
fn a_node_that_cannot_be_read_leaves_the_picture_as_it_was() {
    let mut cluster = picture(&[gpu_node("a")]);
    let mut broken = gpu_node("a");
    broken["status"]["allocatable"]["memory"] = json!("lots");
    let error = cluster.apply(&broken).expect_err("it cannot be read").to_string();
    assert!(error.starts_with("Node a: status.allocatable[memory]: \"lots\" is not a quantity"), "{error}");
    let mut broken = gpu_node("a");
    broken["spec"]["taints"] = json!([{"key": 7}]);
    let error = cluster.apply(&broken).expect_err("it cannot be read").to_string();
    assert!(error.starts_with("Node a: spec.taints[0].key: invalid type"), "{error}");
    assert_eq!(cluster, picture(&[gpu_node("a")]));
}

#[test]
fn a_slice_an_agent_or_a_device_class_gives_the_node_another_shape_and_takes_it_back() {
    let slice = json!({
        "apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": "s"},
        "spec": {"nodeName": "a", "driver": "gpu.nvidia.com", "devices": [{"name": "gpu-0"}]},
    });
    let alone = picture(&[gpu_node("a")]);
    let mut cluster = alone.clone();
    cluster.apply(&slice).expect("it is readable");
    let node = cluster.node("a").expect("it is there");
    assert!(node.shape.assessment.dra, "the slice is evidence");
    assert_eq!(cluster.slices_of("a").count(), 1);
    cluster.delete(&slice).expect("it is readable");
    assert_eq!(cluster, alone);

    let first = picture(&[slice, gpu_node("a")]);
    assert!(first.node("a").expect("it is there").shape.assessment.dra, "in either order");
}

#[test]
fn an_agent_that_is_silent_for_three_heartbeats_is_not_believed() {
    let agent = json!({
        "apiVersion": "sluice.dev/v1alpha1", "kind": "GpuNode", "metadata": {"name": "a"},
        "status": {"observedAt": "1970-01-01T00:01:40Z", "heartbeatSeconds": 10, "devices": []},
    });
    let mut cluster = picture(&[gpu_node("a")]);
    cluster.set_as_of(Some(100));
    cluster.apply(&agent).expect("it is readable");
    let fresh = |cluster: &Cluster| cluster.agent("a").expect("it is there").facts.fresh;
    assert!(fresh(&cluster));
    assert!(!cluster.judge_freshness(130), "three heartbeats later");
    assert!(cluster.judge_freshness(131));
    assert!(!fresh(&cluster));
    assert!(cluster.judge_freshness(120), "a clock that was set back");
    assert!(fresh(&cluster));
}
