//! What holds while nobody of us answers: every webhook points to a port on which nothing listens.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use sluice::subject::stamp;

use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{A_WHILE, SOON, eventually, throughout};
use crate::harness::nodes::node;
use crate::harness::webhooks::at_loopback;

use super::{Installed, shipped};

/// Port 9 (discard) is below every port that anything here listens on.
const NOBODY: &str = "https://127.0.0.1:9";

const REFUSAL: &str = "is forbidden: ValidatingAdmissionPolicy 'sluice-stamp-present' with binding \
    'sluice-stamp-present' denied request: sluice has not judged this GPU Pod: its webhook is down, so the Pod \
    has no pool, tolerations and priority yet. Nothing is wrong with the Pod: create it again once `kubectl -n \
    sluice-system get pods` shows sluice ready (controllers do so by themselves). If it cannot wait: \
    docs/installation.md, \"When sluice is down\"";

/// Applies an overlay as it is shipped, with nobody behind its webhooks.
pub fn install(plane: &ControlPlane, overlay: &str) {
    let rendered = plane.kubectl().kustomize(&format!("deploy/overlays/{overlay}"));
    let text = at_loopback(&rendered, NOBODY, &plane.pki().ca_bundle());
    plane.kubectl().run_with_input(&["apply", "--validate=strict", "-f", "-"], &text).succeeded();
}

/// A Pod of one container, with more of its own.
pub fn pod(namespace: &str, name: &str, more: &Value) -> String {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "containers": [{ "name": "model", "image": "registry.example/model:1" }] },
    });
    json_patch::merge(&mut pod, more);
    pod.to_string()
}

/// What makes it a GPU Pod.
pub fn gpu() -> Value {
    json!({ "spec": { "containers": [{
        "name": "model", "image": "registry.example/model:1", "resources": { "limits": { "nvidia.com/gpu": 1 } } }] } })
}

fn with(mut base: Value, more: &Value) -> Value {
    json_patch::merge(&mut base, more);
    base
}

fn stamped() -> Value {
    let keys = stamp::KEYS.map(|key| (key.to_owned(), json!("as decided")));
    json!({ "metadata": { "annotations": serde_json::Map::from_iter(keys) } })
}

/// Waits until a GPU Pod is refused by the backstop.
fn until_in_force(plane: &ControlPlane, namespace: &str) {
    let probe = pod(namespace, "probe", &gpu());
    plane.until_admission("the backstop to be in force", &probe, |output| {
        output.stderr.contains("sluice-stamp-present")
    });
}

pub fn a_gpu_pod_that_nobody_judged_is_refused_with_a_way_out(Installed(plane): &mut Installed) {
    plane.create_nodes(vec![node("gpu").allocatable("nvidia.com/gpu", 8)]);
    let namespace = plane.namespace("down");
    // The control: without us it is created. It stays as it is once we are installed.
    plane.kubectl().create(&pod(&namespace, "before", &gpu())).succeeded();
    install(plane, "enforce");
    until_in_force(plane, &namespace);

    let told = plane.kubectl().create(&pod(&namespace, "gpu", &gpu())).failed();
    assert_eq!(
        told.trim(),
        format!("Error from server (Forbidden): error when creating \"STDIN\": pods \"gpu\" {REFUSAL}")
    );

    let started = Instant::now();
    plane.kubectl().create(&pod(&namespace, "cpu", &json!({}))).succeeded();
    assert!(
        started.elapsed() < Duration::from_secs(2),
        "a CPU Pod waits for nobody: {:?}",
        started.elapsed()
    );
    plane.kubectl().run(&["label", "pod", "before", "-n", &namespace, "touched=yes"]).succeeded();
    plane.kubectl().run(&["delete", "pod", "before", "-n", &namespace, "--force"]).succeeded();

    // Ways around the request for a GPU are refused in words of their own.
    let env = json!({ "spec": { "containers": [{ "name": "model", "image": "i",
        "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "all" }] }] } });
    let told = plane.kubectl().dry_run(&pod(&namespace, "sneaky", &env)).failed();
    assert!(told.contains("gpu-bypass-env: container model sets NVIDIA_VISIBLE_DEVICES or"), "{told}");
    let void = json!({ "spec": { "containers": [{ "name": "model", "image": "i",
        "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "void" }] }] } });
    plane.kubectl().dry_run(&pod(&namespace, "honest", &void)).succeeded();

    a_deployment_waits_and_the_break_glass_lets_it_in(plane, &namespace);
}

fn a_deployment_waits_and_the_break_glass_lets_it_in(plane: &ControlPlane, namespace: &str) {
    let template = with(gpu(), &json!({ "metadata": { "labels": { "app": "model" } } }));
    let deployment = json!({ "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": { "name": "model", "namespace": namespace },
        "spec": { "selector": { "matchLabels": { "app": "model" } }, "template": template } });
    plane.kubectl().create(&deployment.to_string()).succeeded();
    eventually(SOON, "the ReplicaSet to be told what to do", || {
        let sets = plane.kubectl().get(&["replicasets", "-n", namespace])["items"].clone();
        let told = sets[0]["status"]["conditions"][0]["message"].as_str().unwrap_or_default().to_owned();
        if told.contains(REFUSAL) { Ok(()) } else { Err(told) }
    });
    let glass = break_glass();
    let words: Vec<&str> = glass.split_whitespace().skip(1).collect();
    plane.kubectl().run(&words).succeeded();
    eventually(A_WHILE, "its Pod to run", || {
        let pods = plane.list::<Pod>(namespace);
        pods.iter()
            .any(|pod| pod.metadata.generate_name.as_deref().is_some_and(|name| name.starts_with("model-")))
    });
}

/// The one command of the documentation that lets everything in.
fn break_glass() -> String {
    let text = shipped("docs/installation.md");
    let section = text.split("## When sluice is down").nth(1).expect("a section of that name");
    let line = section.lines().find(|line| line.starts_with("kubectl delete "));
    line.expect("a command that deletes").to_owned()
}

pub fn a_record_is_not_edited(Installed(plane): &mut Installed) {
    let namespace = plane.namespace("stamp");
    plane.kubectl().apply(&shipped("webhook-config/backstop.yaml")).succeeded();
    until_in_force(plane, &namespace);
    plane.kubectl().create(&pod(&namespace, "judged", &with(gpu(), &stamped()))).succeeded();
    plane.kubectl().create(&pod(&namespace, "cpu", &json!({}))).succeeded();
    let annotate = |name: &str, annotation: &str| {
        plane.kubectl().run(&["annotate", "pod", name, "-n", &namespace, "--overwrite", annotation])
    };
    let mut written = 0;
    eventually(SOON, "the record to be held", || {
        written += 1;
        annotate("cpu", &format!("sluice.dev/pools=forged-{written}")).status != 0
    });
    for key in stamp::KEYS {
        for annotation in [format!("{key}=another"), format!("{key}-")] {
            let told = annotate("judged", &annotation).failed();
            let want =
                format!("annotation {key} is the record of a decision and is never edited; delete the Pod");
            assert!(told.contains(&want), "{told}");
        }
    }
    annotate("judged", "team.example/owner=me").succeeded();
    plane.kubectl().run(&["delete", "pod", "judged", "-n", &namespace, "--force"]).succeeded();

    // The control: without the binding anybody edits it.
    plane
        .kubectl()
        .run(&["delete", "validatingadmissionpolicybinding", "sluice-stamp-unchanged"])
        .succeeded();
    eventually(SOON, "the record to be edited", || annotate("cpu", "sluice.dev/pools=edited").status == 0);
}

pub fn a_mirror_pod_is_exempt_for_its_own_node_only(Installed(plane): &mut Installed) {
    let fleet = plane.create_nodes(vec![node("mine"), node("other")]);
    let namespace = plane.namespace("mirror");
    plane.kubectl().apply(&shipped("webhook-config/backstop.yaml")).succeeded();
    until_in_force(plane, &namespace);
    let mirror = with(
        gpu(),
        &json!({
            "metadata": { "annotations": { "kubernetes.io/config.mirror": "0123" } },
            "spec": { "nodeName": fleet.name("mine") },
        }),
    );
    let as_user = |user: &str, groups: &[&str]| {
        let kubeconfig = plane.kubeconfig_of_user(user, groups);
        plane.kubectl_with(&kubeconfig).dry_run(&pod(&namespace, "static", &mirror))
    };
    let node = |role: &str| format!("system:node:{}", fleet.name(role));
    as_user(&node("mine"), &["system:nodes"]).succeeded();
    for (user, groups) in [
        (node("other"), ["system:nodes"]),
        ("mallory".to_owned(), ["system:masters"]),
        // The name alone is no proof: users of a node's name are made by the cluster's own authority only.
        (node("mine"), ["system:masters"]),
    ] {
        let told = as_user(&user, &groups).failed();
        // Two policies apply, and the first to answer is heard.
        assert!(told.contains("sluice-stamp-present") || told.contains("nodename-bypass"), "{user}: {told}");
    }
}

pub fn availability_admits_what_nobody_judged(Installed(plane): &mut Installed) {
    let namespace = plane.namespace("available");
    install(plane, "enforce");
    until_in_force(plane, &namespace);
    // Over `enforce`, as somebody would in an outage.
    install(plane, "availability");
    let unjudged = pod(&namespace, "unjudged", &gpu());
    plane.until_admission("GPU Pods to be let in", &unjudged, |output| output.status == 0);
    plane.kubectl().create(&unjudged).succeeded();
    let stored = plane.pod(&namespace, "unjudged").spec.expect("a spec");
    assert_eq!((stored.affinity, stored.scheduler_name.as_deref()), (None, Some("default-scheduler")));
    // What needs no picture of the cluster is still refused.
    let bound = with(gpu(), &json!({ "spec": { "nodeName": "gpu-1" } }));
    let told = plane.kubectl().dry_run(&pod(&namespace, "bound", &bound)).failed();
    assert!(
        told.contains("nodename-bypass: a GPU Pod with spec.nodeName goes around the scheduler"),
        "{told}"
    );
}

pub fn observe_refuses_nothing(Installed(plane): &mut Installed) {
    let namespace = plane.namespace("observe");
    install(plane, "observe");
    let counted = || {
        let page = plane.kubectl().run(&["get", "--raw", "/metrics"]).succeeded();
        let labels = [("policy", "sluice-stamp-present"), ("enforcement_action", "audit")];
        crate::harness::metrics::sum(&page, "apiserver_validating_admission_policy_check_total", &labels)
    };
    let sneaky = with(
        gpu(),
        &json!({ "spec": { "nodeName": "gpu-1", "volumes": [{ "name": "dev", "hostPath": { "path": "/dev" } }] } }),
    );
    eventually(SOON, "unjudged Pods to be counted", || {
        plane.kubectl().dry_run(&pod(&namespace, "gpu", &gpu())).succeeded();
        plane.kubectl().dry_run(&pod(&namespace, "sneaky", &sneaky)).succeeded();
        counted() > 0.0
    });
    throughout(Duration::from_secs(2), "they are let in", || {
        plane.kubectl().dry_run(&pod(&namespace, "gpu", &gpu())).status == 0
    });
}
