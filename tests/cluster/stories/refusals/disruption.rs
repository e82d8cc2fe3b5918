//! What would end models that somebody uses: a budget that nobody can keep, a layout that ends its tenants.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::eventually::{SOON, eventually};
use crate::stories::fleet::{h100, mixed_a100};
use crate::stories::gate::Gate;
use crate::stories::samples::{Sample, deployment, image, pod};
use crate::stories::told;

pub fn a_budget_that_blocks_every_drain_is_warned_about(gate: &mut Gate) {
    gate.fleet(vec![h100("one", 2), h100("two", 2)]);
    let namespace = gate.plane.namespace("budget");
    let model = deployment("model", 2, &pod("llm", image::LLM, 1));
    let kubectl = gate.plane.kubectl();
    gate.apply(&namespace, &model).succeeded();
    let silent = gate.apply(&namespace, &budget(&json!({ "minAvailable": 2 })));
    silent.succeeded();
    assert_eq!(silent.stderr, "", "the control: created, and nobody says a word");
    eventually(SOON, "the budget to count two healthy Pods", || {
        let status = kubectl.get(&["poddisruptionbudget", "model", "-n", &namespace])["status"].clone();
        if status["currentHealthy"] == 2 { Ok(()) } else { Err(status.to_string()) }
    });
    let node = gate.plane.bound(&namespace, &gate.pod_of(&namespace, "app", "model"));
    let blocked = kubectl.drain(&node, Duration::from_secs(3)).failed();
    assert!(blocked.contains("would violate the pod's disruption budget"), "{blocked}");
    kubectl.run(&["uncordon", &node]).succeeded();
    kubectl.run(&["delete", "poddisruptionbudget", "model", "-n", &namespace]).succeeded();

    gate.open();
    let warned = gate.apply(&namespace, &budget(&json!({ "minAvailable": 2 })));
    warned.succeeded();
    told::compare("budget-blocks-drain.txt", &namespace, &warned);
    // One that lets a Pod go is nothing to speak of.
    kubectl.run(&["delete", "poddisruptionbudget", "model", "-n", &namespace]).succeeded();
    assert_eq!(gate.apply(&namespace, &budget(&json!({ "maxUnavailable": 1 }))).stderr, "");
}

fn budget(what: &Value) -> Sample {
    Sample(json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": { "name": "model" },
        "spec": { "selector": { "matchLabels": { "app": "model" } } },
    }))
    .with(&json!({ "spec": what }))
}

pub fn a_new_mig_layout_for_a_node_with_tenants_is_warned_about(gate: &mut Gate) {
    let fleet = gate.fleet(vec![mixed_a100("held").guarded(), mixed_a100("free").guarded()]);
    let namespace = gate.plane.namespace("layout");
    gate.open();
    let asr = pod("asr", image::ASR, 1);
    let tenant = gate.lands(&fleet, &namespace, &asr);
    let other = if tenant == "held" { "free" } else { "held" };
    gate.until_current();
    let relabel = |role: &str| {
        let layout = "nvidia.com/mig.config=all-2g.20gb";
        let output = gate.plane.kubectl().run(&["label", "node", fleet.name(role), layout, "--overwrite"]);
        output.succeeded();
        output
    };
    assert_eq!(relabel(other).stderr, "", "the control: nobody is there");
    let mut warned = relabel(&tenant);
    for text in [&mut warned.stdout, &mut warned.stderr] {
        *text = text.replace(fleet.name(&tenant), "gpu-1");
    }
    told::compare("mig-layout-with-tenants.txt", &namespace, &warned);
}
