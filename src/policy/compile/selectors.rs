//! Label selectors and node selector terms.

use crate::{
    k8s::{
        affinity::Term,
        labels::{ExpressionError, Requirement, Selector},
        object::{self, NodeSelectorTerm},
    },
    policy::{compile::Place, error::Faults, raw},
};

/// A label selector; nothing where it is faulty or not given.
pub fn labels(raw: Option<&raw::Selector>, place: Place<'_>, faults: &mut Faults<'_>) -> Option<Selector> {
    let raw = raw?;
    if raw.match_labels.is_empty() && raw.match_expressions.is_empty() {
        let why = "an empty selector selects everything; leave it out if that is meant";
        faults.push(place.at(), "empty selector".to_owned(), why, None);
        return None;
    }
    match Selector::compile(&object::LabelSelector::from(raw)) {
        Ok(selector) => Some(selector),
        Err(errors) => {
            for error in errors {
                tell(&error, place, faults);
            }
            None
        }
    }
}

/// Node selector terms of a pool; all of them, faulty ones too, once every fault is told.
pub fn nodes(raw: &[raw::NodeTerm], place: Place<'_>, faults: &mut Faults<'_>) -> Vec<NodeSelectorTerm> {
    if raw.is_empty() {
        faults.push(place.at(), "the pool selects no node".to_owned(), "at least one term is needed", None);
    }
    raw.iter().enumerate().map(|(index, term)| node_term(term, place.item(index), faults)).collect()
}

fn node_term(raw: &raw::NodeTerm, place: Place<'_>, faults: &mut Faults<'_>) -> NodeSelectorTerm {
    let term = NodeSelectorTerm::from(raw);
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        let why = "Kubernetes lets an empty term match no node at all";
        faults.push(place.at(), "empty node term".to_owned(), why, None);
        return term;
    }
    let labels = object::LabelSelector { match_labels: raw.match_labels.clone(), ..Default::default() };
    for error in Selector::compile(&labels).err().into_iter().flatten() {
        tell(&error, place, faults);
    }
    let written = &term.match_expressions[raw.match_labels.len()..];
    for (index, expression) in written.iter().enumerate() {
        for error in Requirement::compile(expression).err().into_iter().flatten() {
            tell(&error, place.key("matchExpressions").item(index), faults);
        }
    }
    let fields = NodeSelectorTerm { match_expressions: Vec::new(), match_fields: term.match_fields.clone() };
    if let Term::Invalid(errors) = Term::compile(&fields) {
        for error in errors {
            tell(&error, place, faults);
        }
    }
    term
}

fn tell(error: &ExpressionError, place: Place<'_>, faults: &mut Faults<'_>) {
    let place = follow(place, &error.path);
    faults.push(place.at(), "bad selector".to_owned(), error.problem.to_string(), None);
}

/// Follows a path such as `matchExpressions[1].values[0]` or `matchLabels[a.b/c]`.
fn follow<'a>(place: Place<'a>, path: &str) -> Place<'a> {
    if let Some(key) = path.strip_prefix("matchLabels[").and_then(|rest| rest.strip_suffix(']')) {
        return place.key("matchLabels").key(key);
    }
    let mut place = place;
    for step in path.split('.').filter(|step| !step.is_empty()) {
        let (name, index) = step.split_once('[').unwrap_or((step, ""));
        place = place.key(name);
        if let Ok(index) = index.trim_end_matches(']').parse() {
            place = place.item(index);
        }
    }
    place
}
