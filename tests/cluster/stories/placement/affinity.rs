//! The user's own choice of nodes, which sluice may narrow and never widen.

use std::collections::BTreeSet;
use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::eventually::throughout;
use crate::harness::nodes::SampleNode;
use crate::harness::objects::node_of;
use crate::stories::fleet::{h100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{image, pod};

const REQUIRED: &str =
    "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";

pub fn two_terms_stay_a_choice_between_the_same_two(gate: &mut Gate) {
    let zone = |node: SampleNode, zone: &str| node.label("topology.kubernetes.io/zone", zone);
    let large = |node: SampleNode| node.allocatable("cpu", 512).allocatable("memory", "4Ti");
    let fleet = gate.fleet(vec![
        zone(h100("whole-a", 2), "a"),
        zone(h100("whole-b", 2), "b"),
        large(zone(sliced_l4("sliced-a", 2), "a")),
        large(zone(sliced_l4("sliced-b", 2), "b")),
        // What an OR of the pool's terms would let in: whole cards outside the two zones.
        large(zone(h100("whole-c", 8), "c")),
    ]);
    let namespace = gate.plane.namespace("terms");
    let term = |zone: &str| {
        let zone = json!({ "key": "topology.kubernetes.io/zone", "operator": "In", "values": [zone] });
        json!({ "matchExpressions": [zone] })
    };
    let affinity = json!({ "nodeAffinity": { "requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [term("a"), term("b")] } } });
    let llm =
        pod("one", image::LLM, 2).asking("16", "64Gi").with(&json!({ "spec": { "affinity": affinity } }));
    let control = gate.lands(&fleet, &namespace, &llm);
    assert!(control.starts_with("sliced-"), "the control: two shares of one card, on {control}");
    gate.remove_workloads(&namespace);

    gate.open();
    let landed: BTreeSet<String> =
        ["one", "two"].map(|name| gate.lands(&fleet, &namespace, &llm.clone().named(name))).into();
    assert_eq!(landed, BTreeSet::from(["whole-a".to_owned(), "whole-b".to_owned()]), "both choices are open");
    let spec = gate.stored(&namespace, "one")["spec"].clone();
    let terms = spec.pointer(REQUIRED).and_then(Value::as_array).expect("a required affinity");
    assert_eq!(terms.len(), 2, "{terms:#?}");
    for (narrowed, written) in terms.iter().zip([term("a"), term("b")]) {
        let all = narrowed["matchExpressions"].as_array().expect("expressions");
        assert_eq!(all[0], written["matchExpressions"][0]);
        assert!(all.len() > 1, "narrowed: {all:#?}");
    }
    // Both are taken now. The third waits, although whole cards are free elsewhere.
    gate.apply(&namespace, &llm.named("three")).succeeded();
    throughout(Duration::from_secs(2), "the third Pod waits", || {
        node_of(&gate.plane.pod(&namespace, "three")).map_or(Ok(()), Err)
    });
}
