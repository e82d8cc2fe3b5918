//! `sluice serve` as a process: it says where it listens, tells what is wrong with policies, and ends on
//! SIGTERM without losing a request.

use std::{
    fs,
    io::{BufRead, BufReader},
    net::SocketAddr,
    path::Path,
    process::{Child, Command, ExitStatus, Stdio},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, body::Bytes};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde_json::{Value, json};
use sluice::serve::certificates::{Issued, issue};

type Https = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// A running `sluice serve` over a cluster of one node.
struct Serving {
    process: Child,
    address: SocketAddr,
    status: SocketAddr,
    ca_pem: String,
    _folder: tempfile::TempDir,
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Serving {
    fn start(arguments: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let issued = issue(&["localhost".to_owned()], 1).unwrap();
        write(folder.path(), &issued);
        let mut process = Command::new(env!("CARGO_BIN_EXE_sluice"))
            .args(["serve", "--address=127.0.0.1:0", "--status-address=127.0.0.1:0"])
            .arg(format!("--certificates={}", folder.path().display()))
            .arg(format!("--cluster={}", folder.path().join("cluster.json").display()))
            .args(arguments)
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut log = BufReader::new(process.stderr.take().unwrap());
        let told = listening(&mut log);
        // Nobody reads on; a full pipe would stop the server.
        thread::spawn(move || std::io::copy(&mut log, &mut std::io::sink()));
        let at = |key: &str| told[key].as_str().unwrap().parse().unwrap();
        let (address, status) = (at("address"), at("status"));
        Self { process, address, status, ca_pem: issued.ca_pem, _folder: folder }
    }

    fn client(&self) -> Https {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(self.ca_pem.as_bytes()).unwrap()).unwrap();
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        // HTTP/1.1 with kept connections, as the API server calls webhooks.
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_http1().build();
        Client::builder(TokioExecutor::new()).build(connector)
    }

    fn signal(&self, signal: rustix::process::Signal) {
        let id = rustix::process::Pid::from_child(&self.process);
        rustix::process::kill_process(id, signal).unwrap();
    }

    fn ended(&mut self) -> ExitStatus {
        let end = Instant::now() + Duration::from_secs(60);
        while Instant::now() < end {
            if let Some(status) = self.process.try_wait().unwrap() {
                return status;
            }
            thread::sleep(Duration::from_millis(20));
        }
        panic!("sluice does not end");
    }
}

/// The log line that tells the addresses.
fn listening(log: &mut impl BufRead) -> Value {
    let mut all = String::new();
    let mut line = String::new();
    while log.read_line(&mut line).unwrap() > 0 {
        let told: Value = serde_json::from_str(&line).unwrap_or_else(|_| panic!("not JSON: {line}"));
        if told["message"] == "serving" {
            return told;
        }
        all.push_str(&line);
        line.clear();
    }
    panic!("sluice ended before it served: {all}");
}

fn write(folder: &Path, issued: &Issued) {
    fs::write(folder.join("tls.crt"), &issued.chain_pem).unwrap();
    fs::write(folder.join("tls.key"), &issued.key_pem).unwrap();
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"},
        "status": {"allocatable": {"nvidia.com/gpu": "8"}}});
    fs::write(folder.join("cluster.json"), node.to_string()).unwrap();
}

async fn ready(status: SocketAddr) -> Option<(StatusCode, String)> {
    let client: Client<_, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let request = Request::get(format!("http://{status}/readyz")).body(Full::default()).unwrap();
    let response = client.request(request).await.ok()?;
    let code = response.status();
    let text = response.into_body().collect().await.ok()?.to_bytes();
    Some((code, String::from_utf8_lossy(&text).into_owned()))
}

/// Until `/readyz` answers as wanted; gives its text.
async fn until_ready(status: SocketAddr, want: StatusCode) -> String {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        match ready(status).await {
            Some((code, text)) if code == want => return text,
            other => assert!(Instant::now() < end, "{other:?}"),
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn answered(client: &Https, address: SocketAddr) -> bool {
    let review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "1", "operation": "CREATE", "namespace": "team-a", "kind": {"kind": "Pod"},
        "object": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"containers": [
            {"name": "c", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]}}}});
    let request = Request::post(format!("https://localhost:{}/mutate", address.port()))
        .body(Full::from(review.to_string()))
        .unwrap();
    match client.request(request).await {
        Ok(response) => response.status() == StatusCode::OK,
        Err(_) => false,
    }
}

/// What a Service does with traffic: it ends a while after the replica says that it is not ready.
struct Traffic {
    open: AtomicBool,
    answered: AtomicUsize,
    failed: AtomicUsize,
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_ends_with_status_0_and_without_a_failed_request() {
    let mut serving = Serving::start(&["--keep-serving=2"]);
    let (address, status) = (serving.address, serving.status);
    until_ready(status, StatusCode::OK).await;
    let traffic = Arc::new(Traffic {
        open: AtomicBool::new(true),
        answered: AtomicUsize::new(0),
        failed: AtomicUsize::new(0),
    });
    let clients: Vec<_> = (0..4)
        .map(|_| {
            let (traffic, client) = (traffic.clone(), serving.client());
            tokio::spawn(async move {
                while traffic.open.load(Ordering::Relaxed) {
                    let counter =
                        if answered(&client, address).await { &traffic.answered } else { &traffic.failed };
                    counter.fetch_add(1, Ordering::Relaxed);
                }
            })
        })
        .collect();
    while traffic.answered.load(Ordering::Relaxed) < 20 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    serving.signal(rustix::process::Signal::TERM);
    let text = until_ready(status, StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(text.contains("missing: shutting down"), "{text}");
    let before = traffic.answered.load(Ordering::Relaxed);
    tokio::time::sleep(Duration::from_millis(500)).await;
    traffic.open.store(false, Ordering::Relaxed);
    for client in clients {
        client.await.unwrap();
    }
    assert!(traffic.answered.load(Ordering::Relaxed) > before, "it serves on while it is unready");
    assert_eq!(traffic.failed.load(Ordering::Relaxed), 0);
    assert_eq!(serving.ended().code(), Some(0));
}

#[tokio::test(flavor = "multi_thread")]
async fn faulty_policies_are_told_at_their_place_and_nothing_is_judged_until_they_are_good() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("admission.yaml");
    let policy = |key: &str| {
        format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: all}}\nspec:\n  {key}: warn\n"
        )
    };
    fs::write(&file, policy("acton")).unwrap();
    let serving = Serving::start(&[&format!("--policies={}", folder.path().display())]);
    let text = until_ready(serving.status, StatusCode::SERVICE_UNAVAILABLE).await;
    assert!(text.contains("admission.yaml:5:3: "), "{text}");
    assert!(!answered(&serving.client(), serving.address).await, "503 before readiness");
    fs::write(&file, policy("action")).unwrap();
    until_ready(serving.status, StatusCode::OK).await;
    assert!(answered(&serving.client(), serving.address).await);
    // A fault after that leaves the good ones in force.
    fs::write(&file, policy("acton")).unwrap();
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let (code, text) = ready(serving.status).await.unwrap();
        assert_eq!(code, StatusCode::OK);
        if text.contains("note: ") && text.contains("admission.yaml:5:3: ") {
            break;
        }
        assert!(Instant::now() < end, "{text}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert!(answered(&serving.client(), serving.address).await);
}
