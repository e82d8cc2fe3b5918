//! A client with one keep-alive connection: HTTP/1.1 over TLS, as the API server speaks to webhooks.

use std::{net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, client::conn::http1};
use hyper_util::rt::TokioIo;
use rustls::{
    ClientConfig, RootCertStore,
    crypto::ring,
    pki_types::{CertificateDer, ServerName, pem::PemObject},
};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// One connection.
pub struct Connection(http1::SendRequest<Full<Bytes>>);

impl Connection {
    /// Connects and trusts that authority.
    pub async fn open(address: SocketAddr, ca_pem: &str) -> Self {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_root_certificates(roots)
            .with_no_client_auth();
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        let name = ServerName::try_from("localhost").unwrap();
        let stream = TlsConnector::from(Arc::new(config)).connect(name, stream).await.unwrap();
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await.unwrap();
        tokio::spawn(connection);
        Self(sender)
    }

    /// Posts a body and reads the whole answer.
    pub async fn post(&mut self, path: &str, body: Bytes) -> Bytes {
        let request = Request::post(path)
            .header("host", "localhost")
            .header("content-type", "application/json")
            .body(Full::new(body))
            .unwrap();
        self.0.ready().await.unwrap();
        let answer = self.0.send_request(request).await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.status());
        answer.into_body().collect().await.unwrap().to_bytes()
    }
}
