//! A server of the story's own in the place of somebody else's: a sidecar injector, an extender, a recorder
//! that shows what reaches a webhook. Answers by a closure, remembers every request.

use std::net::{SocketAddr, TcpListener};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Request, State};
use axum::response::{IntoResponse, Json, Response};
use axum_server::Handle;
use axum_server::tls_rustls::RustlsConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};

use super::components::free_port;
use super::http::RUNTIME;
use super::pki::Pki;

/// Which HTTP versions a stub offers in the TLS handshake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocols {
    /// What the API server uses towards a webhook behind a Service.
    Http1Only,
    /// What it may use towards a URL.
    Http2Too,
}

/// A request as it came: path and body.
pub type Seen = (String, Value);

type Reply = dyn Fn(&str, &Value) -> Value + Send + Sync;

/// A running stub; it stops listening when dropped.
pub struct Stub {
    address: SocketAddr,
    seen: Arc<Mutex<Vec<Seen>>>,
    handle: Handle<SocketAddr>,
}

#[derive(Clone)]
struct Shared {
    seen: Arc<Mutex<Vec<Seen>>>,
    reply: Arc<Reply>,
}

impl Stub {
    /// Listens on loopback with a certificate of this CA and answers every POST by `reply(path, body)`.
    pub fn start<R>(pki: &Pki, protocols: Protocols, reply: R) -> Stub
    where
        R: Fn(&str, &Value) -> Value + Send + Sync + 'static,
    {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let shared = Shared { seen: seen.clone(), reply: Arc::new(reply) };
        let listener = TcpListener::bind(("127.0.0.1", free_port())).expect("a free port");
        listener.set_nonblocking(true).expect("a listener for tokio");
        let address = listener.local_addr().expect("a bound address");
        let handle = Handle::new();
        let tls = RustlsConfig::from_config(Arc::new(tls(pki, protocols)));
        let router = Router::new().fallback(answer).with_state(shared);
        let _in_runtime = RUNTIME.enter();
        let server = axum_server::from_tcp_rustls(listener, tls).expect("a server on that port");
        RUNTIME.spawn(server.handle(handle.clone()).serve(router.into_make_service()));
        Stub { address, seen, handle }
    }

    /// Its address, such as `https://127.0.0.1:40123`.
    pub fn url(&self) -> String {
        format!("https://{}", self.address)
    }

    /// The requests so far.
    pub fn seen(&self) -> Vec<Seen> {
        self.seen.lock().expect("no reply panics while it is recorded").clone()
    }
}

impl Drop for Stub {
    fn drop(&mut self) {
        self.handle.shutdown();
    }
}

/// An AdmissionReview that allows the request in `review` and patches nothing.
pub fn allowed(review: &Value) -> Value {
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "response": { "uid": review["request"]["uid"], "allowed": true },
    })
}

async fn answer(State(shared): State<Shared>, request: Request) -> Response {
    let path = request.uri().path().to_string();
    let body = axum::body::to_bytes(request.into_body(), 64 << 20).await.unwrap_or_default();
    let body: Value = serde_json::from_slice(&body).unwrap_or_default();
    let reply = (shared.reply)(&path, &body);
    shared.seen.lock().expect("no reply panics while it is recorded").push((path, body));
    Json(reply).into_response()
}

fn tls(pki: &Pki, protocols: Protocols) -> rustls::ServerConfig {
    let pair = pki.serving(&["localhost", "127.0.0.1"]);
    let certificate = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).expect("a certificate");
    let key = PrivateKeyDer::from_pem_slice(pair.key.as_bytes()).expect("a key");
    let builder = rustls::ServerConfig::builder().with_no_client_auth();
    let mut config = builder.with_single_cert(vec![certificate], key).expect("a pair");
    config.alpn_protocols = match protocols {
        Protocols::Http1Only => vec![b"http/1.1".to_vec()],
        Protocols::Http2Too => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    config
}
