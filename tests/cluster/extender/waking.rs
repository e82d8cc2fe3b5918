//! A Pod that was turned away runs as soon as there is room, also where the scheduler cannot see it come.

use std::time::{Duration, Instant};

use serde_json::json;

use super::ground::{Beside, Ground, pod};
use crate::harness::eventually::{SOON, eventually, throughout};
use crate::harness::objects::node_of;
use crate::stories::fleet::{h100, sliced_t4};

const WAKING: &str = "--wake-up-lease=sluice-system/sluice-wake-up";

/// From what makes room to the binding.
const WITHIN: Duration = Duration::from_secs(5);

/// A class with so many tenants a card.
fn tenants(most: u32) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: {{ name: few }}
spec:
  pools: [{{ mode: time-slicing }}, {{ mode: exclusive }}]
  sharing: {{ maxTenants: {most} }}
"
    )
}

pub fn a_picture_that_was_behind_wakes_whom_it_turned_away(ground: &mut Ground) {
    let behind = Duration::from_secs(2);
    let delete = |ground: &Ground, namespace: &str| {
        let arguments = ["delete", "pod", "first", "-n", namespace, "--force", "--grace-period=0"];
        ground.plane.kubectl().run(&arguments).succeeded();
    };
    // The control: the scheduler asks too early, is told that the room is taken, and nothing happens any more.
    let (beside, namespace) = one_waits(ground, behind, &[]);
    delete(ground, &namespace);
    throughout(Duration::from_secs(62), "nobody to wake the Pod", || is_pending(ground, &namespace));
    ground.end(beside);

    let (beside, namespace) = one_waits(ground, behind, &[WAKING]);
    delete(ground, &namespace);
    // The cause is seen only then.
    is_bound_within(WITHIN + behind, ground, &namespace, "a neighbour was deleted");
    // It is counted when the API server has answered, which is late too.
    eventually(SOON, "the wake-up to be counted", || {
        beside.sluice.metric("sluice_wake_ups_total", &[("result", "written")]) >= 1.0
    });
    ground.end(beside);
}

pub fn a_changed_policy_wakes(ground: &mut Ground) {
    let (beside, namespace) = one_waits(ground, Duration::ZERO, &[]);
    ground.policy(&tenants(2));
    throughout(Duration::from_secs(15), "nobody to wake the Pod", || is_pending(ground, &namespace));
    ground.end(beside);

    let (beside, namespace) = one_waits(ground, Duration::ZERO, &[WAKING]);
    // Without a cause nobody is woken.
    throughout(Duration::from_secs(3), "no Node to be changed", || {
        beside.sluice.metric("sluice_wake_ups_total", &[]) == 0.0
    });
    ground.policy(&tenants(2));
    is_bound(ground, &namespace, "a policy allows more");
    ground.end(beside);
}

pub fn the_agents_word_wakes(ground: &mut Ground) {
    ground.plane.kubectl().apply(GPU_NODES).succeeded();
    for waking in [false, true] {
        ground.policy(&tenants(1));
        let fleet = ground.plane.create_nodes(vec![h100("rebooted", 1)]);
        let name = fleet.name("rebooted").to_owned();
        let boot = json!({ "status": { "nodeInfo": { "bootID": "second" } } }).to_string();
        let patch = ["patch", "node", &name, "--subresource=status", "--type=merge", "-p", &boot];
        ground.plane.kubectl().run(&patch).succeeded();
        says(ground, &name, "first");
        let flags: &[&str] = if waking { &[WAKING] } else { &[] };
        let beside = ground.schedule(Duration::ZERO, flags, |_| {});
        beside.until_nodes(1);
        let namespace = ground.plane.namespace("agent");
        ground.create(&namespace, &[pod("second", "few")]);
        ground.until_turned_away(&namespace, "second", "node-rejoining");
        says(ground, &name, "second");
        if waking {
            is_bound(ground, &namespace, "the agent has looked at the cards");
        } else {
            throughout(Duration::from_secs(15), "nobody to wake the Pod", || is_pending(ground, &namespace));
        }
        ground.end(beside);
    }
}

/// One node, one tenant on it, and a second Pod that is turned away because of that.
fn one_waits(ground: &mut Ground, late: Duration, flags: &[&str]) -> (Beside, String) {
    ground.policy(&tenants(1));
    ground.plane.create_nodes(vec![sliced_t4("shared", 1)]);
    // Whose turn it is after a restart is another story.
    let flags = [flags, &["--promise=0"]].concat();
    let beside = ground.schedule(late, &flags, |_| {});
    beside.until_nodes(1);
    let namespace = ground.plane.namespace("waking");
    ground.create(&namespace, &[pod("first", "few")]);
    eventually(Duration::from_secs(30), "the first to be bound", || {
        node_of(&ground.plane.pod(&namespace, "first")).is_some()
    });
    eventually(SOON, "the first to be in the picture", || {
        beside.sluice.metric("sluice_picture_objects", &[("kind", "Pod")]) as usize == 1
    });
    ground.create(&namespace, &[pod("second", "few")]);
    ground.until_turned_away(&namespace, "second", "colocation-limit");
    // Past the first back-off, so that the scheduler itself would try at once.
    throughout(Duration::from_secs(2), "it to wait", || is_pending(ground, &namespace));
    (beside, namespace)
}

fn is_pending(ground: &Ground, namespace: &str) -> Result<(), String> {
    match node_of(&ground.plane.pod(namespace, "second")) {
        None => Ok(()),
        Some(node) => Err(format!("bound to {node}")),
    }
}

fn is_bound(ground: &Ground, namespace: &str, because: &str) {
    is_bound_within(WITHIN, ground, namespace, because);
}

fn is_bound_within(patience: Duration, ground: &Ground, namespace: &str, because: &str) {
    let cause = Instant::now();
    eventually(patience, &format!("the second Pod to be bound: {because}"), || {
        node_of(&ground.plane.pod(namespace, "second"))
            .ok_or_else(|| ground.plane.pending_because(namespace, "second"))
    });
    eprintln!("bound {:.1} s after {because}", cause.elapsed().as_secs_f64());
}

/// What the agent of a node says of its boot.
fn says(ground: &Ground, node: &str, boot: &str) {
    let word = json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "GpuNode",
        "metadata": { "name": node },
        "status": { "bootID": boot },
    });
    ground.plane.kubectl().apply(&word.to_string()).succeeded();
}

const GPU_NODES: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: { name: gpunodes.sluice.dev }
spec:
  group: sluice.dev
  scope: Cluster
  names: { kind: GpuNode, plural: gpunodes, singular: gpunode }
  versions:
  - name: v1alpha1
    served: true
    storage: true
    schema: { openAPIV3Schema: { type: object, x-kubernetes-preserve-unknown-fields: true } }
";
