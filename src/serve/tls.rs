//! TLS of the server: versions, certificate, callers, and what is spoken inside.

use std::sync::Arc;

use rustls::{
    ServerConfig,
    crypto::ring,
    version::{TLS12, TLS13},
};
use tokio::task::JoinSet;

use super::{
    CertificateError, Certificates, Options,
    callers::Verifier,
    certificates::{Pair, Serving, Watched, issue, read, watch},
    clock::now,
};
use crate::telemetry::Telemetry;

/// How long a certificate of our own making is good for; the process is not expected to run longer.
const DAYS_IN_MEMORY: u32 = 365;

/// TLS, ready for use.
pub(super) struct Tls {
    pub(super) config: Arc<ServerConfig>,
    /// The authority of a certificate of our own making.
    pub(super) ca_pem: Option<String>,
}

/// Reads or makes the certificates, and watches what comes from files on `tasks`.
pub(super) fn prepare(
    options: &Options,
    telemetry: &Arc<Telemetry>,
    tasks: &mut JoinSet<()>,
) -> Result<Tls, CertificateError> {
    let (serving, ca_pem) = serving(&options.certificates, telemetry, tasks)?;
    let versions: &[_] = if options.tls12 { &[&TLS13, &TLS12] } else { &[&TLS13] };
    let builder = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
        .with_protocol_versions(versions)
        .map_err(CertificateError::Pair)?;
    let builder = match verifier(options, tasks)? {
        Some(verifier) => builder.with_client_cert_verifier(verifier),
        None => builder.with_no_client_auth(),
    };
    let mut config = builder.with_cert_resolver(serving);
    config.alpn_protocols = if options.http1_only {
        vec![b"http/1.1".to_vec()]
    } else {
        vec![b"h2".to_vec(), b"http/1.1".to_vec()]
    };
    Ok(Tls { config: Arc::new(config), ca_pem })
}

fn serving(
    certificates: &Certificates,
    telemetry: &Arc<Telemetry>,
    tasks: &mut JoinSet<()>,
) -> Result<(Arc<Serving>, Option<String>), CertificateError> {
    let (seen, ca_pem) = match certificates {
        Certificates::Files { chain, key, .. } => (vec![read(chain)?, read(key)?], None),
        Certificates::InMemory { names } => {
            let issued = issue(names, DAYS_IN_MEMORY)?;
            (vec![issued.chain_pem.into_bytes(), issued.key_pem.into_bytes()], Some(issued.ca_pem))
        }
    };
    let pair = Pair::read(&seen[0], &seen[1], now())?;
    let serving = Arc::new(Serving::new(&pair));
    telemetry.certificate_loaded(pair.not_after);
    if let Certificates::Files { chain, key, poll } = certificates {
        let (serving, telemetry) = (serving.clone(), telemetry.clone());
        let take = move |content: &[Vec<u8>]| {
            let pair = Pair::read(&content[0], &content[1], now())
                .inspect_err(|_| telemetry.certificate_failed())?;
            serving.swap(&pair);
            telemetry.certificate_loaded(pair.not_after);
            Ok(())
        };
        tasks.spawn(watch(Watched { paths: vec![chain.clone(), key.clone()], seen, poll: *poll, take }));
    }
    Ok((serving, ca_pem))
}

fn verifier(options: &Options, tasks: &mut JoinSet<()>) -> Result<Option<Arc<Verifier>>, CertificateError> {
    let Some(callers) = &options.callers else { return Ok(None) };
    let pem = read(&callers.authority)?;
    let verifier = Arc::new(Verifier::new(&pem, callers.names.clone())?);
    let taking = verifier.clone();
    tasks.spawn(watch(Watched {
        paths: vec![callers.authority.clone()],
        seen: vec![pem],
        poll: options.certificates.poll(),
        take: move |content: &[Vec<u8>]| taking.swap(&content[0]),
    }));
    Ok(Some(verifier))
}
