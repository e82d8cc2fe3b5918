//! Clients over real TLS: one for requests, one for handshakes alone.

use std::{io::Write, net::SocketAddr, net::TcpStream, sync::Arc, time::Duration};

use axum::body::Bytes;
use http_body_util::{BodyExt, Full};
use hyper::{Request, StatusCode, Version};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, Error, connect::HttpConnector},
    rt::TokioExecutor,
};
use rustls::{
    ClientConfig, ClientConnection, ProtocolVersion, RootCertStore, StreamOwned, SupportedProtocolVersion,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, pem::PemObject},
    version::{TLS12, TLS13},
};

pub type Https = Client<HttpsConnector<HttpConnector>, Full<Bytes>>;

/// How a client speaks TLS.
#[derive(Clone)]
pub struct Tls {
    ca_pem: String,
    identity: Option<(String, String)>,
    versions: Vec<&'static SupportedProtocolVersion>,
}

impl Tls {
    pub fn trusting(ca_pem: &str) -> Self {
        Self { ca_pem: ca_pem.to_owned(), identity: None, versions: vec![&TLS13, &TLS12] }
    }

    pub fn presenting(self, chain_pem: &str, key_pem: &str) -> Self {
        Self { identity: Some((chain_pem.to_owned(), key_pem.to_owned())), ..self }
    }

    pub fn only_1_2(self) -> Self {
        Self { versions: vec![&TLS12], ..self }
    }

    fn config(&self) -> ClientConfig {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_slice_iter(self.ca_pem.as_bytes()) {
            roots.add(certificate.unwrap()).unwrap();
        }
        let builder = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_protocol_versions(&self.versions)
            .unwrap()
            .with_root_certificates(roots);
        match &self.identity {
            None => builder.with_no_client_auth(),
            Some((chain, key)) => {
                let chain =
                    CertificateDer::pem_slice_iter(chain.as_bytes()).collect::<Result<_, _>>().unwrap();
                builder
                    .with_client_auth_cert(chain, PrivateKeyDer::from_pem_slice(key.as_bytes()).unwrap())
                    .unwrap()
            }
        }
    }

    /// A client that offers HTTP/2 and HTTP/1.1.
    pub fn client(&self) -> Https {
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(self.config())
            .https_only()
            .enable_all_versions()
            .build();
        Client::builder(TokioExecutor::new()).build(connector)
    }

    /// A client that speaks HTTP/1.1 only, as the API server does to webhooks.
    pub fn http1_client(&self) -> Https {
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(self.config()).https_only().enable_http1().build();
        Client::builder(TokioExecutor::new()).build(connector)
    }

    /// Shakes hands, offering these protocols; blocks.
    pub fn connect(&self, address: SocketAddr, alpn: &[&str]) -> std::io::Result<Connected> {
        let mut config = self.config();
        config.alpn_protocols = alpn.iter().map(|protocol| protocol.as_bytes().to_vec()).collect();
        let name = ServerName::try_from("localhost").unwrap();
        let connection = ClientConnection::new(Arc::new(config), name).map_err(std::io::Error::other)?;
        let socket = TcpStream::connect(address)?;
        socket.set_read_timeout(Some(Duration::from_secs(10)))?;
        let mut stream = StreamOwned::new(connection, socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock)?;
        }
        stream.flush()?;
        Ok(Connected(stream))
    }
}

/// A connection after its handshake.
pub struct Connected(pub StreamOwned<ClientConnection, TcpStream>);

impl Connected {
    pub fn alpn(&self) -> Option<String> {
        self.0.conn.alpn_protocol().map(|protocol| String::from_utf8(protocol.to_vec()).unwrap())
    }

    pub fn version(&self) -> Option<ProtocolVersion> {
        self.0.conn.protocol_version()
    }

    pub fn chain(&self) -> Vec<CertificateDer<'static>> {
        self.0.conn.peer_certificates().unwrap().to_vec()
    }
}

/// Posts a body to `https://localhost`.
pub async fn post(
    client: &Https,
    address: SocketAddr,
    path: &str,
    body: String,
) -> Result<(StatusCode, Version, String), Error> {
    let request = Request::post(format!("https://localhost:{}{path}", address.port()))
        .header("content-type", "application/json")
        .body(Full::from(body))
        .unwrap();
    let response = client.request(request).await?;
    let (code, version) = (response.status(), response.version());
    let body = response.into_body().collect().await.map(|b| b.to_bytes()).unwrap_or_default();
    Ok((code, version, String::from_utf8_lossy(&body).into_owned()))
}
