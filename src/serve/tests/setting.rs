//! What the tests of the server stand on: a World in memory, a source that misbehaves on demand, requests.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::sleep,
    time::Duration,
};

use arc_swap::ArcSwap;
use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower::ServiceExt;

use crate::{
    cluster::Cluster,
    policy, rules,
    serve::{Enough, Limits, Readiness, Source, Waited, gate::Gate, router},
    telemetry::{self, Telemetry},
    world::World,
};

/// What the source does when it is asked for the World.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    #[default]
    Well,
    Panics,
    Slow(Duration),
}

/// A source for tests.
pub struct Scripted {
    pub unready: AtomicBool,
    pub mood: Mutex<Mood>,
    pub loads: AtomicUsize,
    pub waits: AtomicUsize,
    pub world: ArcSwap<World>,
    /// What the World is after the next wait.
    pub next: Mutex<Option<Arc<World>>>,
}

impl Default for Scripted {
    fn default() -> Self {
        Self {
            unready: AtomicBool::default(),
            mood: Mutex::default(),
            loads: AtomicUsize::default(),
            waits: AtomicUsize::default(),
            world: ArcSwap::new(world(&[])),
            next: Mutex::default(),
        }
    }
}

impl Scripted {
    pub fn is(&self, mood: Mood) {
        *self.mood.lock().unwrap() = mood;
    }
}

/// The built-in policies over these objects.
pub fn world(objects: &[Value]) -> Arc<World> {
    let cluster = Cluster::from_documents(objects.to_vec()).expect("the objects can be read");
    Arc::new(World::new(Arc::new(policy::built_in(&rules::ids())), cluster))
}

/// One node with eight whole H100s, and the PriorityClass of the class llm.
pub fn small_cluster() -> Vec<Value> {
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "gpu-1", "labels": {
            "kubernetes.io/hostname": "gpu-1",
            "nvidia.com/gpu.present": "true",
            "nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3",
            "nvidia.com/gpu.memory": "81559",
            "nvidia.com/gpu.count": "8",
            "nvidia.com/gpu.replicas": "1",
            "nvidia.com/gpu.sharing-strategy": "none",
            "nvidia.com/mig.strategy": "single",
            "nvidia.com/mig.capable": "true"
        }},
        "spec": {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "status": {
            "allocatable": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"},
            "capacity": {"cpu": "64", "memory": "512Gi", "pods": "110", "nvidia.com/gpu": "8"}
        }
    });
    vec![node, priority_class("gpu-llm")]
}

pub fn priority_class(name: &str) -> Value {
    json!({"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": {"name": name}, "value": 1000})
}

impl Source for Scripted {
    fn load(&self) -> Arc<World> {
        self.loads.fetch_add(1, Ordering::Relaxed);
        let mood = *self.mood.lock().unwrap();
        match mood {
            Mood::Well => {}
            Mood::Panics => panic!("a defect with env value hunter2"),
            Mood::Slow(time) => sleep(time),
        }
        self.world.load_full()
    }

    fn is_ready(&self) -> bool {
        !self.unready.load(Ordering::Relaxed)
    }

    fn readiness(&self) -> Readiness {
        let missing = if self.is_ready() { vec![] } else { vec!["nodes".to_owned()] };
        Readiness { missing, notes: vec!["policies/pools.yaml:3:1: unknown field `mod`".to_owned()] }
    }

    fn wait_for<'a>(&'a self, enough: Enough<'a>, at_most: Duration) -> Waited<'a> {
        self.waits.fetch_add(1, Ordering::Relaxed);
        assert!(!enough(&self.world.load()), "waits only for what is missing");
        assert!(at_most <= Duration::from_millis(300), "{at_most:?}");
        if let Some(next) = self.next.lock().unwrap().take() {
            self.world.store(next);
        }
        Box::pin(std::future::ready(self.world.load_full()))
    }
}

/// A server without ports.
pub struct Setting {
    pub source: Arc<Scripted>,
    pub telemetry: Arc<Telemetry>,
    pub router: Router,
    pub status: Router,
}

impl Setting {
    pub fn new() -> Self {
        Self::with(Limits::default())
    }

    pub fn with(limits: Limits) -> Self {
        let source = Arc::new(Scripted::default());
        let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
        let gate = Arc::new(Gate::new(source.clone(), telemetry.clone(), limits));
        Self { source, telemetry, router: router::gate(gate.clone()), status: router::status(gate) }
    }

    pub async fn post(&self, path: &str, body: impl Into<Body>) -> Answer {
        let request = Request::post(path).header(header::CONTENT_TYPE, "application/json");
        let response = self.router.clone().oneshot(request.body(body.into()).unwrap()).await.unwrap();
        Answer::of(response).await
    }

    pub async fn get(&self, path: &str) -> Answer {
        let request = Request::get(path).body(Body::empty()).unwrap();
        Answer::of(self.status.clone().oneshot(request).await.unwrap()).await
    }

    /// Whether the metrics hold that line.
    pub fn counts(&self, line: &str) -> bool {
        self.telemetry.text().lines().any(|l| l == line)
    }
}

pub struct Answer {
    pub code: StatusCode,
    pub length: Option<u64>,
    pub text: String,
}

impl Answer {
    async fn of(response: axum::response::Response) -> Self {
        use axum::body::HttpBody;
        let (code, length) = (response.status(), response.body().size_hint().exact());
        let body = response.into_body().collect().await.unwrap().to_bytes();
        Self { code, length, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error}: {}", self.text))
    }
}

pub fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "llm", "namespace": "team-a"},
        "spec": {"containers": [{
            "name": "server",
            "image": "registry.example/vllm/vllm-openai:v0.9",
            "env": [{"name": "HF_TOKEN", "value": "hunter2"}],
            "resources": {"limits": {"nvidia.com/gpu": "1"}}
        }]}
    })
}

pub fn review(operation: &str, object: Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "namespace": "team-a",
            "operation": operation,
            "userInfo": {"username": "system:serviceaccount:kube-system:replicaset-controller"},
            "object": object,
            "oldObject": null,
            "dryRun": false,
            "options": {"apiVersion": "meta.k8s.io/v1", "kind": "CreateOptions"}
        }
    })
}
