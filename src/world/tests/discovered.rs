//! Pools that nobody declared.

use std::{collections::BTreeSet, sync::Arc};

use serde_json::{Value, json};

use super::{names, nodes, picture, policy_set, pool, world};
use crate::{
    gpu::{Mebibytes, Mode},
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{Labels, NodeSelector},
        yaml,
    },
    policy::PolicySet,
    world::{LivePool, Standing, World, pools_as_policies},
};

/// Every kind of node, two of each.
fn fleet() -> Vec<Value> {
    let kinds: [fn(&str) -> Value; 6] =
        [nodes::h100, nodes::h100_mig, nodes::l4, nodes::h200_shared, nodes::a40_mps, nodes::gke_l4_shared];
    kinds
        .iter()
        .enumerate()
        .flat_map(|(index, kind)| [kind(&format!("{index}-a")), kind(&format!("{index}-b"))])
        .chain([nodes::bare("cpu", &[])])
        .collect()
}

/// The nodes that a pool's own terms select among those that advertise the same resources.
fn selected(world: &World, live: &LivePool) -> Vec<String> {
    let terms = NodeSelector { node_selector_terms: live.pool.nodes.clone() };
    let affinity = RequiredNodeAffinity::new(&Labels::new(), Some(&terms));
    let advertises = |labels: &crate::cluster::Node| {
        live.resources.iter().any(|name| labels.allocatable(name).is_positive())
    };
    world
        .cluster
        .nodes()
        .filter(|node| advertises(node) && affinity.matches(Some(&node.name), &node.labels))
        .map(|node| node.name.to_string())
        .collect()
}

#[test]
fn nodes_are_grouped_by_what_they_hand_out_and_named_after_it() {
    let world = world("", &fleet());
    let found: Vec<_> = world
        .pools
        .iter()
        .map(|live| {
            let resources: Vec<_> = live.resources.iter().map(String::as_str).collect();
            (live.pool.name.to_string(), live.pool.mode, resources.join(","), names(&world, live).join(","))
        })
        .collect();
    let row = |name: &str, mode, resource: &str, nodes: &str| {
        (name.to_owned(), mode, resource.to_owned(), nodes.to_owned())
    };
    assert_eq!(
        found,
        [
            row("a40-mps", Mode::Mps, "nvidia.com/gpu", "4-a,4-b"),
            row("h100-80gb-exclusive", Mode::Exclusive, "nvidia.com/gpu", "0-a,0-b"),
            row("h100-80gb-mig", Mode::Mig, "nvidia.com/mig-1g.10gb", "1-a,1-b"),
            row("h200-time-slicing", Mode::TimeSlicing, "nvidia.com/gpu", "3-a,3-b"),
            row("l4-time-slicing", Mode::TimeSlicing, "nvidia.com/gpu", "5-a,5-b"),
            row("l4-time-slicing-2", Mode::TimeSlicing, "nvidia.com/gpu.shared", "2-a,2-b"),
        ],
    );
    assert!(world.pools.iter().all(|live| live.standing == Standing::Proven && !live.declared));
}

#[test]
fn the_terms_of_a_pool_select_exactly_its_nodes() {
    let world = world("", &fleet());
    for live in world.pools.iter() {
        assert!(!live.pool.nodes.is_empty(), "{}: {:?}", live.pool.name, live.conflicts);
        assert_eq!(selected(&world, live), names(&world, live), "{}", live.pool.name);
    }
    let term = &pool(&world, "h200-time-slicing").pool.nodes[0];
    let keys: Vec<_> = term.match_expressions.iter().map(|e| format!("{} {}", e.key, e.operator)).collect();
    assert_eq!(
        keys,
        [
            "nvidia.com/gpu.product In",
            "nvidia.com/gpu.sharing-strategy In",
            "nvidia.com/mig.strategy DoesNotExist"
        ],
    );
}

#[test]
fn the_order_of_nodes_makes_no_difference() {
    let there = world("", &fleet());
    let mut back = fleet();
    back.reverse();
    let back = world("", &back);
    let pools = |world: &World| world.pools.iter().map(|live| Arc::clone(&live.pool)).collect::<Vec<_>>();
    assert_eq!(pools(&there), pools(&back));
}

#[test]
fn nodes_that_differ_in_a_lasting_taint_alone_are_told_apart_by_their_node_pool() {
    let reserved = |name: &str| {
        let mut node = nodes::labelled(nodes::h100(name), "cloud.google.com/gke-nodepool", "research");
        node["spec"]["taints"] = json!([{"key": "team", "value": "research", "effect": "NoSchedule"}]);
        node
    };
    let open = |name: &str| nodes::labelled(nodes::h100(name), "cloud.google.com/gke-nodepool", "open");
    let world = world("", &[reserved("a"), open("b"), reserved("c")]);
    let (first, second) = (pool(&world, "h100-80gb-exclusive"), pool(&world, "h100-80gb-exclusive-2"));
    let sets: BTreeSet<_> = [names(&world, first).join(","), names(&world, second).join(",")].into();
    assert_eq!(sets, BTreeSet::from(["a,c".to_owned(), "b".to_owned()]));
    for live in [first, second] {
        assert_eq!(selected(&world, live), names(&world, live));
    }
}

#[test]
fn a_pool_that_labels_cannot_tell_from_others_says_so_and_has_no_terms() {
    let reserved = |name: &str| {
        let mut node = nodes::h100(name);
        node["spec"]["taints"] = json!([{"key": "team", "value": "research", "effect": "NoSchedule"}]);
        node
    };
    let world = world("", &[reserved("a"), nodes::h100("b")]);
    for live in world.pools.iter() {
        assert!(live.pool.nodes.is_empty(), "an empty list matches nothing");
        assert!(live.conflicts[0].contains("cannot be selected"), "{:?}", live.conflicts);
        assert_eq!(live.standing, Standing::Proven, "the extender can still use it");
    }
    assert!(pools_as_policies(&world).is_empty());
}

#[test]
fn a_cordon_or_a_passing_taint_makes_no_pool() {
    let mut sick = nodes::h100("b");
    sick["spec"] = json!({"unschedulable": true, "taints": [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"},
        {"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"},
    ]});
    let world = world("", &[nodes::h100("a"), sick]);
    let live = pool(&world, "h100-80gb-exclusive");
    assert_eq!((live.shapes.len(), names(&world, live).join(",")), (2, "a,b".to_owned()));
    let guards: Vec<_> = live.guarding_taints().iter().map(|taint| taint.key.as_str()).collect();
    assert_eq!(guards, ["nvidia.com/gpu"]);
}

#[test]
fn a_gpu_node_that_hands_out_nothing_makes_no_pool_and_is_told() {
    let silent = nodes::labelled(nodes::bare("a", &[]), "nvidia.com/gpu.product", "NVIDIA-L4");
    let world = world("", &[silent]);
    assert_eq!(world.pools.iter().count(), 0);
    let [outside] = world.pools.outside() else { panic!("{:?}", world.pools.outside()) };
    assert!(!outside.reason.is_empty());
    assert!(world.cluster.members(&outside.shape).is_some_and(|names| names.contains("a")));
}

#[test]
fn memory_of_a_unit_is_the_slice_the_card_or_the_share_that_mps_leaves() {
    let world = world("", &fleet());
    let memory = |name: &str| pool(&world, name).memory;
    assert_eq!(memory("h100-80gb-exclusive"), Some(Mebibytes(81559)));
    assert_eq!(memory("h100-80gb-mig"), Some(Mebibytes(9728)));
    assert_eq!(memory("h200-time-slicing"), Some(Mebibytes(143771)), "each tenant sees the whole card");
    assert_eq!(memory("a40-mps"), Some(Mebibytes(46068 / 4)));
}

#[test]
fn pools_written_as_files_load_back_to_the_same_pools() {
    let nodes = fleet();
    let found = world("", &nodes);
    let documents = pools_as_policies(&found);
    assert_eq!(documents.len(), found.pools.iter().count());
    let texts: Vec<_> =
        documents.iter().map(|document| yaml::to_text(document).expect("it can be written")).collect();
    let set: PolicySet = policy_set(&texts.join("---\n"));
    let loaded = World::new(Arc::new(set), picture(&nodes));
    assert!(loaded.pools.discovered().next().is_none(), "every node is covered");
    for (found, loaded_pool) in found.pools.iter().zip(loaded.pools.iter()) {
        assert_eq!(found.pool, loaded_pool.pool);
        assert!(loaded_pool.declared);
        assert_eq!(found.standing, loaded_pool.standing);
        assert_eq!(found.resources, loaded_pool.resources);
        assert_eq!(found.memory, loaded_pool.memory);
        assert_eq!(loaded_pool.conflicts, Vec::<String>::new(), "{}", loaded_pool.pool.name);
        assert_eq!(
            loaded.pools.get(&found.pool.name).map(|live| names(&loaded, live)),
            Some(selected(&loaded, found))
        );
    }
    assert_eq!(pools_as_policies(&loaded), documents, "and are written the same again");
}

#[test]
fn why_a_mode_is_known_and_what_the_cards_can_do_of_mig_is_told_in_sentences() {
    let world = world("", &fleet());
    let l4 = pool(&world, "l4-time-slicing-2");
    assert!(!l4.why().is_empty() && l4.why()[0].contains(": "), "{:?}", l4.why());
    assert!(l4.mig()[0].contains("L4"), "{:?}", l4.mig());
}
