//! `PolicyException`.

use std::sync::Arc;

use super::{Known, Place, check_patterns, check_rule, selectors, units};
use crate::policy::{error::Faults, raw, set::Exception};

/// Compiles an exception; nothing where its date cannot be read.
pub fn compile(
    raw: &raw::PolicyException,
    known: &Known<'_>,
    place: Place<'_>,
    faults: &mut Faults<'_>,
) -> Option<Exception> {
    let (spec, place) = (&raw.spec, place.key("spec"));
    for (index, rule) in spec.rules.iter().enumerate() {
        check_rule(rule, known, place.key("rules").item(index).at(), faults);
    }
    let some = [
        ("rules", spec.rules.is_empty(), "it would except from nothing"),
        ("namespaces", spec.namespaces.is_empty(), "an exception names where it holds"),
        ("owner", spec.owner.trim().is_empty(), "somebody answers for an exception"),
        ("reason", spec.reason.trim().is_empty(), "an exception says why it is needed"),
    ];
    for (field, _, why) in some.into_iter().filter(|(_, empty, _)| *empty) {
        faults.push(place.key(field).at(), format!("spec.{field} is empty"), why, None);
    }
    check_patterns(&spec.namespaces, place.key("namespaces"), faults);
    check_patterns(&spec.names, place.key("names"), faults);
    let labels = selectors::labels(spec.labels.as_ref(), place.key("labels"), faults);
    let expires = units::end_of(&spec.expires, place.key("expires"), faults)?;
    Some(Exception {
        name: Arc::from(raw.metadata.name.as_str()),
        rules: spec.rules.iter().cloned().collect(),
        namespaces: spec.namespaces.clone(),
        names: spec.names.clone(),
        labels,
        owner: spec.owner.clone(),
        reason: spec.reason.clone(),
        expires,
    })
}
