//! Whom preemption takes: without us the Pod with the lowest number, with us nobody that loads a model.

use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};

use super::ground::{Beside, Ground, pod_with};
use crate::harness::eventually::{A_WHILE, SOON, eventually};
use crate::harness::nodes::{Fleet, SampleNode, node};

/// A model that may take half an hour to load; a job; and somebody in a hurry.
const CLASSES: &str = "apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: { name: model }
spec: { pools: [{ mode: exclusive }], startup: { budget: 30m } }
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: { name: job }
spec: { pools: [{ mode: exclusive }], runsToEnd: true }
---
apiVersion: sluice.dev/v1alpha1
kind: WorkloadClass
metadata: { name: hurried }
spec: { pools: [{ mode: exclusive }] }
";

pub fn a_loading_model_is_spared_and_a_job_goes(ground: &mut Ground) {
    ground.policy(CLASSES);
    // The control: by numbers alone the loading model is the cheaper victim.
    let (beside, fleet, namespace) = begin(ground, |extender| extender["preemptVerb"] = Value::Null);
    let place = hurry(ground, &fleet, &namespace);
    assert_eq!((place.as_str(), left(ground, &namespace)), ("loading", vec!["job".to_owned()]));
    ground.end(beside);

    let (beside, fleet, namespace) = begin(ground, |_| {});
    let place = hurry(ground, &fleet, &namespace);
    assert_eq!((place.as_str(), left(ground, &namespace)), ("working", vec!["model".to_owned()]));
    let spared = beside.sluice.metric("sluice_preemption_spared_total", &[("reason", "loading")]);
    let victims = beside.sluice.metric("sluice_preemption_victims_total", &[("class", "job")]);
    assert!(spared >= 1.0 && victims >= 1.0, "{spared} spared, {victims} victims");
    ground.end(beside);
}

/// Two full nodes: a model that loads, with the lower priority, and a job.
fn begin(ground: &mut Ground, change: impl FnOnce(&mut Value)) -> (Beside, Fleet, String) {
    let fleet = ground.plane.create_nodes(vec![l4("loading"), l4("working")]);
    let namespace = ground.plane.namespace("preempting");
    let priorities = [("low", 10), ("middle", 100), ("high", 1000)].map(|(name, value)| {
        json!({ "apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
                "metadata": { "name": name }, "value": value })
        .to_string()
    });
    ground.plane.kubectl().apply(&priorities.join("\n---\n")).succeeded();
    let beside = ground.schedule(Duration::ZERO, &[], change);
    beside.until_nodes(2);
    for (name, role, priority) in [("model", "loading", "low"), ("job", "working", "middle")] {
        let fields = json!({
            "metadata": { "annotations": { "test.sluice.dev/ready-after": "1h" } },
            "spec": { "priorityClassName": priority,
                      "nodeSelector": { "kubernetes.io/hostname": fleet.name(role) } },
        });
        ground.create(&namespace, &[pod_with(name, name, &fields)]);
        ground.plane.bound(&namespace, name);
    }
    eventually(SOON, "both to run", || {
        let pods = ground.plane.list::<Pod>(&namespace);
        pods.iter().all(|pod| phase(pod) == Some("Running"))
    });
    eventually(SOON, "both to be in the picture", || {
        beside.sluice.metric("sluice_picture_objects", &[("kind", "GpuPod")]) as usize == 2
    });
    (beside, fleet, namespace)
}

/// A Pod with the highest priority; the role of the node that it gets.
fn hurry(ground: &Ground, fleet: &Fleet, namespace: &str) -> String {
    let fields = json!({ "spec": { "priorityClassName": "high" } });
    ground.create(namespace, &[pod_with("hurried", "hurried", &fields)]);
    let node = eventually(A_WHILE, "the hurried Pod to be bound", || {
        let pod = ground.plane.pod(namespace, "hurried");
        pod.spec
            .and_then(|spec| spec.node_name)
            .ok_or_else(|| ground.plane.pending_because(namespace, "hurried"))
    });
    fleet.role(&node).to_owned()
}

/// Who is still there beside the hurried one.
fn left(ground: &Ground, namespace: &str) -> Vec<String> {
    let pods = ground.plane.list::<Pod>(namespace);
    let there = pods.into_iter().filter(|pod| pod.metadata.deletion_timestamp.is_none());
    there.filter_map(|pod| pod.metadata.name).filter(|name| name != "hurried").collect()
}

fn phase(pod: &Pod) -> Option<&str> {
    pod.status.as_ref()?.phase.as_deref()
}

fn l4(role: &str) -> SampleNode {
    node(role)
        .label("nvidia.com/gpu.product", "NVIDIA-L4")
        .label("nvidia.com/gpu.count", "1")
        .label("nvidia.com/gpu.replicas", "1")
        .label("nvidia.com/gpu.memory", "23034")
        .label("nvidia.com/gpu.sharing-strategy", "none")
        .allocatable("nvidia.com/gpu", 1)
}
