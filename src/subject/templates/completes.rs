//! What a kind's controller adds to each of its Pods, as far as rules and classes look at it.

use serde_json::{Value, json};

pub(super) fn leader_worker_set(object: &Value, pod: &mut Value) {
    label(pod, "leaderworkerset.sigs.k8s.io/name", name(object));
    // By these an engine knows that one model runs over several Pods.
    let size = super::path::at(object, "spec.leaderWorkerTemplate.size").and_then(Value::as_i64).unwrap_or(1);
    if size > 1 {
        variable(pod, "LWS_GROUP_SIZE", &size.to_string());
    }
}

pub(super) fn job_set(object: &Value, pod: &mut Value) {
    label(pod, "jobset.sigs.k8s.io/jobset-name", name(object));
}

pub(super) fn ray(object: &Value, pod: &mut Value) {
    let kind = object["kind"].as_str().unwrap_or_default();
    if kind == "RayCluster" {
        label(pod, "ray.io/cluster", name(object));
    }
    label(pod, "ray.io/originated-from-crd", kind);
}

pub(super) fn inference_service(object: &Value, pod: &mut Value) {
    label(pod, "serving.kserve.io/inferenceservice", name(object));
}

pub(super) fn llm_inference_service(_: &Value, pod: &mut Value) {
    label(pod, "app.kubernetes.io/part-of", "llminferenceservice");
}

pub(super) fn training_job(object: &Value, pod: &mut Value) {
    label(pod, "training.kubeflow.org/job-name", name(object));
}

pub(super) fn knative(object: &Value, pod: &mut Value) {
    label(pod, "serving.knative.dev/service", name(object));
}

pub(super) fn volcano(object: &Value, pod: &mut Value) {
    label(pod, "volcano.sh/job-name", name(object));
    let scheduler = object["spec"]["schedulerName"].as_str().unwrap_or("volcano");
    if let Some(spec) = pod["spec"].as_object_mut() {
        spec.entry("schedulerName").or_insert_with(|| json!(scheduler));
    }
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn label(pod: &mut Value, key: &str, value: &str) {
    if !pod["metadata"].is_object() {
        pod["metadata"] = json!({});
    }
    let metadata = &mut pod["metadata"];
    if !metadata["labels"].is_object() {
        metadata["labels"] = json!({});
    }
    metadata["labels"][key] = json!(value);
}

fn variable(pod: &mut Value, name: &str, value: &str) {
    for list in ["containers", "initContainers"] {
        for container in pod["spec"].get_mut(list).and_then(Value::as_array_mut).into_iter().flatten() {
            let Some(container) = container.as_object_mut() else { continue };
            let variables = container.entry("env").or_insert_with(|| json!([]));
            if let Some(variables) = variables.as_array_mut() {
                variables.push(json!({"name": name, "value": value}));
            }
        }
    }
}
