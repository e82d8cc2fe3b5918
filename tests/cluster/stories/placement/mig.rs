//! Slices and shares under names of their own: reached by rewriting, or not at all.

use serde_json::json;
use sluice::subject::stamp;

use crate::stories::fleet::{a10, mixed_a100, renamed_l4, single_a100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{image, job, pod};
use crate::stories::told;

pub fn mixed_slices_are_reached_by_rewriting(gate: &mut Gate) {
    let fleet = gate.fleet(vec![
        mixed_a100("slices").guarded(),
        sliced_l4("sliced", 1).guarded(),
        a10("open", 4).allocatable("cpu", 256),
    ]);
    let namespace = gate.plane.namespace("mixed");
    let asr = pod("asr", image::ASR, 1);
    let batch = job("batch", &pod("batch", image::PLAIN, 1));
    assert_eq!(gate.lands(&fleet, &namespace, &asr), "open", "the control");
    gate.remove_workloads(&namespace);

    gate.open();
    assert_eq!(gate.lands(&fleet, &namespace, &asr), "slices");
    let stored = gate.stored(&namespace, "asr");
    let slice = json!({ "nvidia.com/mig-1g.10gb": "1" });
    let resources = &stored["spec"]["containers"][0]["resources"];
    assert_eq!((&resources["limits"], &resources["requests"]), (&slice, &slice));
    assert_eq!(stored["metadata"]["annotations"][stamp::POOLS], "a100-80gb-mig");
    // Slices are there for who prefers them; a batch Pod prefers shares, and keeps the name that it wrote.
    let (name, node) = gate.runs_job(&namespace, &batch);
    assert_eq!(fleet.role(&node), "sliced");
    let resources = gate.stored(&namespace, &name)["spec"]["containers"][0]["resources"].clone();
    assert_eq!(resources["limits"], json!({ "nvidia.com/gpu": "1" }));
}

pub fn slices_under_the_name_of_cards_need_no_rewriting(gate: &mut Gate) {
    let fleet = gate.fleet(vec![single_a100("slices").guarded(), a10("open", 4).allocatable("cpu", 256)]);
    let namespace = gate.plane.namespace("single");
    let asr = pod("asr", image::ASR, 1);
    assert_eq!(gate.lands(&fleet, &namespace, &asr), "open", "the control");
    gate.remove_workloads(&namespace);

    gate.open();
    assert_eq!(gate.lands(&fleet, &namespace, &asr), "slices");
    let calls = gate.calls(&namespace, "asr");
    assert!(!calls[0].patch.is_empty(), "{calls:?}");
    assert!(!calls[0].paths().iter().any(|path| path.contains("/resources")), "{calls:#?}");
}

pub fn shares_under_their_own_name_are_reached_by_rewriting(gate: &mut Gate) {
    let fleet = gate.fleet(vec![renamed_l4("shares", 1).guarded(), a10("open", 4).allocatable("cpu", 256)]);
    let namespace = gate.plane.namespace("renamed");
    let embedding = pod("embedding", image::EMBEDDING, 1);
    assert_eq!(gate.lands(&fleet, &namespace, &embedding), "open", "the control");
    gate.remove_workloads(&namespace);

    gate.open();
    assert_eq!(gate.lands(&fleet, &namespace, &embedding), "shares");
    let resources = gate.stored(&namespace, "embedding")["spec"]["containers"][0]["resources"].clone();
    assert_eq!(resources["limits"], json!({ "nvidia.com/gpu.shared": "1" }));
}

pub fn a_class_that_forbids_rewriting_is_refused_with_that_reason(gate: &mut Gate) {
    let fleet = gate.fleet(vec![mixed_a100("slices").guarded(), a10("open", 4)]);
    let namespace = gate.plane.namespace("as-written");
    let class = |name: &str| json!({ "metadata": { "labels": { "sluice.dev/class": name } } });
    let written = pod("speech", image::PLAIN, 1).with(&class("as-written"));
    assert_eq!(
        gate.lands(&fleet, &namespace, &written),
        "open",
        "the control: a whole card, which is no slice"
    );
    gate.remove_workloads(&namespace);

    gate.open();
    let refused = gate.apply(&namespace, &written);
    refused.failed();
    told::compare("rewriting-forbidden.txt", &namespace, &refused);
    // The rule alone makes the difference: a class that allows it gets the slice.
    assert_eq!(gate.lands(&fleet, &namespace, &written.with(&class("needs-mig"))), "slices");
}
