//! A blocking HTTP client for what has no kube client: health and metrics pages, and calls that a story
//! makes in the API server's or the scheduler's place.

use std::future::Future;
use std::sync::LazyLock;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::{BodyExt as _, Full};
use hyper::Request;
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// The one runtime behind every blocking call of the harness.
pub static RUNTIME: LazyLock<tokio::runtime::Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime of two threads")
});

/// No call of the harness takes longer.
const DEADLINE: Duration = Duration::from_secs(30);

/// Waits for a future.
pub fn block_on<F: Future>(future: F) -> F::Output {
    RUNTIME.block_on(future)
}

/// A client that trusts one CA. Speaks HTTP/1.1 and h2, whichever the server prefers.
#[derive(Clone)]
pub struct Http {
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

/// What came back.
#[derive(Debug, Clone)]
pub struct Answer {
    /// HTTP status.
    pub status: u16,
    /// Body, lossy where it is not UTF-8.
    pub body: String,
}

impl Http {
    /// A client that trusts the CA in this PEM text.
    pub fn trusting(ca: &str) -> Http {
        let mut roots = rustls::RootCertStore::empty();
        let authority = CertificateDer::from_pem_slice(ca.as_bytes()).expect("PEM of a CA");
        roots.add(authority).expect("a CA that can be trusted");
        let tls = rustls::ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_all_versions().build();
        Http { client: Client::builder(TokioExecutor::new()).build(connector) }
    }

    /// GET.
    pub fn get(&self, url: &str) -> Result<Answer, String> {
        self.send(Request::get(url), Bytes::new(), url)
    }

    fn send(&self, request: hyper::http::request::Builder, body: Bytes, url: &str) -> Result<Answer, String> {
        let request = request.body(Full::new(body)).map_err(|error| format!("{url}: {error}"))?;
        let exchange = async {
            let response = self.client.request(request).await.map_err(|error| in_full(&error))?;
            let status = response.status().as_u16();
            let body = response.into_body().collect().await.map_err(|error| in_full(&error))?.to_bytes();
            Ok(Answer { status, body: String::from_utf8_lossy(&body).into_owned() })
        };
        let answer = block_on(async { tokio::time::timeout(DEADLINE, exchange).await });
        answer
            .unwrap_or_else(|_| Err(format!("no answer within {DEADLINE:?}")))
            .map_err(|error| format!("{url}: {error}"))
    }
}

/// An error with its causes: hyper's outermost text says only that something failed.
fn in_full(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
