//! What the decision and an event cost as the cluster and the policies grow.

use std::{hint::black_box, sync::Arc};

use serde_json::json;
use sluice::{cluster::Cluster, decide::decide, world::World};

use crate::{
    clusters::{self, llm_pod, subject},
    pairs::{compare, microseconds},
};

fn decide_in(world: &World) -> f64 {
    let subject = subject(&llm_pod());
    assert!(!decide(world, &subject).candidates.is_empty(), "the Pod is steered");
    microseconds(|| {
        black_box(decide(world, black_box(&subject)));
    })
}

/// Cost of one more node of a known shape.
pub fn nodes(name: &str) {
    let (large, small) =
        (clusters::world(clusters::cluster(10_000, 30)), clusters::world(clusters::cluster(100, 30)));
    compare(name, "aim <= 2, µs a decision", || decide_in(&large), || decide_in(&small));
}

/// Cost of one more node that is like no other.
pub fn shapes(name: &str) {
    let large = clusters::world(clusters::cluster(10_000, 10_000));
    let small = clusters::world(clusters::cluster(100, 100));
    compare(name, "for information, µs a decision", || decide_in(&large), || decide_in(&small));
}

/// Cost of one more policy.
pub fn ten_policies(name: &str) {
    policies(name, 10);
}

/// Cost of many more policies.
pub fn hundred_policies(name: &str) {
    policies(name, 100);
}

fn policies(name: &str, count: usize) {
    let cluster = clusters::cluster(10_000, 30);
    let world = |count| World::new(Arc::new(clusters::policies(count)), cluster.clone());
    let (many, one) = (world(count), world(1));
    compare(name, "for information, µs a decision", || decide_in(&many), || decide_in(&one));
}

/// Cost of a watch event: a Pod that becomes Ready, and a World that readers see.
pub fn event(name: &str) {
    let small = clusters::world(with_pods(100));
    let large = clusters::world(with_pods(50_000));
    compare(name, "aim <= 1.5, µs an event", || one_event(&large), || one_event(&small));
}

fn with_pods(pods: usize) -> Cluster {
    let nodes = (pods / 8).max(13);
    let mut cluster = clusters::cluster(nodes, 30);
    for index in 0..pods {
        cluster.apply(&clusters::bound_pod(index, &format!("gpu-{}", index % nodes))).expect("a Pod");
    }
    cluster
}

fn one_event(world: &World) -> f64 {
    let states = ["True", "False"].map(|ready| {
        let mut pod = clusters::bound_pod(50, "gpu-11");
        pod["status"]["conditions"] = json!([{"type": "Ready", "status": ready}]);
        pod
    });
    let mut world = world.clone();
    let mut turn = 0_usize;
    microseconds(|| {
        let mut cluster = world.cluster.clone();
        cluster.apply(&states[turn % 2]).expect("a Pod");
        world = world.with_cluster(cluster);
        turn += 1;
    })
}
