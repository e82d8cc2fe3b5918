//! Pools from nodes and declarations.

mod declared;
mod discovered;
mod nodes;

use std::sync::Arc;

use serde_json::Value;

use super::*;
use crate::{
    cluster::Cluster,
    policy::{PolicySet, SourceFile},
};

fn world(policies: &str, nodes: &[Value]) -> World {
    World::new(Arc::new(policy_set(policies)), picture(nodes))
}

fn picture(nodes: &[Value]) -> Cluster {
    Cluster::from_documents(nodes.iter().cloned()).expect("every node is readable")
}

fn policy_set(text: &str) -> PolicySet {
    let file = SourceFile { path: "pools.yaml".to_owned(), text: text.to_owned() };
    crate::policy::compile(&[file], "r1", &[]).expect("the policies compile")
}

fn pool<'a>(world: &'a World, name: &str) -> &'a LivePool {
    let names = || world.pools.iter().map(|pool| pool.pool.name.to_string()).collect::<Vec<_>>();
    world.pools.get(name).unwrap_or_else(|| panic!("no pool {name} among {:?}", names()))
}

fn names(world: &World, pool: &LivePool) -> Vec<String> {
    pool.node_names(&world.cluster).iter().map(ToString::to_string).collect()
}

#[test]
fn the_picture_and_the_engine_mean_the_same_label_and_stamp() {
    use crate::{cluster, subject};
    assert_eq!(cluster::CLASS_LABEL, subject::CLASS_LABEL);
    assert_eq!(cluster::STAMPED_CLASS, subject::stamp::CLASS);
    for key in subject::stamp::KEYS {
        assert!(cluster::POD_ANNOTATIONS.contains(&key), "{key}");
    }
}

#[test]
fn every_core_kind_that_holds_a_template_is_a_workload_of_the_picture() {
    for row in subject_kinds() {
        assert!(crate::cluster::Kind::named(row).is_some_and(crate::cluster::Kind::is_workload), "{row}");
    }
}

fn subject_kinds() -> impl Iterator<Item = &'static str> {
    use crate::subject::templates::TEMPLATE_KINDS;
    TEMPLATE_KINDS.iter().filter(|row| matches!(row.group, "apps" | "batch")).map(|row| row.kind)
}

#[test]
fn pools_are_kept_while_no_shape_comes_or_goes() {
    let world = world("", &[nodes::h100("a")]);
    let mut cluster = world.cluster.clone();
    cluster.apply(&nodes::h100("b")).expect("it is readable");
    let grown = world.with_cluster(cluster.clone());
    assert!(Arc::ptr_eq(&world.pools, &grown.pools), "a node of a known shape");
    assert_eq!(names(&grown, pool(&grown, "h100-80gb-exclusive")), ["a", "b"], "it has joined all the same");
    cluster.apply(&nodes::l4("c")).expect("it is readable");
    let other = grown.with_cluster(cluster);
    assert!(!Arc::ptr_eq(&grown.pools, &other.pools));
    assert_eq!(other.pools.iter().count(), 2);
}

#[test]
fn pools_that_name_nodes_are_made_anew_when_any_node_comes() {
    let by_name = "
apiVersion: sluice.dev/v1alpha1
kind: GpuPool
metadata: {name: two}
spec:
  nodes: [{matchExpressions: [{key: kubernetes.io/hostname, operator: In, values: [a, b]}]}]
  mode: exclusive
";
    let world = world(by_name, &[nodes::h100("a"), nodes::h100("x")]);
    assert_eq!(names(&world, pool(&world, "two")), ["a"]);
    assert_eq!(names(&world, pool(&world, "h100-80gb-exclusive")), ["x"], "the rest of the shape");
    let mut cluster = world.cluster.clone();
    cluster.apply(&nodes::h100("b")).expect("it is readable");
    let grown = world.with_cluster(cluster);
    assert_eq!(names(&grown, pool(&grown, "two")), ["a", "b"]);
    let node = |name: &str| Arc::clone(grown.cluster.node(name).expect("it is there"));
    let of = |name: &str| {
        grown.pools.of_node(&node(name)).map(|pool| pool.pool.name.to_string()).collect::<Vec<_>>()
    };
    assert_eq!(of("b"), ["two"]);
    assert_eq!(of("x"), ["h100-80gb-exclusive"]);
    assert!(pool(&grown, "two").has_node(&node("a")) && !pool(&grown, "two").has_node(&node("x")));
}

#[test]
fn other_policies_make_other_pools_of_the_same_picture() {
    let before = world("", &[nodes::h100("a")]);
    let after = before.with_policies(Arc::new(policy_set(declared::H100)));
    assert_eq!(after.revision(), "r1");
    assert!(pool(&after, "h100").declared);
    assert!(after.pools.discovered().next().is_none());
}
