//! Pods as people write them, right and wrong, and clusters with every kind of pool.

use std::sync::{Arc, LazyLock};

use fastrand::Rng;
use serde_json::{Map, Value, json};
use sluice::{
    cluster::Cluster,
    k8s::object::Labels,
    policy::{self, PolicySet, SourceFile},
    rules,
    world::World,
};

/// Nodes of every mode, some under one resource name, with two taints and three zones.
pub fn cluster() -> Vec<Value> {
    let mut objects: Vec<Value> = (0..12).map(node).collect();
    for (name, value, extra) in [
        ("gpu-llm", 1000, json!({})),
        ("gpu-batch", 10, json!({})),
        ("usual", 5, json!({"globalDefault": true})),
    ] {
        let mut class = json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass",
            "metadata": {"name": name}, "value": value});
        merge(&mut class, extra);
        objects.push(class);
    }
    objects.push(json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "tenant", "namespace": "lab", "uid": "t-1", "labels": {"sluice.dev/class": "embedding"}},
        "spec": {"nodeName": "n2", "containers": [{"name": "c",
            "resources": {"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "1"}}}]},
        "status": {"phase": "Running"}}));
    objects
}

// Long because every property of a node has its line.
fn node(index: usize) -> Value {
    let zone = format!("z{}", index % 3);
    let (labels, allocatable) = match index % 6 {
        0 => (
            json!({"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3", "nvidia.com/gpu.count": "8",
                "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "81559",
                "nvidia.com/gpu.sharing-strategy": "none", "pool": "h100"}),
            json!({"nvidia.com/gpu": "8"}),
        ),
        1 => (json!({"pool": "cpu"}), json!({})),
        2 => (
            json!({"nvidia.com/gpu.product": "NVIDIA-L4-SHARED", "nvidia.com/gpu.count": "1",
                "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.memory": "23034",
                "nvidia.com/gpu.sharing-strategy": "time-slicing", "pool": "l4"}),
            json!({"nvidia.com/gpu": "4"}),
        ),
        3 => (
            json!({"nvidia.com/gpu.product": "NVIDIA-A10G", "nvidia.com/gpu.count": "1",
                "nvidia.com/gpu.replicas": "4", "nvidia.com/gpu.memory": "23028",
                "nvidia.com/gpu.sharing-strategy": "time-slicing", "pool": "a10g"}),
            json!({"nvidia.com/gpu.shared": "4"}),
        ),
        4 => (
            json!({"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-80GB", "nvidia.com/gpu.count": "1",
                "nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "mixed",
                "nvidia.com/mig.config": "all-1g.10gb", "nvidia.com/mig.config.state": "success",
                "nvidia.com/mig-1g.10gb.count": "7", "nvidia.com/mig-1g.10gb.memory": "9728", "pool": "mig"}),
            json!({"nvidia.com/mig-1g.10gb": "7", "nvidia.com/gpu": "0"}),
        ),
        _ => (
            json!({"nvidia.com/gpu.product": "NVIDIA-A100-80GB-PCIe-MIG-3g.40gb", "nvidia.com/gpu.count": "2",
                "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "40192",
                "nvidia.com/mig.capable": "true", "nvidia.com/mig.strategy": "single",
                "nvidia.com/mig.config": "all-3g.40gb", "nvidia.com/mig.config.state": "success", "pool": "single"}),
            json!({"nvidia.com/gpu": "2"}),
        ),
    };
    let name = format!("n{index}");
    let mut labels = labels;
    merge(&mut labels, json!({"kubernetes.io/hostname": name, "topology.kubernetes.io/zone": zone}));
    let mut allocatable = allocatable;
    merge(&mut allocatable, json!({"cpu": "32", "memory": "128Gi", "pods": "110"}));
    let taints = match index % 4 {
        0 => json!([{"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}]),
        2 => json!([{"key": "sku", "value": "gpu", "effect": "NoExecute"}]),
        _ => json!([]),
    };
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
        "spec": {"taints": taints}, "status": {"allocatable": allocatable}})
}

pub fn picture(objects: &[Value]) -> Cluster {
    Cluster::from_documents(objects.iter().cloned()).unwrap_or_else(|e| panic!("{e:?}"))
}

pub fn policies() -> Arc<PolicySet> {
    static BUILT_IN: LazyLock<Arc<PolicySet>> = LazyLock::new(|| Arc::new(policy::built_in(&rules::ids())));
    BUILT_IN.clone()
}

/// The built-in policies over discovered pools, and policies with declared pools that ask for more.
pub fn worlds() -> Vec<World> {
    let documents = [
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "AdmissionPolicy", "metadata": {"name": "all"},
            "spec": {"action": "deny", "schedulerName": "sluice-scheduler"}}),
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "whole"}, "spec":
            {"nodes": [{"matchLabels": {"pool": "h100"}}], "mode": "exclusive",
            "taints": [{"key": "dedicated", "value": "llm", "effect": "NoSchedule"}]}}),
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "first"}, "spec":
            {"nodes": [{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n2"]}]},
                {"matchExpressions": [{"key": "nvidia.com/gpu.memory", "operator": "Gt", "values": ["90000"]}]}],
            "mode": "time-slicing"}}),
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "GpuPool", "metadata": {"name": "later"}, "spec":
            {"nodes": [{"matchLabels": {"pool": "later"}}], "mode": "mps", "mps": {"replicas": 4},
            "autoscaling": {"min": 0, "max": 3}}}),
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "WorkloadClass", "metadata": {"name": "llm"}, "spec":
            {"isolation": {"memory": true, "fault": true}, "pools": [{"name": "whole"}, {"mode": "mig"}],
            "priority": {"className": "gpu-llm"}, "startup": {"budget": "20m", "addProbe": true},
            "rewrite": {"resource": true, "shmSize": "4Gi", "hideDevices": true}}}),
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "WorkloadClass", "metadata": {"name": "embedding"}, "spec":
            {"pools": [{"mode": "mig"}, {"mode": "mps"}, {"name": "first"}, {"mode": "time-slicing"}],
            "fallback": {"otherwise": "any-compatible"}, "rewrite": {"resource": true}}}),
        json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "WorkloadClass", "metadata": {"name": "batch"}, "spec":
            {"pools": [{"mode": "time-slicing"}, {"mode": "exclusive"}], "priority": {"className": "gpu-batch"}}}),
    ];
    let file = |(index, document): (usize, &Value)| SourceFile {
        path: format!("{index}.yaml"),
        text: document.to_string(),
    };
    let files: Vec<SourceFile> = documents.iter().enumerate().map(file).collect();
    let declared = policy::compile(&files, "declared", &rules::ids()).unwrap_or_else(|e| panic!("{e:?}"));
    let picture = picture(&cluster());
    vec![World::new(policies(), picture.clone()), World::new(Arc::new(declared), picture)]
}

/// A Pod that the API server could take, or that somebody at least would send.
// Long because every property of a Pod has its line.
pub fn pod(rng: &mut Rng) -> Value {
    let classes = ["llm", "embedding", "asr", "batch", "nosuch"];
    let mut spec = Map::new();
    spec.insert("containers".into(), (0..rng.usize(1..3)).map(|index| container(rng, index)).collect());
    if rng.u8(..4) == 0 {
        let mut init = container(rng, 9);
        if rng.bool() {
            init["restartPolicy"] = json!("Always");
        }
        spec.insert("initContainers".into(), json!([init]));
    }
    let mut sometimes = |odds: u8, key: &str, value: Value| {
        if rng.u8(..odds) == 0 {
            spec.insert(key.into(), value);
        }
    };
    sometimes(5, "schedulerName", json!("default-scheduler"));
    sometimes(9, "nodeName", json!("n3"));
    sometimes(9, "terminationGracePeriodSeconds", json!(5));
    sometimes(6, "priority", json!(0));
    sometimes(6, "preemptionPolicy", json!("PreemptLowerPriority"));
    sometimes(8, "volumes", json!([{"name": "v", "hostPath": {"path": "/dev/nvidia0"}}]));
    sometimes(6, "tolerations", json!(null));
    if rng.u8(..3) == 0 {
        let names = ["gpu-llm", "gpu-batch", "usual", "missing", "system-node-critical"];
        spec.insert("priorityClassName".into(), json!(names[rng.usize(..5)]));
    }
    if rng.u8(..3) == 0 {
        spec.insert("tolerations".into(), tolerations(rng));
    }
    if rng.u8(..3) == 0 {
        spec.insert("nodeSelector".into(), selector(rng));
    }
    if rng.u8(..3) == 0 {
        spec.insert("affinity".into(), affinity(rng));
    }
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p", "namespace": "team"},
        "spec": spec});
    if rng.u8(..5) > 0 {
        pod["metadata"]["labels"] =
            json!({"sluice.dev/class": classes[rng.usize(..classes.len())], "app": "p"});
    }
    pod
}

// Long because every property of a container has its line.
fn container(rng: &mut Rng, index: usize) -> Value {
    let names = [
        "nvidia.com/gpu",
        "nvidia.com/gpu",
        "nvidia.com/gpu.shared",
        "nvidia.com/mig-1g.10gb",
        "nvidia.com/gpus",
        "cpu",
    ];
    let counts = [json!("1"), json!(1), json!("2"), json!("0"), json!("500m"), json!("8")];
    let mut made = json!({"name": format!("c{index}"), "image": "example.com/engine:1"});
    let mut limits = Map::new();
    for _ in 0..rng.usize(..3) {
        limits.insert(names[rng.usize(..names.len())].into(), counts[rng.usize(..counts.len())].clone());
    }
    if rng.u8(..4) > 0 && !limits.is_empty() {
        let mut requests = limits.clone();
        if rng.u8(..6) == 0 {
            requests.insert(names[rng.usize(..names.len())].into(), json!("3"));
        }
        made["resources"]["requests"] = json!(requests);
    }
    made["resources"]["limits"] = json!(limits);
    if rng.u8(..4) == 0 {
        made["args"] = json!(["serve", "/m", "--tensor-parallel-size", rng.u8(1..5).to_string()]);
    }
    if rng.u8(..5) == 0 {
        made["env"] =
            json!([{"name": "NVIDIA_VISIBLE_DEVICES", "value": if rng.bool() { "all" } else { "void" }}]);
    }
    if rng.u8(..4) == 0 {
        made["livenessProbe"] =
            json!({"httpGet": {"path": "/", "port": 80}, "initialDelaySeconds": rng.u16(..900)});
    }
    if rng.u8(..5) == 0 {
        made["volumeMounts"] =
            json!([{"name": "v", "mountPath": if rng.bool() { "/dev/shm" } else { "/x" }}]);
    }
    if rng.u8(..9) == 0 {
        made["securityContext"] = json!({"privileged": true});
    }
    made
}

fn tolerations(rng: &mut Rng) -> Value {
    let all = [
        json!({"operator": "Exists"}),
        json!({"key": "nvidia.com/gpu", "operator": "Exists"}),
        json!({"key": "sku", "operator": "Equal", "value": "gpu", "effect": "NoExecute"}),
        json!({"key": "sku", "value": "other"}),
        json!({"key": "dedicated", "operator": "Lt", "value": "3"}),
    ];
    (0..rng.usize(..3)).map(|_| all[rng.usize(..all.len())].clone()).collect()
}

fn selector(rng: &mut Rng) -> Value {
    let pairs = [
        ("pool", "h100"),
        ("pool", "l4"),
        ("pool", "cpu"),
        ("pool", "nowhere"),
        ("topology.kubernetes.io/zone", "z0"),
        ("kubernetes.io/hostname", "n2"),
        ("nvidia.com/gpu.product", "NVIDIA-A10G"),
    ];
    let (key, value) = pairs[rng.usize(..pairs.len())];
    json!({key: value})
}

/// Required affinity of every shape: no terms, empty terms, fields only, operands that cannot be.
pub fn affinity(rng: &mut Rng) -> Value {
    let mut node = Map::new();
    if rng.u8(..5) > 0 {
        let terms: Value = (0..rng.usize(..4)).map(|_| term(rng)).collect();
        let terms = if rng.u8(..12) == 0 { Value::Null } else { terms };
        node.insert(
            "requiredDuringSchedulingIgnoredDuringExecution".into(),
            json!({"nodeSelectorTerms": terms}),
        );
    }
    if rng.u8(..4) == 0 {
        node.insert(
            "preferredDuringSchedulingIgnoredDuringExecution".into(),
            json!([{"weight": 5, "preference": term(rng)}]),
        );
    }
    if rng.u8(..15) == 0 { json!({"nodeAffinity": null}) } else { json!({"nodeAffinity": node}) }
}

fn term(rng: &mut Rng) -> Value {
    let mut term = Map::new();
    if rng.u8(..4) > 0 {
        term.insert("matchExpressions".into(), (0..rng.usize(..3)).map(|_| expression(rng)).collect());
    }
    if rng.u8(..4) == 0 {
        let names = ["n0", "n2", "n9", "nowhere"];
        let operators = ["In", "NotIn", "Exists"];
        let field = json!({"key": "metadata.name", "operator": operators[rng.usize(..3)],
            "values": [names[rng.usize(..4)]]});
        term.insert("matchFields".into(), json!([field]));
    }
    Value::Object(term)
}

fn expression(rng: &mut Rng) -> Value {
    let keys = [
        "pool",
        "topology.kubernetes.io/zone",
        "nvidia.com/gpu.memory",
        "nvidia.com/gpu.product",
        "kubernetes.io/hostname",
        "nvidia.com/gpu.sharing-strategy",
        "-bad-",
    ];
    let operators = ["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Odd"];
    let values = [
        "h100",
        "l4",
        "z0",
        "z1",
        "20000",
        "none",
        "time-slicing",
        "n2",
        "NVIDIA-A10G",
        "not a label value!",
    ];
    let some: Vec<&str> = (0..rng.usize(..3)).map(|_| values[rng.usize(..values.len())]).collect();
    let mut made = json!({"key": keys[rng.usize(..keys.len())], "operator": operators[rng.usize(..7)]});
    if !some.is_empty() {
        made["values"] = json!(some);
    }
    made
}

/// The nodes of a world, and nodes that it does not have, with labels that somebody could ask for.
pub fn imagined_nodes(world: &World, rng: &mut Rng) -> Vec<(String, Labels)> {
    let mut nodes: Vec<(String, Labels)> =
        world.cluster.nodes().map(|node| (node.name.to_string(), node.labels.clone())).collect();
    for index in 0..8 {
        let (_, mut labels) = nodes[rng.usize(..12)].clone();
        for (key, values) in [
            ("pool", ["h100", "l4", "later"]),
            ("topology.kubernetes.io/zone", ["z0", "z1", "z9"]),
            ("nvidia.com/gpu.memory", ["10000", "95000", "x"]),
        ] {
            if rng.bool() {
                labels.insert(key.to_owned(), values[rng.usize(..3)].to_owned());
            }
        }
        if rng.u8(..3) == 0 {
            labels.remove("nvidia.com/gpu.product");
        }
        nodes.push((format!("imagined-{index}"), labels));
    }
    nodes
}

fn merge(into: &mut Value, from: Value) {
    if let (Value::Object(into), Value::Object(from)) = (into, from) {
        into.extend(from);
    }
}
