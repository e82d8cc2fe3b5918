//! A certificate chain and its key, read from PEM and checked.

use std::sync::Arc;

use rustls::{
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer, pem::PemObject},
    sign::CertifiedKey,
};
use x509_parser::parse_x509_certificate;

use super::CertificateError;

/// A chain with its key, fit for use.
#[derive(Clone, Debug)]
pub(in crate::serve) struct Pair {
    pub(super) key: Arc<CertifiedKey>,
    /// When the first certificate of the chain ends, Unix seconds.
    pub(in crate::serve) not_after: i64,
}

impl Pair {
    /// Reads and checks: PEM, key of that certificate, not ended at `now` (Unix seconds).
    pub(in crate::serve) fn read(chain: &[u8], key: &[u8], now: i64) -> Result<Self, CertificateError> {
        let chain = certificates(chain)?;
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| CertificateError::Pem { what: "private key", why: error.to_string() })?;
        let not_after = not_after(&chain)?;
        if not_after <= now {
            return Err(CertificateError::Ended(not_after));
        }
        let key =
            CertifiedKey::from_der(chain, key, &ring::default_provider()).map_err(CertificateError::Pair)?;
        Ok(Self { key: Arc::new(key), not_after })
    }
}

/// Every certificate of a PEM text; at least one.
pub(in crate::serve) fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, CertificateError> {
    let refused = |why: String| CertificateError::Pem { what: "certificate", why };
    let all: Vec<_> = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<_, _>>()
        .map_err(|error| refused(error.to_string()))?;
    if all.is_empty() { Err(refused("there is none".to_owned())) } else { Ok(all) }
}

fn not_after(chain: &[CertificateDer<'_>]) -> Result<i64, CertificateError> {
    let mut first = i64::MAX;
    for certificate in chain {
        let (_, parsed) = parse_x509_certificate(certificate)
            .map_err(|error| CertificateError::Pem { what: "certificate", why: error.to_string() })?;
        first = first.min(parsed.validity().not_after.timestamp());
    }
    Ok(first)
}
