//! Whoever applies a Deployment is told: its Pods are made by a controller, which nobody watches.

use serde_json::json;

use crate::harness::eventually::{SOON, eventually};
use crate::stories::fleet::h100;
use crate::stories::gate::Gate;
use crate::stories::samples::{deployment, image, pod};
use crate::stories::told;

pub fn a_missing_priority_class_is_told_to_who_applies_the_deployment(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded()]);
    let namespace = gate.plane.namespace("priority");
    let llm = pod("llm", image::LLM, 1).with(&json!({ "spec": { "priorityClassName": "gpu-critical" } }));
    let model = deployment("model", 1, &llm);
    let silent = gate.apply(&namespace, &model);
    silent.succeeded();
    assert_eq!(silent.stderr, "", "the control: created, and nobody says a word");
    eventually(SOON, "its ReplicaSet to be refused every Pod", || {
        let sets = gate.plane.kubectl().get(&["replicasets", "-n", &namespace])["items"].clone();
        let told = sets[0]["status"]["conditions"][0]["message"].as_str().unwrap_or_default().to_owned();
        if told.contains("no PriorityClass with name gpu-critical was found") { Ok(()) } else { Err(told) }
    });
    gate.remove_workloads(&namespace);

    gate.open();
    let told = gate.apply(&namespace, &model);
    told.failed();
    told::compare("missing-priority-class.txt", &namespace, &told);
}

pub fn a_deployment_shows_every_finding_of_its_template(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8)]);
    let namespace = gate.plane.namespace("template");
    let visible = json!({ "name": "NVIDIA_VISIBLE_DEVICES", "value": "all" });
    let llm = pod("llm", image::LLM, 2).with_container(&json!({
        "args": ["--model", "m", "--tensor-parallel-size", "4"],
        "env": [visible],
    }));
    let model = deployment("model", 1, &llm);
    let silent = gate.apply(&namespace, &model);
    silent.succeeded();
    assert_eq!(silent.stderr, "", "the control");
    gate.plane.bound(&namespace, &gate.pod_of(&namespace, "app", "model"));
    gate.remove_workloads(&namespace);

    gate.open();
    let refused = gate.apply(&namespace, &model);
    refused.failed();
    told::compare("deployment-with-two-problems.txt", &namespace, &refused);
    // And one that is fine is let in, with what is probable as warnings.
    let fine = deployment("fine", 1, &pod("llm", image::LLM, 2));
    let warned = gate.apply(&namespace, &fine);
    warned.succeeded();
    told::compare("deployment-that-is-let-in.txt", &namespace, &warned);
}
