//! The running server: its ports, and its end.

use std::{future::pending, io, net::SocketAddr, sync::Arc, time::Duration};

use axum::Router;
use axum_server::{
    Handle, Server as Http,
    accept::{Accept, NoDelayAcceptor},
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::sleep,
};

use super::{CertificateError, Options, Source, gate::Gate, router, tls};
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

/// Ports that end together.
struct Ports {
    telemetry: Arc<Telemetry>,
    handle: Handle<SocketAddr>,
    tasks: JoinSet<io::Result<()>>,
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
        let gate = Arc::new(Gate::new(source, telemetry, options.limits));
        let encrypted = RustlsAcceptor::new(RustlsConfig::from_config(tls.config)).acceptor(NoDelayAcceptor);
        let main =
            work.open(options.address, encrypted.clone(), router::gate(gate.clone()), &options).await?;
        let mut addresses = Addresses { main, extender: None, status: None };
        if let Some(port) = options.extender {
            if !port.address.ip().is_loopback() {
                return Err(ServeError::NotLoopback(port.address));
            }
            let router = router::extender(gate.clone());
            addresses.extender = Some(match port.tls {
                true => work.open(port.address, encrypted, router, &options).await?,
                false => work.open(port.address, NoDelayAcceptor, router, &options).await?,
            });
        }
        if let Some(address) = options.status {
            let router = router::status(gate.clone());
            addresses.status = Some(status.open(address, NoDelayAcceptor, router, &options).await?);
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
        let encrypted = RustlsAcceptor::new(RustlsConfig::from_config(tls.config)).acceptor(NoDelayAcceptor);
        let address = work.open(options.address, encrypted, router, &options).await?;
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

impl Ports {
    fn new(telemetry: &Arc<Telemetry>) -> Self {
        Self { telemetry: telemetry.clone(), handle: Handle::default(), tasks: JoinSet::new() }
    }

    async fn open<A>(
        &mut self,
        address: SocketAddr,
        acceptor: A,
        router: Router,
        options: &Options,
    ) -> Result<SocketAddr, ServeError>
    where
        A: Accept<TcpStream, Router> + Clone + Send + Sync + 'static,
        A::Stream: tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send,
        A::Service: axum_server::service::SendService<axum::http::Request<hyper::body::Incoming>> + Send,
        A::Future: Send,
    {
        let cannot = |source| ServeError::Listen { address, source };
        let listener = TcpListener::bind(address).await.map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let mut server = Http::<SocketAddr>::from_listener(listener)
            .acceptor(acceptor)
            .handle(self.handle.clone())
            .first_request_timeout(options.limits.first_request);
        if options.http1_only {
            server = server.http1_only();
        }
        let telemetry = self.telemetry.clone();
        server = server.accept_error_handler(move |_, error| {
            tracing::debug!(port = bound.port(), %error, "no connection came of it");
            telemetry.connection_failed(why(error.kind()));
        });
        server.http_builder().http1().header_read_timeout(options.limits.next_request);
        server.http_builder().http2().keep_alive_interval(options.limits.next_request);
        self.tasks.spawn(server.serve(router.into_make_service()));
        Ok(bound)
    }

    async fn ended(&mut self) -> String {
        match self.tasks.join_next().await {
            None => pending().await,
            Some(Ok(Ok(()))) => "it ended".to_owned(),
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(error)) => error.to_string(),
        }
    }

    async fn close(mut self, drain: Duration) {
        self.handle.graceful_shutdown(Some(drain));
        while self.tasks.join_next().await.is_some() {}
    }
}

/// Why no connection came of a try, in a word: a client that does not trust our certificate is `tls`, a
/// probe that only looks whether the port is open is `closed`.
const fn why(kind: io::ErrorKind) -> &'static str {
    match kind {
        io::ErrorKind::InvalidData => "tls",
        io::ErrorKind::TimedOut => "timeout",
        io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => "closed",
        _ => "other",
    }
}
