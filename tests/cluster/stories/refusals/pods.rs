//! Pods that cannot run as they are written.

use std::time::Duration;

use serde_json::json;

use crate::harness::eventually::{SOON, eventually, throughout};
use crate::harness::objects::node_of;
use crate::stories::fleet::{a10, h100};
use crate::stories::gate::Gate;
use crate::stories::samples::{image, pod};
use crate::stories::told;

/// The API server holds the requests of such resources equal to their limits between mutating and validating
/// admission: what people read are its words, with sluice and without.
pub fn a_request_that_differs_from_its_limit_is_refused_before_we_could(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded()]);
    let namespace = gate.plane.namespace("request");
    let unequal = pod("llm", image::LLM, 2)
        .with_container(&json!({ "resources": { "requests": { "nvidia.com/gpu": 1 } } }));
    let equal = unequal.clone().named("equal").with_container(&json!({ "resources": { "requests": null } }));

    let alone = gate.apply(&namespace, &unequal);
    alone.failed();
    told::compare("request-differs-from-limit.txt", &namespace, &alone);
    gate.open();
    let refused = gate.apply(&namespace, &unequal);
    refused.failed();
    told::compare("request-differs-from-limit.txt", &namespace, &refused);
    // The control: the same Pod with a limit alone is let in.
    gate.apply(&namespace, &equal).succeeded();
}

pub fn a_limit_that_differs_from_what_the_engine_needs_is_refused(gate: &mut Gate) {
    let fleet = gate.fleet(vec![h100("whole", 8)]);
    let namespace = gate.plane.namespace("parallel");
    let four = pod("llm", image::LLM, 2)
        .with_container(&json!({ "args": ["--model", "m", "--tensor-parallel-size", "4"] }));
    assert_eq!(
        gate.lands(&fleet, &namespace, &four),
        "whole",
        "the control: it holds two cards, and needs four"
    );
    gate.remove_workloads(&namespace);

    gate.open();
    let refused = gate.apply(&namespace, &four);
    refused.failed();
    told::compare("limit-differs-from-engine.txt", &namespace, &refused);
}

pub fn an_affinity_that_no_node_meets_is_refused(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8), a10("open", 4)]);
    let namespace = gate.plane.namespace("nowhere");
    let product = json!({ "key": "nvidia.com/gpu.product", "operator": "In", "values": ["NVIDIA-H100"] });
    let affinity = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{ "matchExpressions": [product] }] } } });
    let llm = pod("llm", image::LLM, 1).with(&json!({ "spec": { "affinity": affinity } }));
    gate.apply(&namespace, &llm).succeeded();
    eventually(SOON, "the scheduler to find no node", || {
        let told = gate.plane.pending_because(&namespace, "llm");
        if told.contains("2 node(s) didn't match Pod's node affinity/selector") { Ok(()) } else { Err(told) }
    });
    throughout(Duration::from_secs(1), "the control: it stays Pending", || {
        node_of(&gate.plane.pod(&namespace, "llm")).map_or(Ok(()), Err)
    });
    gate.remove_workloads(&namespace);

    gate.open();
    let refused = gate.apply(&namespace, &llm);
    refused.failed();
    told::compare("no-such-node.txt", &namespace, &refused);
}

/// No kubelet is here that would probe: what is seen of the bad outcome is that nobody says a word.
pub fn a_probe_that_kills_a_loading_model_is_warned_about(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded()]);
    let namespace = gate.plane.namespace("probe");
    let health = json!({ "path": "/health", "port": 8000 });
    let llm = pod("llm", image::LLM, 1).with_container(&json!({
        "livenessProbe": { "httpGet": health, "initialDelaySeconds": 30, "periodSeconds": 10 },
        "readinessProbe": { "httpGet": health },
    }));
    gate.open();
    let before = gate.set_severity("startup-budget-too-small", "audit");
    let silent = gate.apply(&namespace, &llm);
    silent.succeeded();
    assert_eq!(silent.stderr, "", "the control: with that one rule off");
    gate.remove_workloads(&namespace);

    gate.save_policy("admission.yaml", &before);
    let warned = gate.apply(&namespace, &llm);
    warned.succeeded();
    told::compare("probe-kills-loading-model.txt", &namespace, &warned);
}
