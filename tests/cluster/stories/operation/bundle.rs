//! Somebody applies everything at once, and the watch is late: what is in the same bundle is not missing.

use std::time::Duration;

use serde_json::{Value, json};

use crate::harness::command::Output;
use crate::harness::route::Route;
use crate::harness::sluice::Sluice;
use crate::stories::fleet::h100;
use crate::stories::gate::Gate;
use crate::stories::samples::{deployment, image, pod};
use crate::stories::shipped::{NAMESPACE, Overlay};

/// How late the API server's word reaches the server; a refusal waits up to 300 ms.
const LATE: Duration = Duration::from_millis(200);

/// Bundles that the control applies at most: one wrong refusal is enough.
const CONTROLS: usize = 5;

pub fn what_is_applied_together_is_never_missed(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8)]);
    let count =
        std::env::var("SLUICE_BUNDLES").map_or(40, |count| count.parse().expect("a number of bundles"));
    let route = Route::start(&gate.plane, LATE);
    let late = |more: &[&str]| serve_by(gate, &route, more);

    let hasty = late(&["--wait-for-watch=0"]);
    gate.open_to(&hasty);
    let refused = (0..CONTROLS).map(|number| apply(gate, &format!("hasty-{number}")));
    let refused: Vec<Output> = refused.filter(|output| output.status != 0).collect();
    let told = refused.first().expect("the control: who does not wait refuses what is right");
    assert!(told.stderr.contains("priorityclass-not-found"), "{told}");
    assert!(hasty.metric("sluice_refusals_total", &[]) >= 1.0);

    // Nobody is asked any more but the next.
    drop(hasty);
    let patient = late(&[]);
    gate.open_to(&patient);
    for number in 0..count {
        apply(gate, &format!("patient-{number}")).succeeded();
    }
    assert_eq!(patient.metric("sluice_refusals_total", &[]), 0.0, "Pods that controllers made count too");
    let waits = |result| patient.metric("sluice_absence_waits_total", &[("result", result)]);
    eprintln!("{count} bundles; the watch was waited for {} times", waits("appeared"));
    assert_eq!(waits("missing"), 0.0);
    assert!(waits("appeared") >= 1.0, "the watch was late indeed");
}

pub fn the_labels_of_a_namespace_count_from_its_creation(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8)]);
    let route = Route::start(&gate.plane, LATE);
    // Refused elsewhere: an engine that works on four cards, and asks for two. Here it is only observed.
    let observed = |name: &str| {
        let labels = json!({ "sluice.dev/observed": "yes" });
        let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } });
        let unequal =
            pod("model", image::LLM, 2).with_container(&json!({ "args": ["--tensor-parallel-size", "4"] }));
        gate.plane.kubectl().apply(&format!("{namespace}\n---\n{}", unequal.within(name)))
    };

    let hasty = serve_by(gate, &route, &["--wait-for-watch=0"]);
    gate.open_to(&hasty);
    let told = observed("hasty-observed").failed();
    assert!(
        told.contains("tp-gpu-mismatch"),
        "the control: judged by the policy of other namespaces: {told}"
    );

    drop(hasty);
    let patient = serve_by(gate, &route, &[]);
    gate.open_to(&patient);
    for number in 0..5 {
        observed(&format!("observed-{number}")).succeeded();
    }
}

/// The shipped server, on a road of its own to the API server.
pub fn serve_by(gate: &Gate, route: &Route, more: &[&str]) -> Sluice {
    let kubeconfig = gate.plane.kubeconfig_of_service_account(NAMESPACE, "sluice");
    let mut arguments = Overlay::build(&gate.plane, "enforce").arguments("sluice", gate.mounted());
    arguments.extend(more.iter().map(ToString::to_string));
    Sluice::serve(&gate.plane, &route.kubeconfig(&kubeconfig), &arguments).until_ready()
}

/// A namespace and all that belongs to a model, in one `kubectl apply`.
fn apply(gate: &Gate, name: &str) -> Output {
    let within = |mut object: Value| {
        object["metadata"] = json!({ "name": "model", "namespace": name });
        object
    };
    let labels = json!({ "app": "model" });
    let model = pod("model", image::LLM, 1).with(&json!({ "spec": { "priorityClassName": name } }));
    let alone = model.clone().named("alone").within(name);
    let all = [
        json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name } }),
        json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": { "name": name },
            "value": 100_000 }),
        within(json!({ "apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "spec": { "maxUnavailable": 1, "selector": { "matchLabels": labels } } })),
        within(json!({ "apiVersion": "resource.k8s.io/v1", "kind": "ResourceClaimTemplate",
            "spec": { "spec": { "devices": { "requests": [
                { "name": "nic", "exactly": { "deviceClassName": "nic.example" } }] } } } })),
        within(deployment("model", 1, &model).0),
    ];
    let texts: Vec<String> = all.iter().map(Value::to_string).chain([alone]).collect();
    gate.plane.kubectl().apply(&texts.join("\n---\n"))
}
