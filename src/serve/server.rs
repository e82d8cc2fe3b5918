//! The running server: its ports, and its end.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use tokio::{task::JoinSet, time::sleep};

use super::{
    CertificateError, ExtenderPort, Options, Source,
    gate::Gate,
    ports::{Port, Ports},
    router, tls,
};
use crate::telemetry::Telemetry;

/// Why the server does not run.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address}: {source}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// Why.
        source: io::Error,
    },
    /// The extender's own port would be open to the network.
    #[error("{0} is not a loopback address: the extender's own port is for the scheduler beside us")]
    NotLoopback(SocketAddr),
    /// Certificates.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// A port stopped working.
    #[error("a port stopped serving: {0}")]
    Stopped(String),
}

/// Where the server listens.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Webhooks and extender.
    pub main: SocketAddr,
    /// The extender's own port.
    pub extender: Option<SocketAddr>,
    /// Health and metrics.
    pub status: Option<SocketAddr>,
}

/// A server that listens. Dropped, it ends at once; [`Server::shutdown`] ends it without losing a request.
pub struct Server {
    addresses: Addresses,
    ca_pem: Option<String>,
    gate: Arc<Gate>,
    drain: Duration,
    work: Ports,
    status: Ports,
    _watches: JoinSet<()>,
}

/// Another router behind the same port, TLS and limits of connections, with nothing of ours in it: what the
/// benchmarks compare with. Ends when it is dropped.
pub struct Bare {
    address: SocketAddr,
    ca_pem: Option<String>,
    _work: Ports,
    _watches: JoinSet<()>,
}

impl Server {
    /// Binds every port and serves.
    ///
    /// # Errors
    /// If an address or a certificate cannot be used.
    pub async fn start(
        options: Options,
        source: Arc<dyn Source>,
        telemetry: Arc<Telemetry>,
    ) -> Result<Self, ServeError> {
        let mut watches = JoinSet::new();
        let tls = tls::prepare(&options, &telemetry, &mut watches)?;
        let (mut work, mut status) = (Ports::new(&telemetry), Ports::new(&telemetry));
        let gate = Gate::new(source, telemetry, options.limits).remembering(options.questions.clone());
        let gate = Arc::new(gate);
        let config = Some(&tls.config);
        let main = Port { name: "main", address: options.address, tls: config };
        let main = work.open(main, router::gate(gate.clone()), &options).await?;
        let mut addresses = Addresses { main, extender: None, status: None };
        if let Some(ExtenderPort { address, tls }) = options.extender {
            if !address.ip().is_loopback() {
                return Err(ServeError::NotLoopback(address));
            }
            let port = Port { name: "extender", address, tls: config.filter(|_| tls) };
            addresses.extender = Some(work.open(port, router::extender(gate.clone()), &options).await?);
        }
        if let Some(address) = options.status {
            let port = Port { name: "status", address, tls: None };
            addresses.status = Some(status.open(port, router::status(gate.clone()), &options).await?);
        }
        let (ca_pem, drain) = (tls.ca_pem, options.drain);
        Ok(Self { addresses, ca_pem, gate, drain, work, status, _watches: watches })
    }

    /// Where it listens.
    #[must_use]
    pub fn addresses(&self) -> Addresses {
        self.addresses
    }

    /// What callers must trust, where the certificate is of our own making.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }

    /// Resolves when a port stops serving although nobody asked it to.
    pub async fn failed(&mut self) -> ServeError {
        let ended = tokio::select! {
            ended = self.work.ended() => ended,
            ended = self.status.ended() => ended,
        };
        ServeError::Stopped(ended)
    }

    /// Ends: unready at once, serving on for `keep_serving`, then the answers in flight. Health and metrics
    /// go last, so that the end can be watched.
    pub async fn shutdown(self, keep_serving: Duration) {
        self.gate.drain();
        sleep(keep_serving).await;
        self.work.close(self.drain).await;
        self.status.close(Duration::from_secs(1)).await;
    }
}

impl Bare {
    /// Binds the main port alone and serves `router` there.
    ///
    /// # Errors
    /// If the address or a certificate cannot be used.
    pub async fn start(
        options: Options,
        router: Router,
        telemetry: &Arc<Telemetry>,
    ) -> Result<Self, ServeError> {
        let (mut watches, mut work) = (JoinSet::new(), Ports::new(telemetry));
        let tls = tls::prepare(&options, telemetry, &mut watches)?;
        let port = Port { name: "main", address: options.address, tls: Some(&tls.config) };
        let address = work.open(port, router, &options).await?;
        Ok(Self { address, ca_pem: tls.ca_pem, _work: work, _watches: watches })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What callers must trust.
    #[must_use]
    pub fn ca_pem(&self) -> Option<&str> {
        self.ca_pem.as_deref()
    }
}
