//! The road to the API server is cut: what was known stays known, and nothing is asserted to be missing.

use std::time::Duration;

use serde_json::json;
use sluice::subject::stamp;

use crate::harness::eventually::{A_WHILE, SOON, eventually};
use crate::harness::route::Route;
use crate::stories::fleet::{a10, h100};
use crate::stories::gate::{Gate, revision};
use crate::stories::operation::bundle::serve_by;
use crate::stories::samples::{deployment, image, pod};

// Long because it is one story, told in order: whole, cut, whole again.
pub fn a_broken_watch_keeps_the_picture_and_its_age_is_known(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded()]);
    let namespace = gate.plane.namespace("cut");
    let written = gate.policy("admission.yaml");
    gate.save_policy("admission.yaml", &written.replace("maxPictureAge: 2m", "maxPictureAge: 2s"));
    let route = Route::start(&gate.plane, Duration::ZERO);
    let sluice = serve_by(gate, &route, &[]);
    assert_eq!(revision(&sluice), revision(&gate.sluice));
    gate.open_to(&sluice);
    let missing = json!({ "spec": { "priorityClassName": "gpu-critical" } });
    let model = deployment("model", 1, &pod("model", image::LLM, 1).with(&missing)).within(&namespace);
    let kubectl = gate.plane.kubectl();
    let told = kubectl.dry_run(&model).failed();
    assert!(told.contains("priorityclass-not-found"), "the control: refused with a whole picture: {told}");
    let age = || sluice.metric("sluice_picture_age_seconds", &[]);
    let nodes = || sluice.metric("sluice_picture_objects", &[("kind", "Node")]);
    assert!(age() <= 1.0, "{}", age());

    route.cut();
    gate.fleet(vec![a10("later", 4)]);
    eventually(SOON, "the picture to be older than the policy allows", || age() > 2.0);
    let (status, page) = sluice.page("/readyz");
    assert!(status == 200 && page.contains("note: Node: watch broken"), "{status} {page}");
    let warned = kubectl.dry_run(&model);
    warned.succeeded();
    assert!(warned.stderr.contains("Warning: priorityclass-not-found"), "told, not asserted: {warned}");
    assert_eq!(nodes(), 1.0, "the picture of before");
    gate.apply(&namespace, &pod("llm", image::LLM, 1)).succeeded();
    let stamped = gate.stored(&namespace, "llm")["metadata"]["annotations"].clone();
    assert_eq!(stamped[stamp::POOLS], "h100-80gb-exclusive", "what is known is still decided upon");

    route.open(Duration::ZERO);
    eventually(A_WHILE, "the watch to be whole again", || age() <= 1.0 && nodes() == 2.0);
    let (_, page) = sluice.page("/readyz");
    assert!(!page.contains("watch broken"), "{page}");
    let told = kubectl.dry_run(&model).failed();
    assert!(told.contains("priorityclass-not-found"), "{told}");
    gate.save_policy("admission.yaml", &written);
}
