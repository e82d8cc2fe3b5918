//! A part of sluice is down, and the rest of the cluster goes on.

use std::time::Duration;

use serde_json::{Value, json};
use sluice::subject::stamp;

use crate::harness::eventually::{A_WHILE, SOON, eventually, throughout};
use crate::harness::objects::node_of;
use crate::harness::scheduling::Scheduler;
use crate::harness::sluice::Sluice;
use crate::harness::webhooks::at_loopback;
use crate::stories::fleet::{h100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{Sample, image, pod};
use crate::stories::shipped::{NAMESPACE, Overlay, SCHEDULER};

/// A Pod that asks for no GPU.
fn plain(name: &str) -> Sample {
    pod(name, image::PLAIN, 0).with_container(&json!({ "resources": null }))
}

// Long because it is one story, told in order.
pub fn without_the_extender_gpu_pods_wait_and_others_do_not(gate: &mut Gate) {
    // Two cards or eight shares: without an extender, and without a record of the webhook, the emptier node wins.
    let fleet = gate.fleet(vec![
        h100("whole", 8),
        sliced_l4("sliced", 2).allocatable("cpu", 512).allocatable("memory", "4Ti"),
    ]);
    let namespace = gate.plane.namespace("no-extender");
    let ours = json!({ "spec": { "schedulerName": SCHEDULER } });
    let llm = pod("llm", image::LLM, 2).asking("16", "64Gi").with(&ours);
    let scheduler =
        Overlay::build(&gate.plane, "enforce").gpu_scheduler(&gate.plane, gate.extender.extender());
    assert_eq!(gate.lands(&fleet, &namespace, &llm.clone().named("before")), "whole", "with its extender");

    gate.extender.kill();
    gate.apply(&namespace, &llm.clone().named("waits")).succeeded();
    for (name, scheduler) in [("default", "default-scheduler"), ("other", SCHEDULER)] {
        let cpu = plain(name).with(&json!({ "spec": { "schedulerName": scheduler } }));
        gate.apply(&namespace, &cpu).succeeded();
    }
    gate.plane.bound(&namespace, "default");
    eventually(SOON, "the waiting Pod to say why", || {
        let told = gate.plane.events(&namespace, "waits").join("\n");
        if told.contains("FailedScheduling") && told.contains("connection refused") {
            Ok(())
        } else {
            Err(told)
        }
    });
    throughout(Duration::from_secs(2), "the GPU Pod waits", || {
        node_of(&gate.plane.pod(&namespace, "waits")).map_or(Ok(()), Err)
    });

    // The control: a scheduler that may go on without its extender takes the wrong node.
    let mut careless = scheduler.clone();
    careless.configuration["extenders"][0]["ignorable"] = json!(true);
    gate.plane.reconfigure_scheduler(&careless);
    assert_eq!(fleet.role(&gate.plane.bound(&namespace, "waits")), "sliced", "the control");
    gate.plane.reconfigure_scheduler(&scheduler);

    gate.apply(&namespace, &llm.clone().named("recovers")).succeeded();
    throughout(Duration::from_secs(2), "the GPU Pod waits", || {
        node_of(&gate.plane.pod(&namespace, "recovers")).map_or(Ok(()), Err)
    });
    gate.extender.start();
    gate.until_current();
    let node =
        eventually(A_WHILE, "the GPU Pod to be placed", || node_of(&gate.plane.pod(&namespace, "recovers")));
    assert_eq!(fleet.role(&node), "whole");
}

// Long because it is one story, told in order.
pub fn availability_lets_an_unjudged_pod_in_and_keeps_it_off_wrong_nodes(gate: &mut Gate) {
    let fleet = gate.fleet(vec![
        sliced_l4("sliced", 2).allocatable("cpu", 512).allocatable("memory", "4Ti"),
        sliced_l4("guarded", 2).guarded(),
    ]);
    let namespace = gate.plane.namespace("availability");
    let llm = pod("llm", image::LLM, 1).asking("16", "64Gi");

    let overlay = Overlay::build(&gate.plane, "availability");
    gate.sluice.kill();
    admit_by(gate, &overlay);
    // The control: who leaves the default scheduler as it was sees the Pod on a share of a card.
    assert_eq!(gate.lands(&fleet, &namespace, &llm), "sliced", "the control");
    gate.plane.kubectl().run(&["delete", "pod", "llm", "-n", &namespace, "--force"]).succeeded();

    let extender = extend_the_default_scheduler(gate, &overlay);
    let told = gate.apply(&namespace, &llm);
    told.succeeded();
    assert_eq!(told.stderr, "", "nobody is there who could warn");
    let stored = gate.stored(&namespace, "llm");
    let unchanged = &stored["metadata"]["annotations"];
    assert!(stamp::KEYS.iter().all(|key| unchanged[key].is_null()), "{unchanged:#}");
    assert_eq!(
        (&stored["spec"]["affinity"], &stored["spec"]["schedulerName"]),
        (&Value::Null, &json!("default-scheduler"))
    );
    eventually(SOON, "the reasons to be in its event", || {
        let told = gate.plane.events(&namespace, "llm").join("\n");
        let reasons = [
            "FailedScheduling: 0/2 nodes are available",
            "1 node(s) had untolerated taint(s)",
            "1 sluice pool-not-candidate, unmet: the node belongs to a pool that can serve the Pod's class",
        ];
        if reasons.iter().all(|reason| told.contains(reason)) { Ok(()) } else { Err(told) }
    });
    // A node that can serve it comes, and it is placed: nobody has to send it again.
    let whole = gate.fleet(vec![h100("whole", 8)]);
    let node = eventually(A_WHILE, "the Pod to be placed", || {
        node_of(&gate.plane.pod(&namespace, "llm"))
            .ok_or_else(|| gate.plane.events(&namespace, "llm").join("\n"))
    });
    assert_eq!(whole.role(&node), "whole");
    assert!(
        extender.metric("sluice_requests_total", &[("endpoint", "filter"), ("result", "answered")]) >= 2.0
    );

    gate.plane.reconfigure_scheduler(&Scheduler::default());
    gate.sluice.start();
}

/// Puts the webhooks and the backstop of an overlay before the API server, and waits until a GPU Pod is let in
/// although nobody answers.
fn admit_by(gate: &Gate, overlay: &Overlay) {
    let kinds = [
        "MutatingWebhookConfiguration",
        "ValidatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
    ];
    let admission = overlay.of_kinds(&kinds);
    gate.plane
        .kubectl()
        .apply(&at_loopback(&admission, gate.sluice.url(), &gate.plane.pki().ca_bundle()))
        .succeeded();
    // The static part of the backstop is in force, and the Pod that is its control is let in.
    let pinned = pod("pinned", image::PLAIN, 1).with(&json!({ "spec": { "nodeName": "somewhere" } }));
    gate.plane.until_admission("the backstop to be in force", &pinned.within("default"), |output| {
        output.stderr.contains("nodename-bypass")
    });
    gate.plane.kubectl().dry_run(&pod("free", image::LLM, 1).within("default")).succeeded();
}

/// The overlay's extender, and the default scheduler with what the overlay says to merge.
fn extend_the_default_scheduler(gate: &mut Gate, overlay: &Overlay) -> Sluice {
    let kubeconfig = gate.plane.kubeconfig_of_service_account(NAMESPACE, "sluice");
    let arguments = overlay.arguments("sluice-extender", gate.mounted());
    let extender = Sluice::serve(&gate.plane, &kubeconfig, &arguments).until_ready();
    let text =
        overlay.named("ConfigMap", "sluice-default-scheduler")["data"]["default-scheduler.yaml"].clone();
    let mut shipped = Scheduler::from_yaml("shipped", text.as_str().expect("a configuration"));
    let url = format!("{}/scheduler", extender.url());
    shipped = shipped.with_extenders_at(&url, &gate.plane.pki().ca_bundle());
    shipped.configuration["extenders"][0]["tlsConfig"].as_object_mut().expect("an object").remove("caFile");
    let merged = Scheduler::default().with_extender(shipped.configuration["extenders"][0].clone());
    gate.plane.reconfigure_scheduler(&merged);
    extender
}
