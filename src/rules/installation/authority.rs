//! Authorities that end: of a webhook's caBundle, and of a cert-manager CA that lives too short.

use base64::{Engine, prelude::BASE64_STANDARD};
use x509_parser::pem::Pem;

use crate::{
    k8s::duration,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::{Body, Installation},
};

/// `ca-bundle-expires`
pub static CA_BUNDLE_EXPIRES: Rule = Rule {
    id: "ca-bundle-expires",
    family: Family::Installation,
    summary: "the authority that a webhook's caBundle trusts is valid, and for some weeks to come",
    why: "The API server verifies the webhook's certificate against the caBundle. Once that has ended every request fails: with Fail all of them are refused, with Ignore all of them pass unchecked.",
    remedy: "Renew the authority (`sluice certs`), with the old one beside the new in the bundle.",
    severity: Severity::Deny,
    severity_because: "a bundle of which nothing is valid verifies nothing; one that is about to end, or that cannot be read here, only warns",
    applies: Applies::Installation,
    needs: &[],
    sources: &["k8s.io/api/admissionregistration/v1: caBundle", "RFC 5280: validity"],
    check: Check::Case(bundles),
};

/// `ca-lives-too-short`
pub static CA_LIVES_TOO_SHORT: Rule = Rule {
    id: "ca-lives-too-short",
    family: Family::Installation,
    summary: "a certificate authority that webhooks trust lives for a year at least",
    why: "cert-manager gives a Certificate 90 days where no duration is written. When an authority is renewed, every caBundle has to be, and certificates of the old one are refused.",
    remedy: "Set spec.duration, such as 87600h.",
    severity: Severity::Warn,
    severity_because: "whoever renews the bundle with it loses nothing",
    applies: Applies::Installation,
    needs: &[],
    sources: &["cert-manager: Certificate resources, duration"],
    check: Check::Case(lives),
};

const DAY: i64 = 86_400;
/// Days before the end from which on it is told.
const SOON: i64 = 21;
/// Milliseconds.
const DEFAULT_LIFE: i64 = 90 * DAY * 1000;
const SHORTEST_LIFE: i64 = 364 * DAY * 1000;

fn bundles(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Installation(installation) = &case.subject.body else { return };
    let Installation::Webhooks(configuration) = &**installation else { return };
    let now = case.subject.facts.now;
    for (index, webhook) in configuration.webhooks.iter().enumerate() {
        let bundle = webhook.client_config.ca_bundle.as_str();
        // cert-manager and our own installer fill it in; an empty one means the API server's own authorities.
        if bundle.is_empty() {
            continue;
        }
        let path = format!("webhooks[{index}].clientConfig.caBundle");
        let should = format!("valid for {SOON} days or more");
        let remedy =
            "renew the authority, and keep the old one beside it until every certificate is of the new one";
        let Some(end) = last_end(bundle) else {
            let is = "not base64 of certificates in PEM";
            findings
                .add(rule, path, is, should, "write the authority's PEM in base64")
                .at_most(Severity::Warn);
            continue;
        };
        let days = (end - now) / DAY;
        if end <= now {
            let is = format!("ended {} days ago: no certificate of the webhook can be verified", -days);
            findings.add(rule, path, is, should, remedy);
        } else if days < SOON {
            let is = format!("valid for {days} days more");
            findings.add(rule, path, is, should, remedy).at_most(Severity::Warn);
        }
    }
}

/// When the last certificate of a bundle ends, Unix seconds: until then something can be verified.
fn last_end(bundle: &str) -> Option<i64> {
    let text: String = bundle.split_whitespace().collect();
    let pem = BASE64_STANDARD.decode(text).ok()?;
    let mut last = None;
    for certificate in Pem::iter_from_buffer(&pem) {
        let certificate = certificate.ok()?;
        let end = certificate.parse_x509().ok()?.validity().not_after.timestamp();
        last = last.max(Some(end));
    }
    last
}

fn lives(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Installation(installation) = &case.subject.body else { return };
    let Installation::Authority(certificate) = &**installation else { return };
    let written = certificate.spec.duration.as_deref();
    let Some(life) = written.map_or(Some(DEFAULT_LIFE), duration::milliseconds) else { return };
    if certificate.spec.is_ca && life < SHORTEST_LIFE {
        let days = life / 1000 / DAY;
        let default = if written.is_some() { "" } else { ", the default" };
        findings.add(
            rule,
            "spec.duration",
            format!("{days} days{default}, after which every caBundle with it is void"),
            "a year or more for an authority",
            "set spec.duration: 87600h",
        );
    }
}
