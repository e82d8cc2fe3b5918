//! Somebody edits a policy where the running program reads it.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::harness::eventually::{SOON, eventually};
use crate::harness::sluice::Sluice;
use crate::stories::fleet::{h100, sliced_l4};
use crate::stories::gate::{Gate, revision};
use crate::stories::samples::{image, pod};

const FILE: &str = "needs-mig.yaml";

/// From saving the file to the first Pod that is judged by it.
const SECONDS: Duration = Duration::from_secs(5);

// Long because it is one story, told in order: as it was, changed, broken, mended.
pub fn an_edit_takes_effect_within_seconds_and_a_broken_one_changes_nothing(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded(), sliced_l4("sliced", 1)]);
    let namespace = gate.plane.namespace("edited");
    let labels = json!({ "sluice.dev/class": "needs-mig" });
    let tenant =
        pod("tenant", image::PLAIN, 1).with(&json!({ "metadata": { "labels": labels } })).within(&namespace);
    let is_let_in = || gate.plane.kubectl().dry_run(&tenant).status == 0;
    gate.open();
    assert!(!is_let_in(), "the control: as the class is written, nothing can serve it");

    let written = gate.policy(FILE);
    let before = revision(&gate.sluice);
    let saved = Instant::now();
    gate.write_policy(FILE, &written.replace("mode: mig", "mode: exclusive"));
    eventually(SECONDS, "the Pod to be let in", is_let_in);
    eprintln!("a policy took effect {:.1} s after it was saved", saved.elapsed().as_secs_f64());
    let edited = revision(&gate.sluice);
    assert_ne!(edited, before);
    eventually(SOON, "the server beside the scheduler to have it too", || revision(&gate.extender) == edited);

    let loaded = |sluice: &Sluice| sluice.metric("sluice_policy_reload_timestamp_seconds", &[]);
    let good = [&gate.sluice, &gate.extender].map(loaded);
    gate.write_policy(FILE, &written.replace("mode: mig", "moode: mig"));
    for sluice in [&gate.sluice, &gate.extender] {
        eventually(SOON, "the fault to be counted", || {
            sluice.metric("sluice_policy_reload_success", &[]) == 0.0
        });
        let (status, told) = sluice.page("/readyz");
        assert_eq!((status, told.lines().next()), (200, Some("ready")), "{told}");
        let fault = told.lines().find_map(|line| line.strip_prefix("note: needs-mig.yaml:9:7: "));
        let fault = fault.unwrap_or_else(|| panic!("file, line and column: {told}"));
        assert!(fault.contains("`moode`") && fault.contains("mode"), "{fault}");
        assert!(
            sluice.log().contains(&fault.replace('"', "\\\"")),
            "the log says the same: {}",
            sluice.log()
        );
        assert_eq!(revision(sluice), edited, "the last good one is in force, and told");
    }
    assert_eq!([&gate.sluice, &gate.extender].map(loaded), good, "the time of the last good one");
    assert!(is_let_in(), "a broken edit changes nothing");

    gate.write_policy(FILE, &written);
    eventually(SECONDS, "the Pod to be refused again", || !is_let_in());
    let (_, told) = gate.sluice.page("/readyz");
    assert!(!told.contains("needs-mig.yaml"), "{told}");
    assert_eq!(
        (gate.sluice.metric("sluice_policy_reload_success", &[]), revision(&gate.sluice)),
        (1.0, before)
    );
}
