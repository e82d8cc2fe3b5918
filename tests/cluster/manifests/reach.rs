//! Who reaches us: the conditions that the API server evaluates let through all that Rust calls relevant.

use std::time::Instant;

use fastrand::Rng;
use futures::StreamExt as _;
use kube::api::PostParams;
use serde_json::{Value, json};
use sluice::subject::relevant::Relevance;

use crate::harness::controlplane::ControlPlane;
use crate::harness::http::block_on;
use crate::harness::nodes::{SEED, node};

use super::Installed;
use super::pods::{concerns, pod, relevance_of};
use super::recorder::{Reached, Recorder};

const PODS: usize = 2_000;
const STEER: &str = "steer.sluice.dev";
const GPU_PODS: &str = "gpu-pods.sluice.dev";
const OTHER_PODS: &str = "other-pods.sluice.dev";
const TEMPLATES: &str = "templates.sluice.dev";

pub fn whatever_rust_calls_relevant_reaches_us(Installed(plane): &mut Installed) {
    let namespace = plane.namespace("reach");
    let mut rng = Rng::with_seed(*SEED);
    let pods: Vec<Value> = (0..PODS).map(|n| pod(&mut rng, &format!("p{n}"), &namespace)).collect();
    let mut recorder = Recorder::start(plane);
    let started = Instant::now();
    let path = format!("/api/v1/namespaces/{namespace}/pods");
    let created = create(plane, &path, &pods);
    let took = started.elapsed();
    let reached = recorder.reached();
    let found = misses(&pods, &created, &reached);
    assert!(found.is_empty(), "{} of {PODS}:\n{}", found.len(), found.join("\n"));
    tell(&pods, &created, &reached, took.as_secs_f64());
    assert!(took.as_secs() < 60, "{took:?} for {PODS} Pods");

    // The control: with a term taken out of a condition, Pods are missed.
    let pods = &pods[..PODS / 5];
    for (term, instead) in [
        ("'sluice.dev/class'", "'example.com/class'"),
        ("NVIDIA_VISIBLE_DEVICES", "ANOTHER_VARIABLE"),
        ("gpu|^[^/]*/(.*-)?mig-", "^[^/]*/(.*-)?mig-"),
        (".spec.?initContainers", ".spec.?noContainers"),
        ("?privileged", "?readOnlyRootFilesystem"),
        (".spec.?volumes", ".spec.?noVolumes"),
        (".spec.?tolerations", ".spec.?noTolerations"),
        (".spec.?nodeSelector", ".spec.?noSelector"),
        (".?nodeSelectorTerms", ".?noTerms"),
    ] {
        recorder.put(|text| text.replace(term, instead));
        let created = create(plane, &path, pods);
        assert!(!misses(pods, &created, &recorder.reached()).is_empty(), "nobody missed {term}");
    }
}

pub fn templates_reach_us_as_their_pods_would(Installed(plane): &mut Installed) {
    let namespace = plane.namespace("templates");
    let recorder = Recorder::start(plane);
    let mut rng = Rng::with_seed(*SEED + 1);
    let pods: Vec<Value> = (0..300).map(|n| pod(&mut rng, &format!("t{n}"), &namespace)).collect();
    let (mut relevant, mut others) = (0, 0);
    for (api, kind) in [("apps/v1", "Deployment"), ("batch/v1", "Job"), ("batch/v1", "CronJob")] {
        let workloads: Vec<Value> = pods.iter().map(|pod| workload(api, kind, pod)).collect();
        let path = format!("/apis/{api}/namespaces/{namespace}/{}s", kind.to_lowercase());
        let created = create(plane, &path, &workloads);
        let reached = recorder.reached();
        for ((pod, workload), _) in pods.iter().zip(&workloads).zip(created).filter(|(_, created)| *created) {
            let concerns = concerns(pod);
            let name = workload["metadata"]["name"].as_str().expect("a name");
            let asked = reached.get(TEMPLATES).is_some_and(|names| names.contains(name));
            assert!(asked || !concerns, "{kind} was missed: {workload}");
            relevant += usize::from(concerns);
            others += usize::from(!asked);
        }
    }
    eprintln!("templates: {relevant} relevant ones reached us, {others} others did not");
    assert!(relevant > 200 && others > 200, "the generator makes both kinds");
}

// Long because it is one story, told in order.
pub fn only_what_can_matter_in_a_change_reaches_us(Installed(plane): &mut Installed) {
    let fleet = plane.create_nodes(vec![node("gpu")]);
    let namespace = plane.namespace("changes");
    let recorder = Recorder::start(plane);
    let kubectl = plane.kubectl();
    let before = recorder.count();
    let cpu = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "cpu", "namespace": namespace},
        "spec": {"containers": [{"name": "c", "image": "i"}]}});
    kubectl.create(&cpu.to_string()).succeeded();
    kubectl.run(&["label", "pod", "cpu", "-n", &namespace, "sluice.dev/class=llm"]).succeeded();
    kubectl
        .run(&[
            "patch",
            "pod",
            "cpu",
            "-n",
            &namespace,
            "--subresource=status",
            "-p",
            r#"{"status":{"reason":"x"}}"#,
        ])
        .succeeded();
    kubectl.run(&["label", "node", fleet.name("gpu"), "nvidia.com/gpu.product=H100"]).succeeded();
    kubectl.run(&["annotate", "node", fleet.name("gpu"), "example.com/x=y"]).succeeded();
    kubectl.run(&["delete", "pod", "cpu", "-n", &namespace, "--force"]).succeeded();
    assert_eq!(recorder.count(), before, "labels, status, Nodes and ends are none of our business");

    kubectl.run(&["label", "node", fleet.name("gpu"), "nvidia.com/mig.config=all-1g.10gb"]).succeeded();
    assert!(recorder.reached()["mig-changes.sluice.dev"].contains(fleet.name("gpu")));
}

pub fn debug_containers_and_resizes_reach_us_where_they_can_matter(Installed(plane): &mut Installed) {
    plane.create_nodes(vec![node("gpu").allocatable("nvidia.com/gpu", 8)]);
    let namespace = plane.namespace("debug");
    let recorder = Recorder::start(plane);
    let kubectl = plane.kubectl();
    let harmless = json!({ "name": "shell", "image": "i" });
    let reaching = json!({ "name": "debug", "image": "i", "securityContext": { "privileged": true } });
    for (name, resources, entry) in [
        ("plain", json!({}), OTHER_PODS),
        ("asking", json!({ "limits": { "nvidia.com/gpu": 1, "cpu": 1 } }), GPU_PODS),
    ] {
        let container = json!({ "name": "c", "image": "i", "resources": resources });
        let pod = json!({ "apiVersion": "v1", "kind": "Pod",
            "metadata": { "name": name, "namespace": namespace }, "spec": { "containers": [container] } });
        kubectl.create(&pod.to_string()).succeeded();
        plane.bound(&namespace, name);
        let path = format!("/api/v1/namespaces/{namespace}/pods/{name}/ephemeralcontainers");
        let asked = [&harmless, &reaching].map(|container| {
            let seen = recorder.count();
            attach(plane, &path, container);
            recorder.count() > seen
        });
        // A harmless debug container concerns us in a GPU Pod only.
        assert_eq!(asked, [entry == GPU_PODS, true], "{name}");
        assert!(recorder.reached()[entry].contains(name));
    }
    // Not bound: no kubelet here says that it could resize.
    let asking = json!({ "limits": { "nvidia.com/gpu": 1, "cpu": 1 } });
    let spec = json!({ "schedulingGates": [{ "name": "test.sluice.dev/never" }],
        "containers": [{ "name": "c", "image": "i", "resources": asking }] });
    let gated = json!({ "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "gated", "namespace": namespace }, "spec": spec });
    kubectl.create(&gated.to_string()).succeeded();
    let seen = recorder.count();
    let resources = json!({ "limits": { "cpu": "2" }, "requests": { "cpu": "1" } });
    let patch = json!({ "spec": { "containers": [{ "name": "c", "resources": resources }] } }).to_string();
    kubectl
        .run(&["patch", "pod", "gated", "-n", &namespace, "--subresource=resize", "-p", &patch])
        .succeeded();
    assert!(recorder.count() > seen, "a GPU Pod may not be resized out of its class");
}

/// Creates all of them as dry runs at a path of the API; which of them the API server would have stored.
fn create(plane: &ControlPlane, path: &str, objects: &[Value]) -> Vec<bool> {
    let client = plane.client();
    let requests = kube::core::Request::new(path);
    let parameters = PostParams { dry_run: true, ..PostParams::default() };
    let posts = objects.iter().map(|object| {
        let request = requests.create(&parameters, object.to_string().into_bytes()).expect("a request");
        let client = client.clone();
        async move { client.request::<Value>(request).await.is_ok() }
    });
    block_on(futures::stream::iter(posts).buffered(24).collect())
}

/// Pods for which Rust and the API server do not agree as they must.
fn misses(pods: &[Value], created: &[bool], reached: &Reached) -> Vec<String> {
    let has = |entry: &str, pod: &Value| {
        let name = pod["metadata"]["name"].as_str().expect("a name");
        reached.get(entry).is_some_and(|names| names.contains(name))
    };
    let mut found = Vec::new();
    for (pod, created) in pods.iter().zip(created) {
        let why = relevance_of(pod);
        let asks = why == Relevance::AsksForGpu;
        let mut say = |what: &str| found.push(format!("{what}, {why:?}: {pod}"));
        if concerns(pod) && !has(STEER, pod) {
            say("never met the mutating webhook");
        }
        // Validation comes after the API server's own, which refuses some of these Pods.
        if *created && asks != has(GPU_PODS, pod) {
            say(if asks { "was not judged" } else { "met the entry that fails closed" });
        }
        if *created && concerns(pod) && !asks && !has(OTHER_PODS, pod) {
            say("was not judged");
        }
        let tolerates = pod["spec"]["tolerations"].to_string().contains("sluice.dev/pool");
        if !concerns(pod) && !tolerates && [STEER, GPU_PODS, OTHER_PODS].iter().any(|e| has(e, pod)) {
            say("is none of our business and reached us");
        }
    }
    found
}

fn tell(pods: &[Value], created: &[bool], reached: &Reached, seconds: f64) {
    let mut kinds = std::collections::BTreeMap::<String, usize>::new();
    for pod in pods {
        *kinds.entry(format!("{:?}", relevance_of(pod))).or_default() += 1;
    }
    assert!(kinds.len() == 9 && kinds.values().all(|count| *count >= 10), "every way is taken: {kinds:?}");
    let stored = created.iter().filter(|created| **created).count();
    let counts: Vec<String> =
        reached.iter().map(|(entry, names)| format!("{entry} {}", names.len())).collect();
    eprintln!(
        "{} Pods in {seconds:.1} s, {stored} valid; {kinds:?}; reached {}",
        pods.len(),
        counts.join(", ")
    );
    assert!(stored * 10 > pods.len() * 8, "only {stored} of {} are valid", pods.len());
}

/// The Pod in a template of that kind.
fn workload(api: &str, kind: &str, pod: &Value) -> Value {
    let mut template = json!({ "metadata": { "labels": pod["metadata"]["labels"] }, "spec": pod["spec"] });
    template["metadata"]["labels"]["app"] = json!("x");
    if api == "batch/v1" {
        template["spec"]["restartPolicy"] = json!("Never");
    }
    let spec = match kind {
        "CronJob" => json!({ "schedule": "0 0 * * *", "jobTemplate": { "spec": { "template": template } } }),
        "Job" => json!({ "template": template }),
        _ => json!({ "selector": { "matchLabels": { "app": "x" } }, "template": template }),
    };
    let name = format!("{}-{}", kind.to_lowercase(), pod["metadata"]["name"].as_str().expect("a name"));
    let metadata = json!({ "name": name, "namespace": pod["metadata"]["namespace"] });
    json!({ "apiVersion": api, "kind": kind, "metadata": metadata, "spec": spec })
}

/// `kubectl debug` without its waiting for the container.
fn attach(plane: &ControlPlane, path: &str, container: &Value) {
    let patch = json!({ "spec": { "ephemeralContainers": [container] } }).to_string();
    let request = hyper::Request::patch(path)
        .header("content-type", "application/strategic-merge-patch+json")
        .body(patch.into_bytes())
        .expect("a request");
    block_on(plane.client().request::<Value>(request)).expect("a container is attached");
}
