//! Any order of events that ends with the same objects gives the same picture.

use proptest::{prelude::*, sample::subsequence};
use serde_json::{Value, json};

use super::{gpu_node, pod, with};
use crate::cluster::{Cluster, Kind};

/// An object in one of its versions, by the number of the object and of the version.
fn object(number: usize, version: usize) -> Value {
    let name = format!("o{number}");
    let node = format!("n{}", version % 3);
    match number % 6 {
        0 => with(
            gpu_node(&format!("n{}", number % 3)),
            "/metadata/labels/v",
            json!(format!("{}", version % 2)),
        ),
        1 => pod(&name, &node, 1),
        2 => pod(&name, &node, 0),
        3 if version.is_multiple_of(2) => with(pod(&name, &node, 2), "/status/phase", json!("Succeeded")),
        3 => with(pod(&name, &node, 2), "/metadata/uid", json!(format!("uid-{number}-{version}"))),
        4 => json!({"apiVersion": "v1", "kind": "Namespace",
            "metadata": {"name": name, "labels": {"v": version.to_string()}}}),
        _ => json!({"apiVersion": "resource.k8s.io/v1", "kind": "ResourceSlice", "metadata": {"name": name},
            "spec": {"nodeName": format!("n{}", number % 3), "driver": "gpu.nvidia.com",
                "devices": [{"name": format!("gpu-{version}")}]}}),
    }
}

fn kind_of(object: &Value) -> Kind {
    Kind::named(object["kind"].as_str().expect("it has a kind")).expect("the picture holds it")
}

proptest! {
    #[test]
    fn the_way_to_a_set_of_objects_leaves_no_trace(
        history in prop::collection::vec((0..18_usize, 0..4_usize, any::<bool>()), 0..60),
        last in subsequence((0..18_usize).collect::<Vec<_>>(), 0..18),
        version in 0..4_usize,
    ) {
        let mut wandered = Cluster::none();
        for (number, version, delete) in history {
            let object = object(number, version);
            let done = if delete { wandered.delete(&object) } else { wandered.apply(&object) };
            prop_assert!(done.is_ok());
        }
        let finals: Vec<Value> = last.iter().map(|number| object(*number, version)).collect();
        for kind in Kind::ALL {
            let of_kind = finals.iter().filter(|object| kind_of(object) == kind);
            prop_assert_eq!(wandered.replace_all(kind, of_kind), Ok(()));
        }
        let mut direct = Cluster::none();
        for object in finals.iter().rev() {
            prop_assert!(direct.apply(object).is_ok());
        }
        for kind in Kind::ALL {
            direct.set_synced(kind, true);
        }
        prop_assert_eq!(wandered, direct);
    }
}

#[test]
fn a_new_list_takes_out_what_it_does_not_hold_and_leaves_no_gap() {
    let mut cluster = Cluster::none();
    let old = [pod("stays", "a", 1), pod("goes", "a", 1), gpu_node("a")];
    for object in &old {
        cluster.apply(object).expect("it is readable");
    }
    let before = cluster.clone();
    cluster.replace_all(Kind::Pod, [&pod("stays", "a", 1), &pod("new", "a", 1)]).expect("all is readable");
    let names: Vec<_> = cluster.tenants().map(|tenant| tenant.name.to_string()).collect();
    assert_eq!(names, ["new", "stays"]);
    assert!(cluster.is_synced(Kind::Pod));
    assert!(cluster.node("a").is_some(), "other kinds are left alone");
    assert_eq!(before.load("a").pods, 2, "whoever holds the picture before still sees it whole");
}

#[test]
fn a_list_with_an_unreadable_object_is_taken_in_without_it() {
    let mut cluster = Cluster::none();
    let bad = with(pod("bad", "a", 1), "/spec/containers", json!("text"));
    let errors = cluster.replace_all(Kind::Pod, [&bad, &pod("good", "a", 1)]).expect_err("one is unreadable");
    assert_eq!(errors.len(), 1);
    assert_eq!(errors[0].object, "team/bad");
    assert_eq!(cluster.tenants_on("a").len(), 1);
}
