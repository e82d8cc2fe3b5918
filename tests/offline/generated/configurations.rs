//! `webhook-config/` and what of `deploy/` comes from tables.

use sluice::cli::manifests::{self, NAMESPACE, Target};

const TARGET: Target<'static> = Target { namespace: NAMESPACE, ca_bundle: None };

pub fn mutating() -> String {
    manifests::mutating_yaml(TARGET)
}

pub fn validating() -> String {
    manifests::validating_yaml(TARGET)
}

pub fn backstop() -> String {
    manifests::backstop(NAMESPACE)
}
