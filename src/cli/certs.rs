//! `sluice certs`: a serving certificate as a Secret, and both webhook configurations with its authority.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::Context;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::json;

use super::{
    manifests::{self, Target},
    output,
};
use crate::{
    k8s::{names, yaml},
    serve::certificates,
};

/// Services that lead to the server: the API server's, and the cluster's own scheduler's in the availability
/// overlay.
const SERVICES: [&str; 2] = ["sluice", "sluice-extender"];
/// Name of the Secret that the Deployment mounts.
const SECRET: &str = "sluice-tls";

/// Print a serving certificate and the webhook configurations that trust it
///
/// Makes a certificate authority and a certificate for the Services of sluice, and prints three objects: the
/// Secret with certificate and key, and both webhook configurations with the authority filled in. The
/// authority's key is kept nowhere: run the command again to renew. Until every server has the new certificate,
/// the old one must be trusted too: give its authority as --previous-ca.
///
/// The configurations are those of the overlay `enforce`. Over another overlay, or one with patches of your
/// own, print the authority alone (--ca-only) and apply it as a field manager of its own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice certs -n sluice-system | kubectl apply -f -
  sluice certs -n sluice-system --ca-only |
    kubectl apply --server-side --field-manager=sluice-certs -f -
  sluice certs -n sluice-system --days 90 --previous-ca old-ca.crt")]
pub(super) struct Arguments {
    /// Namespace that sluice runs in
    #[arg(short, long, value_name = "NS", default_value = manifests::NAMESPACE)]
    namespace: String,
    /// Days until the certificate ends
    #[arg(long, default_value_t = 365, value_parser = clap::value_parser!(u32).range(1..=3650))]
    days: u32,
    /// A further DNS name or IP address of the server; may be repeated
    #[arg(long, value_name = "NAME")]
    name: Vec<String>,
    /// Of the webhook configurations print names and authority only, for server-side apply
    #[arg(long)]
    ca_only: bool,
    /// PEM file of an authority that stays trusted beside the new one
    #[arg(long, value_name = "FILE")]
    previous_ca: Option<PathBuf>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let namespace = &arguments.namespace;
    let problems = names::label_value_problems(namespace);
    anyhow::ensure!(
        problems.is_empty() && !namespace.is_empty(),
        "{namespace:?} is no namespace name; give the one that sluice runs in, such as {}",
        manifests::NAMESPACE
    );
    let mut names: Vec<String> = SERVICES
        .iter()
        .flat_map(|service| ["", ".cluster.local"].map(|domain| format!("{service}.{namespace}.svc{domain}")))
        .collect();
    names.extend(arguments.name.iter().cloned());
    let issued = certificates::issue(&names, arguments.days)
        .with_context(|| format!("no certificate for {}", names.join(", ")))?;
    let secret = secret(namespace, &issued)?;
    let ca = BASE64_STANDARD.encode(trusted(&issued.ca_pem, arguments.previous_ca.as_deref())?);
    let configurations = if arguments.ca_only {
        manifests::authority_yaml(&ca)
    } else {
        let target = Target { namespace, ca_bundle: Some(&ca) };
        format!("{}---\n{}", manifests::mutating_yaml(target), manifests::validating_yaml(target))
    };
    let mut out = output::standard();
    write!(out, "{secret}---\n{configurations}")?;
    out.flush()?;
    output::say("note: the Secret holds a private key; apply it, do not commit it");
    Ok(ExitCode::SUCCESS)
}

/// The new authority, and the one that is going.
fn trusted(new: &str, previous: Option<&Path>) -> anyhow::Result<String> {
    let Some(path) = previous else { return Ok(new.to_owned()) };
    let text = fs::read_to_string(path).with_context(|| path.display().to_string())?;
    anyhow::ensure!(
        x509_parser::pem::Pem::iter_from_buffer(text.as_bytes())
            .next()
            .is_some_and(|pem| pem.is_ok_and(|pem| pem.label == "CERTIFICATE")),
        "{}: holds no certificate; give the authority of the Secret that is in use (ca.crt)",
        path.display()
    );
    Ok(format!("{new}{text}"))
}

fn secret(namespace: &str, issued: &certificates::Issued) -> anyhow::Result<String> {
    let data = |pem: &str| BASE64_STANDARD.encode(pem);
    let secret = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": SECRET,
            "namespace": namespace,
            "labels": {"app.kubernetes.io/name": "sluice"},
        },
        "type": "kubernetes.io/tls",
        "data": {
            "ca.crt": data(&issued.ca_pem),
            "tls.crt": data(&issued.chain_pem),
            "tls.key": data(&issued.key_pem),
        },
    });
    Ok(yaml::to_text(&secret)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_authority_that_goes_stays_trusted_where_it_is_given() {
        let new = certificates::issue(&["sluice.ns.svc".to_owned()], 1).expect("a certificate").ca_pem;
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("old.crt");
        std::fs::write(&file, &new).expect("a file");
        let both = trusted(&new, Some(&file)).expect("both");
        assert_eq!(both.matches("BEGIN CERTIFICATE").count(), 2);
        assert_eq!(trusted(&new, None).expect("one"), new);
        std::fs::write(&file, "no certificate").expect("a file");
        assert!(trusted(&new, Some(&file)).is_err());
    }

    #[test]
    fn the_secret_holds_a_pair_that_the_authority_signed() {
        let issued = certificates::issue(&["sluice.ns.svc".to_owned()], 1).expect("a certificate");
        let text = secret("ns", &issued).expect("YAML");
        let read = yaml::documents(&text).next().expect("a document").expect("YAML").value;
        let pem = |key: &str| {
            let bytes = BASE64_STANDARD.decode(read["data"][key].as_str().expect("text")).expect("base64");
            x509_parser::pem::parse_x509_pem(&bytes).expect("PEM").1
        };
        let (authority, leaf) = (pem("ca.crt"), pem("tls.crt"));
        let (authority, leaf) =
            (authority.parse_x509().expect("a certificate"), leaf.parse_x509().expect("a certificate"));
        assert_eq!(leaf.issuer(), authority.subject());
        assert_eq!(pem("tls.key").label, "PRIVATE KEY");
        assert_eq!(read["metadata"]["namespace"], "ns");
    }
}
