//! The serving certificate: from files that are swapped under us, or made in memory.
//!
//! A new pair is read and checked completely before it is taken; a bad one is told once and the one before
//! stays in use. Connections that exist keep what they were made with.

mod issue;
mod pair;
mod watch;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwap;
use rustls::{
    server::{ClientHello, ResolvesServerCert},
    sign::CertifiedKey,
};

pub use issue::{Issued, issue};
pub(super) use pair::{Pair, certificates};
pub(super) use watch::{Watched, watch};

/// Where the serving certificate comes from.
#[derive(Clone, Debug)]
pub enum Certificates {
    /// PEM files: the certificate with any intermediates after it, and its key. Their folders are watched,
    /// and their content is compared every `poll`.
    Files {
        /// Certificate chain.
        chain: PathBuf,
        /// Private key.
        key: PathBuf,
        /// Time between two looks at the content.
        poll: Duration,
    },
    /// Made at start for these DNS names and addresses, with a certificate authority that lives as long as
    /// the process.
    InMemory {
        /// DNS names and IP addresses.
        names: Vec<String>,
    },
}

/// Why a certificate, key or authority cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("{path}: {source}")]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// Not PEM, or without what is looked for.
    #[error("{what}: {why}")]
    Pem {
        /// What was looked for.
        what: &'static str,
        /// Why it is not there.
        why: String,
    },
    /// The key does not belong to the certificate, or is of an unknown kind.
    #[error("certificate and key: {0}")]
    Pair(rustls::Error),
    /// It has ended.
    #[error("the certificate ended at {0} (Unix time)")]
    Ended(i64),
    /// It could not be made.
    #[error("certificate cannot be made: {0}")]
    Making(#[from] rcgen::Error),
    /// Callers cannot be verified by that authority.
    #[error("authority of callers: {0}")]
    Authority(#[from] rustls::server::VerifierBuilderError),
}

/// The certificate in use.
#[derive(Debug)]
pub(super) struct Serving(ArcSwap<CertifiedKey>);

impl Serving {
    pub(super) fn new(pair: &Pair) -> Self {
        Self(ArcSwap::new(pair.key.clone()))
    }

    pub(super) fn swap(&self, pair: &Pair) {
        self.0.store(pair.key.clone());
    }
}

impl ResolvesServerCert for Serving {
    /// The same for every name: callers reach us by service name, address or localhost.
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.0.load_full())
    }
}

impl Certificates {
    /// Time between two looks at files.
    pub(super) fn poll(&self) -> Duration {
        match self {
            Self::Files { poll, .. } => *poll,
            Self::InMemory { .. } => Duration::from_secs(10),
        }
    }
}

/// Reads a file.
pub(super) fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    std::fs::read(path).map_err(|source| CertificateError::File { path: path.to_owned(), source })
}
