//! Cards without MIG: a class that prefers it lands on its next choice and says so, one that needs it is refused.

use serde_json::json;
use sluice::subject::stamp;

use crate::stories::fleet::{a10, mixed_a100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{image, pod};
use crate::stories::told;

pub fn where_no_card_has_mig_the_next_choice_is_taken_and_told(gate: &mut Gate) {
    let fleet = gate.fleet(vec![sliced_l4("sliced", 1).guarded(), a10("open", 4).allocatable("cpu", 256)]);
    let namespace = gate.plane.namespace("fallback");
    let prefers = pod("embedding", image::EMBEDDING, 1);
    let needs = pod("tenant", image::PLAIN, 1)
        .with(&json!({ "metadata": { "labels": { "sluice.dev/class": "needs-mig" } } }));
    for one in [&prefers, &needs] {
        assert_eq!(gate.lands(&fleet, &namespace, one), "open", "the control");
    }
    gate.remove_workloads(&namespace);

    gate.open();
    let counted = || gate.sluice.metric("sluice_fallbacks_total", &[("reason", "mig-unsupported-hardware")]);
    let before = counted();
    let warned = gate.apply(&namespace, &prefers);
    warned.succeeded();
    told::compare("fallback-warning.txt", &namespace, &warned);
    assert_eq!(fleet.role(&gate.plane.bound(&namespace, prefers.name())), "sliced");
    let stamped = gate.stored(&namespace, prefers.name())["metadata"]["annotations"].clone();
    let reason = stamped[stamp::FALLBACK].as_str().expect("the reason is on the Pod");
    assert!(reason.contains("L4: not capable of MIG"), "{reason}");
    assert!(counted() > before, "the reason is counted");
    let refused = gate.apply(&namespace, &needs);
    refused.failed();
    told::compare("mig-needed.txt", &namespace, &refused);

    // With slices in the cluster the same Pods land on them, and nobody says a word.
    gate.remove_workloads(&namespace);
    let slices = gate.fleet(vec![mixed_a100("slices").guarded()]);
    gate.until_current();
    let before = counted();
    for one in [&prefers, &needs] {
        let silent = gate.apply(&namespace, one);
        silent.succeeded();
        assert_eq!(silent.stderr, "");
        assert_eq!(slices.role(&gate.plane.bound(&namespace, one.name())), "slices");
        let stamped = gate.stored(&namespace, one.name())["metadata"]["annotations"].clone();
        assert!(stamped[stamp::FALLBACK].is_null(), "{stamped:#}");
    }
    assert_eq!(counted(), before);
}
