//! Sums of bound Pods.

use serde_json::{Value, json};

use super::{gpu_node, picture, pod, with};
use crate::{
    cluster::{Change, Cluster, Kind, Load},
    k8s::quantity::Quantity,
};

fn requested(cluster: &Cluster, node: &str, resource: &str) -> String {
    cluster.load(node).requested(resource).to_string()
}

#[test]
fn a_node_carries_the_exact_sum_of_its_bound_pods() {
    let cluster = picture(&[gpu_node("a"), pod("one", "a", 2), pod("two", "a", 1), pod("three", "b", 4)]);
    let load = cluster.load("a");
    assert_eq!(load.pods, 2);
    assert_eq!(load.requested("nvidia.com/gpu"), Quantity::whole(3));
    assert_eq!(requested(&cluster, "a", "cpu"), "1");
    assert_eq!(requested(&cluster, "b", "nvidia.com/gpu"), "4");
    assert_eq!(cluster.load("nowhere"), &Load::default());
}

#[test]
fn init_containers_sidecars_and_overhead_count_as_the_scheduler_counts_them() {
    let object = json!({
        "kind": "Pod", "apiVersion": "v1", "metadata": {"name": "p", "namespace": "team"},
        "spec": {
            "nodeName": "a", "overhead": {"cpu": "250m"},
            "initContainers": [
                {"name": "side", "restartPolicy": "Always", "resources": {"requests": {"cpu": "1"}}},
                {"name": "load", "resources": {"requests": {"cpu": "4"}}},
            ],
            "containers": [{"name": "main", "resources": {"requests": {"cpu": "2"}}}],
        },
    });
    assert_eq!(requested(&picture(&[object]), "a", "cpu"), "5250m");
}

#[test]
fn a_finished_pod_takes_nothing_and_a_pod_that_is_being_deleted_still_does() {
    for phase in ["Succeeded", "Failed"] {
        let cluster = picture(&[pod("p", "a", 1), with(pod("p", "a", 1), "/status/phase", json!(phase))]);
        assert_eq!(cluster.load("a").pods, 0, "{phase}");
        assert_eq!(cluster.tenants_on("a").len(), 0, "{phase}");
    }
    let deleting = with(pod("p", "a", 1), "/metadata/deletionTimestamp", json!("2026-01-01T00:00:00Z"));
    let cluster = picture(&[deleting]);
    assert_eq!(cluster.load("a").pods, 1);
    assert!(cluster.tenants_on("a")[0].deleting);
}

#[test]
fn a_pod_that_is_not_bound_takes_nothing_and_is_known_as_a_tenant_that_waits() {
    let waiting = with(pod("p", "a", 1), "/spec/nodeName", Value::Null);
    let mut cluster = picture(&[waiting]);
    assert_eq!(cluster.size().bound_pods, 0);
    assert_eq!(cluster.tenant("uid-p").expect("it is known").node, None);
    assert_eq!(cluster.apply(&pod("p", "a", 1)), Ok(Change::Changed(Kind::Pod)), "it was bound");
    assert_eq!(cluster.load("a").pods, 1);
    assert_eq!(cluster.tenants_on("a")[0].uid.as_ref(), "uid-p");
}

#[test]
fn the_same_event_twice_counts_once() {
    let mut cluster = picture(&[pod("p", "a", 1)]);
    assert_eq!(cluster.apply(&pod("p", "a", 1)), Ok(Change::Unchanged(Kind::Pod)));
    assert_eq!(cluster.load("a").pods, 1);
    assert_eq!(cluster.delete(&pod("p", "a", 1)), Ok(Change::Changed(Kind::Pod)));
    assert_eq!(cluster.delete(&pod("p", "a", 1)), Ok(Change::Unchanged(Kind::Pod)));
    assert_eq!(cluster, Cluster::none());
}

#[test]
fn a_pod_of_the_same_name_on_another_node_replaces_the_old_one() {
    let reborn = with(pod("p", "b", 2), "/metadata/uid", json!("uid-2"));
    let mut cluster = picture(&[pod("p", "a", 1), reborn.clone()]);
    assert_eq!((cluster.load("a").pods, cluster.load("b").pods), (0, 1));
    assert_eq!(cluster.tenant("uid-p"), None);

    let late = cluster.delete(&pod("p", "a", 1));
    assert_eq!(late, Ok(Change::Unchanged(Kind::Pod)), "the deletion of the old one comes late");
    assert_eq!(cluster.load("b").pods, 1);
    assert_eq!(cluster.delete(&reborn), Ok(Change::Changed(Kind::Pod)));
    assert_eq!(cluster, Cluster::none());
}

#[test]
fn the_same_holds_for_pods_that_are_no_tenants() {
    let reborn = with(pod("p", "b", 0), "/metadata/uid", json!("uid-2"));
    let mut cluster = picture(&[pod("p", "a", 0), reborn]);
    assert_eq!(cluster.size().gpu_pods, 0);
    assert_eq!(cluster.delete(&pod("p", "a", 0)), Ok(Change::Unchanged(Kind::Pod)));
    assert_eq!((cluster.load("a").pods, cluster.load("b").pods), (0, 1));
}

#[test]
fn a_change_of_requests_in_place_changes_the_sum() {
    let resized = with(pod("p", "a", 1), "/spec/containers/0/resources/limits/cpu", json!("2"));
    let mut cluster = picture(&[pod("p", "a", 1)]);
    assert_eq!(cluster.apply(&resized), Ok(Change::Changed(Kind::Pod)));
    assert_eq!(requested(&cluster, "a", "cpu"), "2");
}

#[test]
fn host_ports_are_counted_by_pod() {
    let ports = json!([{"hostPort": 80}, {"hostPort": 53, "protocol": "UDP", "hostIP": "10.0.0.1"}]);
    let with_ports = |name: &str| {
        let mut object = pod(name, "a", 0);
        object["spec"]["containers"][0]["ports"] = ports.clone();
        object
    };
    let mut cluster = picture(&[with_ports("one"), with_ports("two")]);
    let taken = |cluster: &Cluster| -> Vec<(u16, String, u32)> {
        let ports = cluster.load("a").host_ports.iter();
        ports.map(|(port, count)| (port.port, port.protocol.to_string(), *count)).collect()
    };
    assert_eq!(taken(&cluster), [(53, "UDP".to_owned(), 2), (80, "TCP".to_owned(), 2)]);
    cluster.delete(&with_ports("one")).expect("it is readable");
    assert_eq!(taken(&cluster), [(53, "UDP".to_owned(), 1), (80, "TCP".to_owned(), 1)]);
}

#[test]
fn a_running_pod_can_be_thought_away() {
    let cluster = picture(&[pod("one", "a", 2), pod("two", "a", 1)]);
    let footprint = cluster.footprint("team", "one").expect("it is bound");
    let rest = cluster.load("a").without(footprint);
    assert_eq!((rest.pods, rest.requested("nvidia.com/gpu")), (1, Quantity::whole(1)));
    assert_eq!(cluster.load("a").pods, 2, "the picture itself is as before");
}

#[test]
fn only_gpu_pods_and_pods_of_a_class_are_tenants() {
    let classed = with(pod("classed", "a", 0), "/metadata/labels", json!({"sluice.dev/class": "llm"}));
    let claiming = with(pod("claiming", "a", 0), "/spec/resourceClaims", json!([{"name": "gpu"}]));
    let cluster = picture(&[pod("cpu", "a", 0), pod("gpu", "a", 1), classed, claiming]);
    let names: Vec<_> = cluster.tenants().map(|tenant| tenant.name.to_string()).collect();
    assert_eq!(names, ["claiming", "classed", "gpu"]);
    assert_eq!(cluster.load("a").pods, 4);
}
