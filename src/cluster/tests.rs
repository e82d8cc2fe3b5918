//! What the picture holds after objects came and went.

mod documents;
mod events;
mod loads;
mod matching;
mod shapes;

use serde_json::{Value, json};

use super::*;

/// A GPU node with the labels that the device plugin's discovery sets.
fn gpu_node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "uid": format!("uid-{name}"),
            "labels": {
                "kubernetes.io/hostname": name,
                "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
                "nvidia.com/gfd.timestamp": format!("17{}", name.len()),
            },
        },
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "nvidia.com/gpu": "8", "pods": "110"},
            "nodeInfo": {"kubeletVersion": "v1.37.2", "bootID": "b"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

/// A running Pod on a node that asks for some cpu and GPUs.
fn pod(name: &str, node: &str, gpus: u32) -> Value {
    let mut limits = json!({"cpu": "500m"});
    if gpus > 0 {
        limits["nvidia.com/gpu"] = json!(gpus.to_string());
    }
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "team", "uid": format!("uid-{name}")},
        "spec": {"nodeName": node, "containers": [{"name": "main", "resources": {"limits": limits}}]},
        "status": {"phase": "Running"},
    })
}

/// The object with the value at a JSON pointer set; missing objects on the way are made.
fn with(mut object: Value, pointer: &str, value: Value) -> Value {
    let keys = pointer.split('/').skip(1).map(|key| key.replace("~1", "/"));
    let at = keys.fold(&mut object, |at, key| match at {
        Value::Array(items) => &mut items[key.parse::<usize>().expect("an index")],
        other => &mut other[key],
    });
    *at = value;
    object
}

/// A picture of these objects.
fn picture(objects: &[Value]) -> Cluster {
    let mut cluster = Cluster::none();
    for object in objects {
        cluster.apply(object).expect("the object is readable");
    }
    cluster
}
