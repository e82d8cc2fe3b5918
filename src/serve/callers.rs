//! Who may call: TLS client certificates of one authority, where the installation asks for them.
//!
//! The API server presents a certificate only when its `--admission-control-config-file` says so.

use std::{path::PathBuf, sync::Arc};

use arc_swap::ArcSwap;
use rustls::{
    CertificateError as Refusal, DigitallySignedStruct, DistinguishedName, Error, RootCertStore,
    SignatureScheme,
    client::danger::HandshakeSignatureValid,
    crypto::ring,
    pki_types::{CertificateDer, UnixTime},
    server::{
        WebPkiClientVerifier,
        danger::{ClientCertVerified, ClientCertVerifier},
    },
};
use x509_parser::{parse_x509_certificate, prelude::GeneralName, prelude::X509Certificate};

use super::certificates::{CertificateError, certificates};

/// Callers that are let in.
#[derive(Clone, Debug)]
pub struct Callers {
    /// PEM file of the authorities that sign their certificates; looked at like the serving certificate.
    pub authority: PathBuf,
    /// Common names or DNS names of which a caller must have one; empty = any caller of the authority.
    pub names: Vec<String>,
}

/// Verifies callers against authorities that can be swapped.
#[derive(Debug)]
pub(super) struct Verifier {
    authority: ArcSwap<Authority>,
    names: Vec<String>,
}

#[derive(Debug)]
struct Authority(Arc<dyn ClientCertVerifier>);

impl Verifier {
    pub(super) fn new(authority_pem: &[u8], names: Vec<String>) -> Result<Self, CertificateError> {
        Ok(Self { authority: ArcSwap::from_pointee(Authority::read(authority_pem)?), names })
    }

    pub(super) fn swap(&self, authority_pem: &[u8]) -> Result<(), CertificateError> {
        self.authority.store(Arc::new(Authority::read(authority_pem)?));
        Ok(())
    }

    fn knows(&self, certificate: &CertificateDer<'_>) -> bool {
        self.names.is_empty()
            || parse_x509_certificate(certificate).is_ok_and(|(_, parsed)| {
                names(&parsed).any(|name| self.names.iter().any(|known| known == name))
            })
    }
}

impl Authority {
    fn read(pem: &[u8]) -> Result<Self, CertificateError> {
        let mut roots = RootCertStore::empty();
        for certificate in certificates(pem)? {
            roots.add(certificate).map_err(CertificateError::Pair)?;
        }
        let provider = Arc::new(ring::default_provider());
        Ok(Self(WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build()?))
    }
}

impl ClientCertVerifier for Verifier {
    /// None: a hint that names the authorities would have to outlive their swap, and clients that have one
    /// certificate present it without.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        let verified = self.authority.load().0.verify_client_cert(end_entity, intermediates, now)?;
        if self.knows(end_entity) {
            Ok(verified)
        } else {
            Err(Error::InvalidCertificate(Refusal::ApplicationVerificationFailure))
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authority.load().0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.authority.load().0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.authority.load().0.supported_verify_schemes()
    }
}

/// Common names and DNS names of a certificate.
fn names<'a>(certificate: &'a X509Certificate<'_>) -> impl Iterator<Item = &'a str> {
    let common = certificate.subject().iter_common_name().filter_map(|name| name.as_str().ok());
    let alternative = certificate.subject_alternative_name().ok().flatten();
    let dns =
        alternative.into_iter().flat_map(|names| &names.value.general_names).filter_map(|name| match name {
            GeneralName::DNSName(dns) => Some(*dns),
            _ => None,
        });
    common.chain(dns)
}
