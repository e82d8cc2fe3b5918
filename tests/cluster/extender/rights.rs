//! The account of the scheduler may patch Nodes; what it may put into a patch is limited by a shipped policy.

use super::ground::Ground;
use crate::harness::eventually::{SOON, eventually};
use crate::harness::kubectl::Kubectl;
use crate::harness::nodes::node;
use crate::stories::shipped::{NAMESPACE, SCHEDULER};

pub fn the_wake_up_may_change_one_annotation_and_nothing_else(ground: &mut Ground) {
    let fleet = ground.plane.create_nodes(vec![node("any")]);
    let name = fleet.name("any");
    ground.plane.kubectl().run(&["annotate", "node", name, "theirs=1"]).succeeded();
    let ours = ground.plane.kubectl_with(&ground.plane.kubeconfig_of_service_account(NAMESPACE, SCHEDULER));
    let patch =
        |kubectl: &Kubectl, patch: &str| kubectl.run(&["patch", "node", name, "--type=merge", "-p", patch]);
    let label = r#"{"metadata":{"labels":{"a":"b"}}}"#;
    // The control: rights alone do not limit what is patched.
    patch(&ours, label).succeeded();

    ground.overlay.apply(&ground.plane, &["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]);
    let mut tries = 0;
    let refused = eventually(SOON, "the policy to be in force", || {
        // Another value each time: a patch that changes nothing is nobody's business.
        tries += 1;
        let output = patch(&ours, &format!(r#"{{"metadata":{{"labels":{{"a":"{tries}"}}}}}}"#));
        if output.status == 0 { Err(output.to_string()) } else { Ok(output.stderr) }
    });
    assert!(refused.contains("nothing of a Node but its annotation sluice.dev/wake-up"), "{refused}");
    for forbidden in [
        r#"{"spec":{"unschedulable":true}}"#,
        r#"{"spec":{"taints":[{"key":"a","effect":"NoSchedule"}]}}"#,
        r#"{"metadata":{"annotations":{"theirs":"2"}}}"#,
        r#"{"metadata":{"annotations":{"theirs":null}}}"#,
        r#"{"metadata":{"annotations":{"sluice.dev/wake-up":"1","new":"1"}}}"#,
        r#"{"metadata":{"finalizers":["sluice.dev/stay"]}}"#,
    ] {
        patch(&ours, forbidden).failed();
    }
    for value in [r#""1""#, r#""2""#, "null"] {
        patch(&ours, &format!(r#"{{"metadata":{{"annotations":{{"sluice.dev/wake-up":{value}}}}}}}"#))
            .succeeded();
    }
    // Nobody else is meant.
    patch(&ground.plane.kubectl(), label).succeeded();
}
