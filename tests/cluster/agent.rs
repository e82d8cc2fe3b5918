//! Stories of the node agent: recorded hardware, a kubelet of the story's own, the shipped rights, a real API
//! server, and what the webhooks and the scheduler make of it.

mod kubelet;
mod nodes;
mod running;

use std::time::Duration;

use serde_json::{Value, json};
use sluice::subject::stamp;

use crate::harness::eventually::{SOON, eventually, throughout};
use crate::harness::groups::Group;
use crate::stories;
use crate::stories::fleet::sliced_l4;
use crate::stories::gate::Gate;
use crate::stories::samples::{image, pod};

use kubelet::Kubelet;
use nodes::{SLICES, h200_in_slices, h200_whole};
use running::{Running, install};

/// Every group of this file.
pub fn group() -> Group {
    Group::new(
        "agent",
        stories![
            mig_that_only_the_agent_sees_turned_off_changes_the_next_decision,
            a_node_is_opened_when_its_cards_are_ready_and_closed_when_they_are_lost,
            an_agent_speaks_for_its_own_node_only,
        ],
    )
}

fn mig_that_only_the_agent_sees_turned_off_changes_the_next_decision(gate: &mut Gate) {
    install(&gate.plane);
    // A kind that was not there at the start is asked for again after a while.
    eventually(Duration::from_secs(40), "the server to watch GpuNodes", || {
        let (_, page) = gate.sluice.page("/readyz");
        if page.contains("GpuNode") { Err(page) } else { Ok(()) }
    });
    let fleet = gate.fleet(vec![h200_in_slices("slices").guarded(), sliced_l4("sliced", 1).guarded()]);
    let node = fleet.name("slices").to_owned();
    let kubelet = Kubelet::start(&gate.plane, &node, &SLICES);
    let agent =
        Running::start(&gate.plane, &node, "constructed/h200-mig-mixed.json", &kubelet, &["--no-taint"]);
    agent.until("MIG to be told", |status| status["mig"] == "enabled, 5 MIG devices");
    let namespace = gate.plane.namespace("believed");
    gate.open();
    assert_eq!(
        gate.lands(&fleet, &namespace, &pod("asr", image::ASR, 1)),
        "slices",
        "the control: all agree"
    );
    gate.remove_workloads(&namespace);

    // Labels, allocatable and the kubelet's devices stay as they are.
    agent.change("recorded/h200-idle.json");
    agent.until("MIG to be told off", |status| status["mig"] == "capable, disabled");
    eventually(Duration::from_secs(10), "the next decision to pass the slices over", || {
        let pools = pools_of(gate, &namespace);
        if pools.contains("h200") { Err(pools) } else { Ok(()) }
    });
    assert_eq!(gate.lands(&fleet, &namespace, &pod("asr", image::ASR, 1)), "sliced");
    let required = pod("speech", image::PLAIN, 1)
        .with(&json!({ "metadata": { "labels": { "sluice.dev/class": "needs-mig" } } }));
    let refused = gate.apply(&namespace, &required).failed();
    assert!(refused.contains("NVML reports MIG enabled on none of 1 card"), "{refused}");
    assert!(refused.contains("nvidia.com/mig-1g.18gb"), "the other source is named too: {refused}");
}

fn a_node_is_opened_when_its_cards_are_ready_and_closed_when_they_are_lost(gate: &mut Gate) {
    install(&gate.plane);
    let fleet = gate.fleet(vec![h200_whole("joins").taint("sluice.dev/not-ready", "", "NoSchedule")]);
    let node = fleet.name("joins").to_owned();
    let kubelet = Kubelet::start(&gate.plane, &node, &[]);
    let agent = Running::start(&gate.plane, &node, "recorded/h200-idle.json", &kubelet, &[]);
    let tainted = || {
        let node = gate.plane.kubectl().get(&["node", &node]);
        let taints = node["spec"]["taints"].as_array().cloned().unwrap_or_default();
        taints.iter().any(|taint| taint["key"] == "sluice.dev/not-ready")
    };
    agent.until("the reason to be told", |status| reason(status) == "NothingAdvertised");
    throughout(Duration::from_secs(3), "the node stays closed", tainted);

    kubelet.hands_out(&nodes::CARD);
    agent.until("the node to be ready", |status| reason(status) == "AsAdvertised");
    eventually(SOON, "the node to be opened", || !tainted());
    let listed = gate.plane.kubectl().run(&["get", "gpunodes"]).succeeded();
    for word in
        ["PRODUCT", "1 × NVIDIA H200", "capable, disabled", "none", "580.159.04", "True", "AsAdvertised"]
    {
        assert!(listed.contains(word), "{word} in\n{listed}");
    }

    agent.change("constructed/driver-not-loaded.json");
    eventually(SOON, "the node to be closed again", tainted);
    agent.until("the loss to be told", |status| status["conditions"][0]["reason"] == "NoDriver");
    assert!(agent.metrics().contains("\nsluice_agent_hardware_readable 0\n"), "{}", agent.metrics());
}

fn an_agent_speaks_for_its_own_node_only(gate: &mut Gate) {
    install(&gate.plane);
    let fleet = gate.fleet(vec![h200_whole("own"), h200_whole("other")]);
    let (own, other) = (fleet.name("own").to_owned(), fleet.name("other").to_owned());
    let kubectl = gate.plane.kubectl_with(&running::token(&gate.plane, &own));
    let gpu_node = |name: &str| {
        json!({ "apiVersion": "sluice.dev/v1alpha1", "kind": "GpuNode", "metadata": { "name": name } })
            .to_string()
    };
    let refused = kubectl.create(&gpu_node(&other)).failed();
    assert!(refused.contains("writes the GpuNode of its own node only"), "{refused}");
    kubectl.create(&gpu_node(&own)).succeeded();
    let label = ["patch", "node", &own, "-p", r#"{"metadata":{"labels":{"x":"y"}}}"#];
    let refused = kubectl.run(&label).failed();
    assert!(refused.contains("changes nothing of a Node but its startup taint"), "{refused}");
    let close = r#"{"spec":{"taints":[{"key":"sluice.dev/not-ready","effect":"NoSchedule"}]}}"#;
    let refused = kubectl.run(&["patch", "node", &other, "-p", close]).failed();
    assert!(refused.contains("keeps the startup taint of its own node only"), "{refused}");
    kubectl.run(&["patch", "node", &own, "-p", close]).succeeded();

    // The control: by its rights alone it could.
    let policies = ["sluice-agent-own-gpunode", "sluice-agent-own-taint"];
    for policy in policies {
        gate.plane.kubectl().run(&["delete", "validatingadmissionpolicybinding", policy]).succeeded();
    }
    eventually(SOON, "the policies to be gone", || {
        let output = kubectl.create(&gpu_node(&other));
        if output.status == 0 { Ok(()) } else { Err(output.stderr) }
    });
}

/// The pools that an ASR Pod would be led to now.
fn pools_of(gate: &Gate, namespace: &str) -> String {
    let arguments = ["create", "--dry-run=server", "-n", namespace, "-o", "json", "-f", "-"];
    let asr = pod("doubt", image::ASR, 1).within(namespace);
    let changed = gate.plane.kubectl().run_with_input(&arguments, &asr).succeeded();
    let changed: Value = serde_json::from_str(&changed).expect("kubectl prints JSON");
    changed["metadata"]["annotations"][stamp::POOLS].to_string()
}

/// Reason of the condition Ready.
fn reason(status: &Value) -> &str {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ready = conditions.iter().find(|condition| condition["type"] == "Ready");
    ready.and_then(|ready| ready["reason"].as_str()).unwrap_or_default()
}
