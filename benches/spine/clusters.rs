//! Clusters, policies and Pods of a given size.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice::{
    cluster::Cluster,
    policy::{self, PolicySet, SourceFile},
    rules,
    subject::{Facts, Reading, Stage, Subject, read},
    world::World,
};

/// A node of whole H100s with 40 labels; `shape` tells its shape from others.
pub fn node(name: &str, shape: usize) -> Value {
    let mut labels = json!({
        "kubernetes.io/hostname": name,
        "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8",
        "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "81559",
        "nvidia.com/gpu.sharing-strategy": "none", "nvidia.com/mig.capable": "true",
        "topology.kubernetes.io/zone": format!("z{}", shape % 3),
        "rack": shape.to_string(),
    });
    for label in 0..31 {
        labels[format!("example.com/label-{label}")] = json!(format!("value-{label}"));
    }
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]},
        "status": {"allocatable": {"nvidia.com/gpu": "8", "cpu": "96", "memory": "1000Gi", "pods": "110"},
            "nodeInfo": {"kubeletVersion": "v1.37.2"}}})
}

/// A bound GPU Pod.
pub fn bound_pod(index: usize, node: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": format!("pod-{index}"), "namespace": format!("team-{}", index % 20),
            "uid": format!("00000000-0000-0000-0000-{index:012}"),
            "labels": {"app": format!("app-{}", index % 500), "sluice.dev/class": "batch"}},
        "spec": {"nodeName": node, "containers": [{"name": "job", "image": "registry.example/job:1",
            "resources": {"requests": {"cpu": "1", "memory": "4Gi", "nvidia.com/gpu": "1"},
                "limits": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Running"}})
}

/// That many nodes in that many shapes.
pub fn cluster(nodes: usize, shapes: usize) -> Cluster {
    let documents = (0..nodes).map(|index| node(&format!("gpu-{index}"), index % shapes));
    let classes = [json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
        "metadata": {"name": "gpu-llm"}, "value": 1_000_000})];
    Cluster::from_documents(documents.chain(classes)).expect("the cluster can be read")
}

/// The built-in policies over a cluster.
pub fn world(cluster: Cluster) -> World {
    World::new(Arc::new(policy::built_in(&rules::ids())), cluster)
}

/// That many classes and pools of a team's own; the Pods of the benchmark are of the first class.
pub fn policies(count: usize) -> PolicySet {
    let documents: Vec<String> = (0..count)
        .map(|index| {
            let name = if index == 0 { "llm".to_owned() } else { format!("class-{index}") };
            format!(
                "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {{name: {name}}}\nspec:\n  recognize:\n  - images: [team/engine-{index}, \"*/engine-{index}-*\"]\n  - arguments: [--engine-{index}]\n  isolation: {{memory: true, fault: true}}\n  pools: [{{mode: exclusive}}, {{mode: mig, memory: 16Gi}}]\n"
            )
        })
        .collect();
    let file = SourceFile { path: "classes.yaml".to_owned(), text: documents.join("---\n") };
    policy::compile(&[file], "bench", &rules::ids()).unwrap_or_else(|errors| panic!("{errors:#?}"))
}

/// A steered LLM Pod of about 6 kB as the API server sends it, with an affinity of its own.
pub fn llm_pod() -> Value {
    let filler: Vec<Value> = (0..40)
        .map(|index| json!({"name": format!("SETTING_{index}"), "value": format!("some value of setting {index}")}))
        .collect();
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "llm-7d9c-", "namespace": "team-a",
            "labels": {"app": "llm", "sluice.dev/class": "llm", "pod-template-hash": "7d9c"},
            "annotations": {"prometheus.io/scrape": "true", "checksum/config": "0".repeat(64)},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "llm-7d9c",
                "uid": "1", "controller": true}]},
        "spec": {
            "affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [
                    {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["z0", "z1"]},
                    {"key": "kubernetes.io/hostname", "operator": "NotIn", "values": ["gpu-0", "gpu-1"]},
                    {"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["40000"]}]}]}}},
            "containers": [{"name": "engine", "image": "vllm/vllm-openai:v0.12.0",
                "args": ["serve", "model", "--gpu-memory-utilization", "0.9"], "env": filler,
                "ports": [{"containerPort": 8000}],
                "startupProbe": {"httpGet": {"path": "/health", "port": 8000}, "periodSeconds": 10,
                    "failureThreshold": 200},
                "readinessProbe": {"httpGet": {"path": "/health", "port": 8000}},
                "resources": {"requests": {"cpu": "8", "memory": "64Gi", "nvidia.com/gpu": "1"},
                    "limits": {"memory": "64Gi", "nvidia.com/gpu": "1"}},
                "volumeMounts": [{"name": "models", "mountPath": "/models"}]}],
            "volumes": [{"name": "models", "persistentVolumeClaim": {"claimName": "models"}}],
            "tolerations": [
                {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
                {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300}],
            "schedulerName": "default-scheduler", "restartPolicy": "Always", "serviceAccountName": "default",
            "terminationGracePeriodSeconds": 60, "priority": 0, "preemptionPolicy": "PreemptLowerPriority"}})
}

/// The AdmissionReview that brings a Pod.
pub fn review(pod: &Value) -> Vec<u8> {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
        "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"},
        "requestKind": {"group": "", "version": "v1", "kind": "Pod"},
        "requestResource": {"group": "", "version": "v1", "resource": "pods"},
        "namespace": "team-a", "operation": "CREATE",
        "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller",
            "groups": ["system:serviceaccounts", "system:authenticated"]},
        "object": pod, "oldObject": null, "dryRun": false, "options": {"kind": "CreateOptions"}}})
    .to_string()
    .into_bytes()
}

/// A Pod to be mutated.
pub fn subject(pod: &Value) -> Subject {
    match read(Arc::new(pod.clone()), None, Facts::new(Stage::Mutate)) {
        Reading::Subject(subject) => *subject,
        other => panic!("not a subject: {other:?}"),
    }
}
