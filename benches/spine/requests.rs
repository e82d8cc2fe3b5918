//! What a request costs beside a bare server of the same axum and rustls settings, which reads the body,
//! parses it and answers with its uid.

use std::{
    net::SocketAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{Json, Router, routing::post};
use bytes::Bytes;
use serde_json::{Value, json};
use sluice::{
    serve::{Bare, Fixed, Options, Server},
    telemetry::{self, Telemetry},
};
use tokio::runtime::Runtime;

use crate::{
    client::Connection,
    clusters::{self, llm_pod, review},
    pairs::compare,
};

const CONNECTIONS: usize = 8;

/// Two servers, each on a thread of its own, so that their CPU time can be told apart.
struct Servers {
    ours: Listening,
    bare: Listening,
    client: Runtime,
    body: Bytes,
}

struct Listening {
    address: SocketAddr,
    ca_pem: String,
    thread: &'static str,
    _runtime: Runtime,
    _server: Box<dyn Send>,
}

impl Servers {
    fn start() -> Self {
        let client = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { ours: ours(), bare: bare(), client, body: Bytes::from(review(&llm_pod())) }
    }

    /// Microseconds of server CPU of one request on one connection.
    fn cpu(&self, server: &Listening) -> f64 {
        const REQUESTS: u32 = 1_000;
        let before = cpu_of(server.thread);
        self.client.block_on(async {
            let mut connection = Connection::open(server.address, &server.ca_pem).await;
            for _ in 0..REQUESTS {
                connection.post("/mutate?timeout=3s", self.body.clone()).await;
            }
        });
        (cpu_of(server.thread) - before).as_secs_f64() * 1e6 / f64::from(REQUESTS)
    }

    /// Latencies of requests on [`CONNECTIONS`] connections at once, and how long all took.
    fn load(&self, server: &Listening) -> (Vec<Duration>, Duration) {
        const EACH: usize = 250;
        let start = Instant::now();
        let latencies = self.client.block_on(async {
            let one = || {
                let (address, ca, body) = (server.address, server.ca_pem.clone(), self.body.clone());
                tokio::spawn(async move {
                    let mut connection = Connection::open(address, &ca).await;
                    let mut latencies = Vec::with_capacity(EACH);
                    for _ in 0..EACH {
                        let start = Instant::now();
                        connection.post("/mutate?timeout=3s", body.clone()).await;
                        latencies.push(start.elapsed());
                    }
                    latencies
                })
            };
            let tasks: Vec<_> = (0..CONNECTIONS).map(|_| one()).collect();
            let mut latencies = Vec::new();
            for task in tasks {
                latencies.extend(task.await.unwrap());
            }
            latencies
        });
        (latencies, start.elapsed())
    }

    fn per_second(&self, server: &Listening) -> f64 {
        let (latencies, took) = self.load(server);
        f64::from(u32::try_from(latencies.len()).unwrap()) / took.as_secs_f64()
    }

    fn p99(&self, server: &Listening) -> f64 {
        let (mut latencies, _) = self.load(server);
        latencies.sort_unstable();
        latencies[latencies.len() * 99 / 100].as_secs_f64() * 1e6
    }
}

/// Server CPU time of a request.
pub fn cpu(name: &str) {
    let servers = Servers::start();
    println!("  the AdmissionReview has {} bytes", servers.body.len());
    compare(name, "aim <= 1.7, µs a request", || servers.cpu(&servers.ours), || servers.cpu(&servers.bare));
}

/// Requests a second.
pub fn throughput(name: &str) {
    let servers = Servers::start();
    compare(
        name,
        "aim <= 1.7, requests a second",
        || servers.per_second(&servers.bare),
        || servers.per_second(&servers.ours),
    );
}

/// Latency that 99 of 100 requests stay under.
pub fn p99(name: &str) {
    let servers = Servers::start();
    compare(name, "aim <= 1.7, µs", || servers.p99(&servers.ours), || servers.p99(&servers.bare));
}

fn ours() -> Listening {
    let runtime = on_a_thread("bench-ours");
    let world = Arc::new(clusters::world(clusters::cluster(100, 30)));
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let server = runtime
        .block_on(Server::start(Options::on_loopback(), Arc::new(Fixed::new(world)), telemetry))
        .unwrap();
    let (address, ca_pem) = (server.addresses().main, server.ca_pem().unwrap().to_owned());
    Listening { address, ca_pem, thread: "bench-ours", _runtime: runtime, _server: Box::new(server) }
}

fn bare() -> Listening {
    let runtime = on_a_thread("bench-bare");
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let router = Router::new().route("/mutate", post(echo));
    let server = runtime.block_on(Bare::start(Options::on_loopback(), router, &telemetry)).unwrap();
    let (address, ca_pem) = (server.address(), server.ca_pem().unwrap().to_owned());
    Listening { address, ca_pem, thread: "bench-bare", _runtime: runtime, _server: Box::new(server) }
}

async fn echo(body: Bytes) -> Json<Value> {
    let review: Value = serde_json::from_slice(&body).unwrap();
    Json(json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": true}}))
}

fn on_a_thread(name: &'static str) -> Runtime {
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    runtime.worker_threads(1).thread_name(name).enable_all().build().unwrap()
}

/// CPU time of all threads of that name (`/proc/self/task/*/schedstat`: nanoseconds on a processor).
fn cpu_of(name: &str) -> Duration {
    let mut total = 0;
    for task in std::fs::read_dir("/proc/self/task").unwrap().flatten() {
        let comm = std::fs::read_to_string(task.path().join("comm")).unwrap_or_default();
        if comm.trim() == name {
            let stat = std::fs::read_to_string(task.path().join("schedstat")).unwrap_or_default();
            total += stat.split_whitespace().next().and_then(|ns| ns.parse::<u64>().ok()).unwrap_or(0);
        }
    }
    Duration::from_nanos(total)
}
