//! Do two pools certainly have nodes in common? Only what can be proven from the selectors counts: two
//! selectors over different labels may or may not meet, and which is so only the cluster can say.

use super::set::Pool;
use crate::k8s::object::{Expression, NodeSelectorTerm};

/// Whether every node of some term of one pool is a node of the other, by the selectors alone.
pub(super) fn certain(a: &Pool, b: &Pool) -> bool {
    let within = |inner: &Pool, outer: &Pool| {
        inner.nodes.iter().any(|term| outer.nodes.iter().any(|other| implies(term, other)))
    };
    within(a, b) || within(b, a)
}

/// The first thing about which two pools differ that a node can have only once.
pub(super) fn contradiction(a: &Pool, b: &Pool) -> Option<String> {
    if a.mode != b.mode {
        return Some(format!("one is {} and the other {}", a.mode, b.mode));
    }
    if let (Some(x), Some(y)) = (a.replicas, b.replicas)
        && x != y
    {
        return Some(format!("one has {x} replicas and the other {y}"));
    }
    if let (Some(x), Some(y)) = (&a.mig, &b.mig)
        && x != y
    {
        return Some("their MIG layouts differ".to_owned());
    }
    if let (Some(x), Some(y)) = (&a.resource, &b.resource)
        && x != y
        && a.mig.is_none()
    {
        return Some(format!("one advertises {x} and the other {y}"));
    }
    None
}

/// Whether every node that meets `inner` meets `outer`. A term without expressions meets nothing.
fn implies(inner: &NodeSelectorTerm, outer: &NodeSelectorTerm) -> bool {
    let some = |term: &NodeSelectorTerm| !term.match_expressions.is_empty() || !term.match_fields.is_empty();
    some(inner)
        && some(outer)
        && all_implied(&inner.match_expressions, &outer.match_expressions)
        && all_implied(&inner.match_fields, &outer.match_fields)
}

fn all_implied(inner: &[Expression], outer: &[Expression]) -> bool {
    outer.iter().all(|wanted| inner.iter().any(|given| gives(given, wanted)))
}

/// Whether a label that meets `given` meets `wanted`.
fn gives(given: &Expression, wanted: &Expression) -> bool {
    if given.key != wanted.key {
        return false;
    }
    let subset = |a: &Expression, b: &Expression| a.values.iter().all(|value| b.values.contains(value));
    match (given.operator.as_str(), wanted.operator.as_str()) {
        ("In", "In") => !given.values.is_empty() && subset(given, wanted),
        ("In" | "Exists" | "Gt" | "Lt", "Exists") | ("DoesNotExist", "DoesNotExist" | "NotIn") => true,
        ("In", "NotIn") => given.values.iter().all(|value| !wanted.values.contains(value)),
        ("NotIn", "NotIn") => subset(wanted, given),
        ("Gt", "Gt") => number(given) >= number(wanted) && number(wanted).is_some(),
        ("Lt", "Lt") => number(given) <= number(wanted) && number(given).is_some(),
        _ => false,
    }
}

fn number(expression: &Expression) -> Option<i64> {
    expression.values.first()?.parse().ok()
}
