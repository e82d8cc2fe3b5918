//! A client of the demo's server: JSON over TLS, trusting nobody but the server's own authority.

use std::sync::Arc;

use anyhow::{Context, ensure};
use http_body_util::{BodyExt, Full};
use hyper::{Request, body::Bytes, header};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client as Pool, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, pem::PemObject},
};
use serde_json::Value;

/// The client; connections are kept.
pub(super) struct Client {
    pool: Pool<HttpsConnector<HttpConnector>, Full<Bytes>>,
    base: String,
}

impl Client {
    /// For a server at `base` (`https://127.0.0.1:8443`) with a certificate of this authority.
    ///
    /// # Errors
    /// Where that is no authority.
    pub fn new(base: String, ca_pem: &str) -> anyhow::Result<Self> {
        let mut roots = RootCertStore::empty();
        for authority in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
            roots.add(authority.context("the server's authority is no PEM")?)?;
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(config).https_only().enable_all_versions().build();
        Ok(Self { pool: Pool::builder(TokioExecutor::new()).build(connector), base })
    }

    /// Sends JSON and gives the JSON of the answer.
    ///
    /// # Errors
    /// Where there is no answer, or none that means yes.
    pub async fn post(&self, path: &str, body: &Value) -> anyhow::Result<Value> {
        let url = format!("{}{path}", self.base);
        let request = Request::post(&url)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(Bytes::from(serde_json::to_vec(body)?)))?;
        let response = self.pool.request(request).await.with_context(|| format!("{url} does not answer"))?;
        let status = response.status();
        let body = response.into_body().collect().await?.to_bytes();
        let text = || String::from_utf8_lossy(&body).into_owned();
        ensure!(status.is_success(), "{url} answers {status}: {}", text());
        serde_json::from_slice(&body).with_context(|| format!("{url} answers no JSON: {}", text()))
    }
}
