//! Ports: what is accepted on them, with or without TLS, and how they end.

use std::{
    future::{Ready, pending, ready},
    io,
    net::SocketAddr,
    sync::Arc,
    time::Duration,
};

use axum::Router;
use axum_server::{
    Handle, Server as Http,
    accept::Accept,
    service::SendService,
    tls_rustls::{RustlsAcceptor, RustlsConfig},
};
use hyper::body::Incoming;
use rustls::ServerConfig;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

use super::{Options, ServeError};
use crate::telemetry::Telemetry;

/// Ports that end together.
pub(super) struct Ports {
    telemetry: Arc<Telemetry>,
    handle: Handle<SocketAddr>,
    tasks: JoinSet<io::Result<()>>,
}

/// A port to open.
#[derive(Clone, Copy)]
pub(super) struct Port<'a> {
    /// As metrics name it.
    pub(super) name: &'static str,
    pub(super) address: SocketAddr,
    pub(super) tls: Option<&'a Arc<ServerConfig>>,
}

impl Ports {
    pub(super) fn new(telemetry: &Arc<Telemetry>) -> Self {
        Self { telemetry: telemetry.clone(), handle: Handle::default(), tasks: JoinSet::new() }
    }

    /// Binds a port and serves there; gives its address.
    pub(super) async fn open(
        &mut self,
        port: Port<'_>,
        router: Router,
        options: &Options,
    ) -> Result<SocketAddr, ServeError> {
        let cannot = |source| ServeError::Listen { address: port.address, source };
        let listener = TcpListener::bind(port.address).await.map_err(cannot)?;
        let bound = listener.local_addr().map_err(cannot)?;
        let accepted = Accepted { telemetry: self.telemetry.clone(), port: port.name };
        match port.tls {
            None => self.serve(listener, accepted, router, options),
            Some(config) => {
                let tls = RustlsAcceptor::new(RustlsConfig::from_config(config.clone()));
                self.serve(listener, tls.acceptor(accepted), router, options);
            }
        }
        Ok(bound)
    }

    /// What one of them ended with; for ever where none does.
    pub(super) async fn ended(&mut self) -> String {
        match self.tasks.join_next().await {
            None => pending().await,
            Some(Ok(Ok(()))) => "it ended".to_owned(),
            Some(Ok(Err(error))) => error.to_string(),
            Some(Err(error)) => error.to_string(),
        }
    }

    /// Accepts nothing more, and waits so long for answers in flight.
    pub(super) async fn close(mut self, drain: Duration) {
        self.handle.graceful_shutdown(Some(drain));
        while self.tasks.join_next().await.is_some() {}
    }

    fn serve<A>(&mut self, listener: TcpListener, acceptor: A, router: Router, options: &Options)
    where
        A: Accept<TcpStream, Router> + Clone + Send + Sync + 'static,
        A::Stream: AsyncRead + AsyncWrite + Unpin + Send,
        A::Service: SendService<axum::http::Request<Incoming>> + Send,
        A::Future: Send,
    {
        let telemetry = self.telemetry.clone();
        let mut server = Http::<SocketAddr>::from_listener(listener)
            .acceptor(acceptor)
            .handle(self.handle.clone())
            .first_request_timeout(options.limits.first_request)
            .accept_error_handler(move |_, error| {
                tracing::debug!(%error, "no connection came of it");
                telemetry.connection_failed(why(error.kind()));
            });
        if options.http1_only {
            server = server.http1_only();
        }
        server.http_builder().http1().header_read_timeout(options.limits.next_request);
        server.http_builder().http2().keep_alive_interval(options.limits.next_request);
        self.tasks.spawn(server.serve(router.into_make_service()));
    }
}

/// Counts connections. Answers are small and written whole, so they are sent without waiting for more.
#[derive(Clone)]
struct Accepted {
    telemetry: Arc<Telemetry>,
    port: &'static str,
}

impl<S> Accept<TcpStream, S> for Accepted {
    type Stream = TcpStream;
    type Service = S;
    type Future = Ready<io::Result<(TcpStream, S)>>;

    fn accept(&self, stream: TcpStream, service: S) -> Self::Future {
        self.telemetry.connected(self.port);
        ready(stream.set_nodelay(true).map(|()| (stream, service)))
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
