//! The API server asks us about nothing that could not concern us: counted at the running server.

use serde_json::{Value, json};

use crate::harness::eventually::{SOON, eventually};
use crate::harness::nodes::node;
use crate::harness::objects::is;
use crate::stories::fleet::h100;
use crate::stories::gate::Gate;
use crate::stories::samples::{Sample, deployment, image, job, pod};

pub fn what_does_not_concern_us_never_reaches_us(gate: &mut Gate) {
    let fleet = gate.fleet(vec![h100("whole", 8).guarded(), node("cpu")]);
    let namespace = gate.plane.namespace("irrelevant");
    let kubectl = gate.plane.kubectl();
    gate.open();
    let asked = || gate.sluice.metric("sluice_requests_total", &[]);
    let before = asked();

    let plain = pod("cpu", image::PLAIN, 0).with_container(&json!({ "resources": null }));
    gate.apply(&namespace, &plain).succeeded();
    gate.apply(&namespace, &deployment("web", 3, &plain)).succeeded();
    gate.apply(&namespace, &job("once", &plain)).succeeded();
    gate.apply(&namespace, &config()).succeeded();
    eventually(SOON, "five Pods to be Ready or done", || {
        let pods = gate.plane.list::<k8s_openapi::api::core::v1::Pod>(&namespace);
        pods.len() == 5 && pods.iter().all(|pod| is(pod, "Ready") || crate::stories::gate::has_ended(pod))
    });
    // What happens all the time in a cluster: labels, taints, status, Leases, scaling, deletion.
    kubectl.run(&["label", "pod", "cpu", "-n", &namespace, "touched=yes"]).succeeded();
    kubectl.run(&["scale", "deployment", "web", "--replicas=1", "-n", &namespace]).succeeded();
    kubectl.run(&["label", "node", fleet.name("whole"), "touched=yes"]).succeeded();
    kubectl.run(&["cordon", fleet.name("cpu")]).succeeded();
    kubectl.run(&["delete", "pod", "cpu", "-n", &namespace]).succeeded();
    // Whatever a system namespace holds is none of our business, GPUs too.
    kubectl.create(&pod("plugin", image::PLAIN, 1).within("kube-system")).succeeded();
    assert_eq!(asked(), before, "nobody was asked");

    // The control: one Pod with a GPU is asked about twice.
    gate.apply(&namespace, &pod("gpu", image::LLM, 1)).succeeded();
    assert_eq!(asked(), before + 2.0);
    kubectl.run(&["delete", "pod", "plugin", "-n", "kube-system", "--force"]).succeeded();
}

fn config() -> Sample {
    let data: Value = json!({ "change": "none" });
    Sample(json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "config" }, "data": data }))
}
