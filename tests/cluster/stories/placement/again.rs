//! The same Pod seen again: by the same webhook, after another webhook, and by a server with another picture.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde_json::{Value, json};
use sluice::subject::stamp;

use crate::harness::stub::{Protocols, Stub, allowed};
use crate::stories::fleet::{a10, h100, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::rounds::Call;
use crate::stories::samples::{image, pod};

const OURS: &str = "steer.sluice.dev";

pub fn a_pod_that_was_changed_once_is_not_changed_again(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded(), sliced_l4("open", 1)]);
    let namespace = gate.plane.namespace("again");
    gate.open();
    let llm = pod("llm", image::LLM, 2);
    gate.apply(&namespace, &llm).succeeded();
    let first = gate.calls(&namespace, "llm");
    assert!(first.len() == 1 && !first[0].patch.is_empty(), "the control: the first time it is changed");
    let once = gate.stored(&namespace, "llm");
    gate.send_again(&namespace, "llm");
    let second = gate.calls(&namespace, "llm");
    assert_eq!((second.len(), second[0].paths()), (1, vec![]), "{second:#?}");
    let twice = gate.stored(&namespace, "llm");
    for key in stamp::KEYS {
        let of = |pod: &Value| pod["metadata"]["annotations"][key].clone();
        assert_eq!(of(&twice), of(&once), "{key}");
    }
}

pub fn after_an_injector_only_its_container_is_touched(gate: &mut Gate) {
    gate.fleet(vec![h100("whole", 8).guarded(), a10("open", 4)]);
    let namespace = gate.plane.namespace("injector");
    let llm = pod("llm", image::LLM, 1);
    let injector = inject_after_us(gate);
    let injected = || {
        let containers = gate.stored(&namespace, "llm")["spec"]["containers"].clone();
        assert_eq!((containers.as_array().map(Vec::len), &containers[1]["name"]), (Some(2), &json!("proxy")));
        containers[1].clone()
    };
    gate.plane.until_admission("the injector to be asked", &llm.within(&namespace), |_| {
        !injector.seen().is_empty()
    });
    gate.apply(&namespace, &llm).succeeded();
    assert!(injected()["env"].is_null(), "the control: nothing hides the cards from the injected container");
    gate.remove_workloads(&namespace);

    gate.open();
    gate.apply(&namespace, &llm).succeeded();
    let calls = gate.calls(&namespace, "llm");
    let [first, theirs, second] = calls.as_slice() else { panic!("three calls: {calls:#?}") };
    assert_eq!((first.round, second.round, second.webhook.as_str()), (0, 1, OURS));
    assert!(
        first.paths().contains(&"/spec/affinity") && theirs.paths() == ["/spec/containers/1"],
        "{calls:#?}"
    );
    assert!(second.paths().iter().all(is_of_the_injected_or_the_stamp), "{second:#?}");
    assert_eq!(injected()["env"], json!([{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "void" }]));

    gate.send_again(&namespace, "llm");
    let third = gate.calls(&namespace, "llm");
    let ours: Vec<&Call> = third.iter().filter(|call| call.webhook == OURS).collect();
    assert_eq!((ours.len(), ours[0].paths()), (1, vec![]), "{third:#?}");
}

fn is_of_the_injected_or_the_stamp(path: &&str) -> bool {
    path.starts_with("/spec/containers/1/") || path.starts_with("/metadata/annotations/sluice.dev~1")
}

/// A sidecar injector as service meshes have one: a mutating webhook whose name sorts after ours.
fn inject_after_us(gate: &Gate) -> Stub {
    let stub = Stub::start(gate.plane.pki(), Protocols::Http2Too, |_, review| {
        let mut answer = allowed(review);
        let containers =
            review["request"]["object"]["spec"]["containers"].as_array().cloned().unwrap_or_default();
        if !containers.iter().any(|container| container["name"] == "proxy") {
            let proxy = json!({ "name": "proxy", "image": "registry.example/proxy:1" });
            let path = format!("/spec/containers/{}", containers.len());
            let patch = json!([{ "op": "add", "path": path, "value": proxy }]);
            answer["response"]["patchType"] = json!("JSONPatch");
            answer["response"]["patch"] = json!(BASE64.encode(patch.to_string()));
        }
        answer
    });
    let ca = gate.plane.pki().ca_bundle();
    gate.plane.kubectl().apply(&injector(&stub.url(), &ca).to_string()).succeeded();
    stub
}

fn injector(url: &str, ca_bundle: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": "zz-injector" },
        "webhooks": [{
            "name": "injector.mesh.example",
            "clientConfig": { "url": url, "caBundle": ca_bundle },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"] }],
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}
