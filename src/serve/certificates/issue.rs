//! Certificates of our own making: for `demo`, for `--cluster`, and for `sluice certs`.

use std::time::{Duration, SystemTime};

use rcgen::{
    BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, Issuer, KeyPair,
    KeyUsagePurpose,
};

use super::CertificateError;

/// A certificate with the authority that signed it; the authority's key is not kept.
#[derive(Clone)]
pub struct Issued {
    /// Certificate of the authority: what callers trust (`caBundle`).
    pub ca_pem: String,
    /// Serving certificate.
    pub chain_pem: String,
    /// Its private key.
    pub key_pem: String,
}

/// A clock that is a little slow must not find them "not yet valid".
const EARLIER: Duration = Duration::from_secs(3600);

const DAY: Duration = Duration::from_secs(86_400);

/// Makes an authority and a serving certificate for DNS names and IP addresses, both good for so many days.
///
/// # Errors
/// If a name cannot stand in a certificate.
pub fn issue(names: &[String], days: u32) -> Result<Issued, CertificateError> {
    let now = SystemTime::now();
    let (from, to) = ((now - EARLIER).into(), (now + DAY * days).into());
    let mut authority = CertificateParams::new(Vec::new())?;
    authority.distinguished_name.push(DnType::CommonName, "sluice CA");
    authority.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    authority.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    (authority.not_before, authority.not_after) = (from, to);
    let authority_key = KeyPair::generate()?;
    let ca_pem = authority.self_signed(&authority_key)?.pem();

    let mut leaf = CertificateParams::new(names)?;
    leaf.distinguished_name.push(DnType::CommonName, "sluice");
    leaf.key_usages = vec![KeyUsagePurpose::DigitalSignature];
    leaf.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    leaf.use_authority_key_identifier_extension = true;
    (leaf.not_before, leaf.not_after) = (from, to);
    let key = KeyPair::generate()?;
    let chain_pem = leaf.signed_by(&key, &Issuer::new(authority, authority_key))?.pem();
    Ok(Issued { ca_pem, chain_pem, key_pem: key.serialize_pem() })
}

impl std::fmt::Debug for Issued {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Issued").field("ca_pem", &self.ca_pem).finish_non_exhaustive()
    }
}
