//! A node is drained: the replacement is a new Pod and goes through the same gate.

use serde_json::json;
use sluice::subject::stamp;

use crate::harness::eventually::{A_WHILE, eventually};
use crate::harness::nodes::Fleet;
use crate::stories::fleet::{h100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{deployment, image, pod};

pub fn the_replacement_of_a_drained_pod_goes_through_the_same_gate(gate: &mut Gate) {
    let fleet = gate.fleet(vec![
        h100("one", 2),
        h100("two", 2),
        sliced_l4("sliced", 1).allocatable("cpu", 512).allocatable("memory", "4Ti"),
    ]);
    let namespace = gate.plane.namespace("drain");
    let kubectl = gate.plane.kubectl();
    let model = deployment("model", 1, &pod("model", image::LLM, 1).asking("16", "64Gi"));

    kubectl.run(&["cordon", fleet.name("sliced")]).succeeded();
    gate.apply(&namespace, &model).succeeded();
    let first = running(gate, &fleet, &namespace);
    kubectl.run(&["uncordon", fleet.name("sliced")]).succeeded();
    kubectl.drain(fleet.name(&first), A_WHILE).succeeded();
    assert_eq!(running(gate, &fleet, &namespace), "sliced", "the control: from a whole card to a share");
    kubectl.run(&["uncordon", fleet.name(&first)]).succeeded();
    gate.remove_workloads(&namespace);

    gate.open();
    gate.apply(&namespace, &model).succeeded();
    let first = running(gate, &fleet, &namespace);
    assert_ne!(first, "sliced");
    let judged = || gate.sluice.metric("sluice_decisions_total", &[("class", "llm")]);
    let before = judged();
    kubectl.drain(fleet.name(&first), A_WHILE).succeeded();
    let second = running(gate, &fleet, &namespace);
    assert!(second != first && second != "sliced", "{first} → {second}");
    assert!(judged() > before, "the replacement was judged");
    let name = gate.pod_of(&namespace, "app", "model");
    let stamped = gate.stored(&namespace, &name)["metadata"]["annotations"].clone();
    assert_eq!(stamped[stamp::POOLS], json!("h100-80gb-exclusive"));
}

/// The role of the node on which the one Pod of the Deployment runs, once the one before is gone.
fn running(gate: &Gate, fleet: &Fleet, namespace: &str) -> String {
    eventually(A_WHILE, "one Pod, bound", || {
        let list = gate.plane.kubectl().get(&["pods", "-n", namespace]);
        match list["items"].as_array().map(Vec::as_slice) {
            Some([one]) => one["spec"]["nodeName"].as_str().map(|node| fleet.role(node).to_owned()),
            _ => None,
        }
    })
}
