//! Pods by chance: every way to a GPU that we know, mixed with what only looks like one, and with fields that
//! are absent, empty or null.

use fastrand::Rng;
use serde_json::{Value, json};
use sluice::k8s::object::{Pod, Taint};
use sluice::subject::relevant::{Relevance, chooses_nodes, relevance};

/// Names that stand for GPUs, known, old and misspelt.
const GPU_NAMES: [&str; 14] = [
    "nvidia.com/gpu",
    "nvidia.com/gpu.shared",
    "nvidia.com/mig-1g.10gb",
    "nvidia.com/mig-1g.5gb.me",
    "nvidia.com/mig-3g.40gb.shared",
    "nvidia.com/mig-one",
    "nvidia.com/GH100_H100_PCIE",
    "nvidia.com/gpumem",
    "amd.com/gpu",
    "amd.com/cpx_nps4",
    "habana.ai/gaudi",
    "gpu.intel.com/i915_monitoring",
    "example.com/mig-1g.5gb",
    "deviceclass.resource.kubernetes.io/gpu.nvidia.com",
];

/// Names that look like GPUs and are none.
const OTHER_NAMES: [&str; 9] = [
    "nvidia.com/hostdev",
    "nvidia.com/rdma_shared_device_a",
    "nvidia.com/mlnxnics",
    "amd.com/nic",
    "example.com/migration",
    "mig-tools.example.com/seat",
    "a-mig-b.example.com/seat",
    "google.com/tpu",
    "deviceclass.resource.kubernetes.io/dra.net",
];

const DEVICE_PATHS: [&str; 14] = [
    "/",
    "/dev",
    "/dev/",
    "/dev/nvidia0",
    "//dev//./nvidia-uvm/",
    "/dev/dri/card0",
    "/run/nvidia/driver",
    "/var/run/nvidia",
    "/var/run/nvidia-container-devices/all",
    "/var/lib/kubelet",
    "/var/lib/kubelet/device-plugins/",
    "/var/lib/kubelet/pod-resources/kubelet.sock",
    "/usr/local/nvidia/lib64",
    "/usr",
];

const OTHER_PATHS: [&str; 6] =
    ["/var/log", "/dev/shm", "/dev/fuse", "/devices", "/run/nvidiax", "/opt/usr/local/nvidia"];

/// The taints that guard pools in these tests.
pub fn pool_taints() -> Vec<Taint> {
    let taint = |key: &str, value: &str, effect: &str| Taint {
        key: key.into(),
        value: value.into(),
        effect: effect.into(),
    };
    vec![
        taint("nvidia.com/gpu", "present", "NoSchedule"),
        taint("sluice.dev/pool", "llm", "NoSchedule"),
        taint("team.example/gpus", "", "NoExecute"),
    ]
}

/// What Rust says of a Pod.
pub fn relevance_of(pod: &Value) -> Relevance {
    let pod: Pod = serde_json::from_value(pod.clone()).expect("a generated Pod is read");
    relevance(&pod, &pool_taints())
}

/// Whether it concerns us: for a reason of its own, or because it may choose nodes that have GPUs.
pub fn concerns(pod: &Value) -> bool {
    let read: Pod = serde_json::from_value(pod.clone()).expect("a generated Pod is read");
    relevance_of(pod) != Relevance::None || chooses_nodes(&read.spec)
}

/// A Pod of this name.
pub fn pod(rng: &mut Rng, name: &str, namespace: &str) -> Value {
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name, "namespace": namespace },
        "spec": { "containers": [container(rng, "main")] },
    });
    if rng.u8(..4) == 0 {
        let second = container(rng, "second");
        push(&mut pod["spec"]["containers"], second);
    }
    if rng.u8(..3) == 0 {
        let mut first = container(rng, "first");
        if rng.bool() {
            first["restartPolicy"] = json!("Always");
        }
        push(&mut pod["spec"]["initContainers"], first);
    }
    // Half of the Pods have no way to a GPU: the others have one, seldom two.
    for _ in 0..[0, 0, 0, 1, 1, 2][rng.usize(..6)] {
        add_way(rng, &mut pod);
    }
    for _ in 0..rng.usize(..3) {
        add_harmless(rng, &mut pod);
    }
    pod
}

fn container(rng: &mut Rng, name: &str) -> Value {
    let mut container = json!({ "name": name, "image": "registry.example/model:1" });
    match rng.u8(..6) {
        0 => container["resources"] = json!({}),
        1 => container["resources"] = json!({ "limits": {}, "requests": null }),
        2 => container["resources"] = json!({ "requests": { "cpu": "1", "memory": "1Gi" } }),
        3 => container["env"] = json!([]),
        _ => {}
    }
    container
}

/// Adds one of the ways to a GPU, sometimes in a form that turns out to be none.
// Long because each way is an arm.
fn add_way(rng: &mut Rng, pod: &mut Value) {
    let spec = &mut pod["spec"];
    match rng.u8(..10) {
        9 => choose_nodes(rng, spec, "nvidia.com/gpu.present"),
        0..=2 => ask(rng, spec, &GPU_NAMES),
        3 => {
            let source =
                [json!({ "resourceClaimName": "shared" }), json!({ "resourceClaimTemplateName": "own" })];
            let mut claim = source[rng.usize(..2)].clone();
            claim["name"] = json!("device");
            push(&mut spec["resourceClaims"], claim);
            // Two claims of one name are refused.
            spec["resourceClaims"].as_array_mut().expect("just pushed").truncate(1);
        }
        4 => pod["metadata"]["labels"] = json!({ "sluice.dev/class": "llm", "app": "model" }),
        5 => {
            let name = ["NVIDIA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_CDI_DEVICES"][rng.usize(..2)];
            let variable = [
                json!({ "name": name, "value": "all" }),
                json!({ "name": name, "value": "void" }),
                json!({ "name": name }),
                json!({ "name": name, "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } }),
            ];
            let variable = variable[rng.usize(..4)].clone();
            push(&mut any_container(rng, spec)["env"], variable);
        }
        6 => any_container(rng, spec)["securityContext"] = json!({ "privileged": rng.u8(..4) > 0 }),
        7 => mount(spec, DEVICE_PATHS[rng.usize(..DEVICE_PATHS.len())]),
        _ if rng.bool() => spec["nodeName"] = json!("gpu-1"),
        _ => {
            let toleration = toleration(rng);
            push(&mut spec["tolerations"], toleration);
        }
    }
}

/// By selector or by required affinity, sometimes beside a term that matches nothing.
fn choose_nodes(rng: &mut Rng, spec: &mut Value, label: &str) {
    if rng.bool() {
        spec["nodeSelector"] = json!({ label: "true" });
        return;
    }
    let term = json!({ "matchExpressions": [{ "key": label, "operator": "In", "values": ["true"] }] });
    let terms = if rng.bool() { json!([{}, term]) } else { json!([term]) };
    spec["affinity"] = json!({ "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": { "nodeSelectorTerms": terms } } });
}

/// Most of them cover a pool's taint.
fn toleration(rng: &mut Rng) -> Value {
    let tolerations = [
        json!({ "operator": "Exists" }),
        json!({ "operator": "Exists", "effect": "NoSchedule" }),
        json!({ "key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule" }),
        json!({ "key": "nvidia.com/gpu", "value": "present" }),
        json!({ "key": "sluice.dev/pool", "operator": "Equal", "value": "llm" }),
        json!({ "key": "sluice.dev/pool", "operator": "Equal", "value": "another" }),
        json!({ "key": "team.example/gpus", "operator": "Exists", "effect": "NoExecute" }),
    ];
    tolerations[rng.usize(..tolerations.len())].clone()
}

/// Adds what is on many Pods and leads to no GPU.
fn add_harmless(rng: &mut Rng, pod: &mut Value) {
    let spec = &mut pod["spec"];
    match rng.u8(..10) {
        9 => choose_nodes(rng, spec, "topology.kubernetes.io/zone"),
        0 => ask(rng, spec, &OTHER_NAMES),
        1 => pod["metadata"]["labels"] = json!({}),
        2 => pod["metadata"]["annotations"] = json!({ "kubernetes.io/config.mirror": "a file of mine" }),
        3 => push(
            &mut any_container(rng, spec)["env"],
            json!({ "name": "CUDA_VISIBLE_DEVICES", "value": "0" }),
        ),
        4 => mount(spec, OTHER_PATHS[rng.usize(..OTHER_PATHS.len())]),
        5 => push(&mut spec["volumes"], json!({ "name": "scratch", "emptyDir": {} })),
        6 => {
            let key = ["not-ready", "disk-pressure", "unschedulable"][rng.usize(..3)];
            let key = format!("node.kubernetes.io/{key}");
            push(&mut spec["tolerations"], json!({ "key": key, "operator": "Exists" }));
        }
        7 => spec["tolerations"] = if rng.bool() { json!([]) } else { Value::Null },
        _ => spec["resources"] = json!({ "limits": { "cpu": "8", "memory": "64Gi" } }),
    }
}

/// Limits alone, or equal requests beside them, in any container.
fn ask(rng: &mut Rng, spec: &mut Value, names: &[&str]) {
    let name = names[rng.usize(..names.len())];
    let amount = [json!(1), json!("1"), json!(0), json!(2)][rng.usize(..4)].clone();
    let with_requests = rng.bool();
    let resources = &mut any_container(rng, spec)["resources"];
    if !resources.is_object() {
        *resources = json!({});
    }
    let mut sides = vec!["limits"];
    if with_requests {
        sides.push("requests");
    }
    for side in sides {
        if !resources[side].is_object() {
            resources[side] = json!({});
        }
        resources[side][name] = amount.clone();
    }
}

fn any_container<'a>(rng: &mut Rng, spec: &'a mut Value) -> &'a mut Value {
    let list = if spec["initContainers"].is_array() && rng.bool() { "initContainers" } else { "containers" };
    let containers = spec[list].as_array_mut().expect("a list of containers");
    let index = rng.usize(..containers.len());
    &mut containers[index]
}

fn mount(spec: &mut Value, path: &str) {
    let number = spec["volumes"].as_array().map_or(0, Vec::len);
    push(&mut spec["volumes"], json!({ "name": format!("host-{number}"), "hostPath": { "path": path } }));
}

fn push(list: &mut Value, item: Value) {
    if !list.is_array() {
        *list = json!([]);
    }
    list.as_array_mut().expect("just made").push(item);
}
