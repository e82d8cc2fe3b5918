//! What an installation chooses of the server.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use super::{Callers, Certificates, Limits};
use crate::live::questions::Questions;

/// Options of the server, as plain values.
#[derive(Clone, Debug)]
pub struct Options {
    /// Where webhooks and extender are served over TLS; port 0 for any.
    pub address: SocketAddr,
    /// A second port for the extender alone, for the scheduler that runs beside us.
    pub extender: Option<ExtenderPort>,
    /// Where health and metrics are served without TLS.
    pub status: Option<SocketAddr>,
    /// The serving certificate.
    pub certificates: Certificates,
    /// Callers that are let in; `None` = anybody who reaches the port.
    pub callers: Option<Callers>,
    /// Also speak TLS 1.2.
    pub tls12: bool,
    /// Speak HTTP/1.1 only.
    pub http1_only: bool,
    /// Bounds of the work.
    pub limits: Limits,
    /// Where the scheduler's questions are remembered, for whoever else reads of them; `None`: nobody does.
    pub questions: Option<Arc<Questions>>,
    /// How long to keep serving, unready, after SIGTERM: until every client has heard of it.
    pub keep_serving: Duration,
    /// How long answers in flight may take after that.
    pub drain: Duration,
}

/// The extender's own port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExtenderPort {
    /// A loopback address; port 0 for any.
    pub address: SocketAddr,
    /// TLS as on the main port, or none.
    pub tls: bool,
}

impl Default for Options {
    /// On every address as in a cluster, with a certificate of our own making for localhost.
    fn default() -> Self {
        Self {
            address: SocketAddr::from(([0, 0, 0, 0], 8443)),
            extender: None,
            status: Some(SocketAddr::from(([0, 0, 0, 0], 8080))),
            certificates: Certificates::InMemory {
                names: vec!["localhost".to_owned(), "127.0.0.1".to_owned(), "::1".to_owned()],
            },
            callers: None,
            tls12: false,
            http1_only: false,
            limits: Limits::default(),
            questions: None,
            keep_serving: Duration::from_secs(10),
            drain: Duration::from_secs(10),
        }
    }
}

impl Options {
    /// On free loopback ports, for `demo` and tests.
    #[must_use]
    pub fn on_loopback() -> Self {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        Self { address: any, status: Some(any), ..Self::default() }
    }
}
