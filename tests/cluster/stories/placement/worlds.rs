//! Two replicas never have quite the same picture: one changes the Pod, another judges it a moment earlier or later.

use serde_json::Value;

use crate::harness::sluice::Sluice;
use crate::harness::webhooks::at_loopback;
use crate::stories::fleet::{a10, mixed_a100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{image, pod};
use crate::stories::shipped;

pub fn what_was_legal_a_moment_ago_is_not_refused(gate: &mut Gate) {
    let fleet = gate.fleet(vec![
        sliced_l4("sliced", 1).guarded(),
        a10("open", 4).allocatable("cpu", 256),
        mixed_a100("slices").guarded(),
    ]);
    let namespace = gate.plane.namespace("worlds");
    let embedding = pod("embedding", image::EMBEDDING, 1);
    assert_eq!(gate.lands(&fleet, &namespace, &embedding), "open", "the control: nobody is asked");
    gate.remove_workloads(&namespace);

    let picture =
        |roles: &[&str]| picture(gate, &roles.iter().map(|role| fleet.name(role)).collect::<Vec<_>>());
    let serving = |roles: &[&str]| gate.serve_picture(&picture(roles).to_string());
    let now = serving(&["sliced", "open"]);
    // Slices, which the class prefers, were there before, or have come since. The choice is still a legal one.
    for (when, judge) in
        [("before", serving(&["sliced", "slices"])), ("after", serving(&["sliced", "slices", "open"]))]
    {
        put(gate, &now, &judge);
        assert_eq!(gate.lands(&fleet, &namespace, &embedding), "sliced", "judged by the picture {when}");
        assert!(judge.metric("sluice_requests_total", &[("endpoint", "validate"), ("kind", "Pod")]) > 0.0);
        gate.remove_workloads(&namespace);
    }
    // The control: a picture in which the chosen pool is gone does refuse it.
    let gone = serving(&["open", "slices"]);
    put(gate, &now, &gone);
    let refused = gate.apply(&namespace, &embedding).failed();
    assert!(refused.contains("sluice refused Pod"), "{refused}");
}

/// One server changes Pods, the other judges them.
fn put(gate: &Gate, changing: &Sluice, judging: &Sluice) {
    let ca = gate.plane.pki().ca_bundle();
    let mutating = at_loopback(&shipped::text("webhook-config/mutating.yaml"), changing.url(), &ca);
    let validating = at_loopback(&shipped::text("webhook-config/validating.yaml"), judging.url(), &ca);
    gate.put(&format!("{mutating}\n---\n{validating}"));
}

/// A List of some of the cluster's nodes, its PriorityClasses and its Namespaces, as kubectl prints it.
fn picture(gate: &Gate, nodes: &[&str]) -> Value {
    let mut list = gate.plane.kubectl().get(&["nodes,priorityclasses,namespaces"]);
    let items = list["items"].as_array_mut().expect("a list");
    items.retain(|item| item["kind"] != "Node" || nodes.iter().any(|name| item["metadata"]["name"] == *name));
    list
}
