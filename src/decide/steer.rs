//! Steering by node affinity: the user's choice stays, narrowed to the candidate pools.
//!
//! Terms of a required node affinity are ORed, expressions inside a term are ANDed, and a term without
//! either matches nothing (component-helpers `nodeaffinity.go`). Appending a term of our own would widen
//! the user's choice; so every term of the user is ANDed with every term of the pools, and an empty term
//! stays as it is.

use serde_json::{Value, json};

use crate::k8s::object::{Expression, NodeSelectorTerm, Pod};

/// Above this many terms the affinity is a finding, not a patch.
pub(super) const MOST_TERMS: usize = 64;

/// What has to happen to the required terms.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Narrowing {
    /// Already inside the pools.
    Nothing,
    /// Append these expressions to the terms of these indices; nothing else changes.
    Append(Vec<(usize, Vec<Expression>)>),
    /// Replace the list by this one.
    Replace(Vec<Value>),
    /// The product has this many terms, which is too many.
    TooMany(usize),
}

/// Narrows required terms (as raw JSON; `None` = no required affinity) to the pools' terms.
///
/// `pools` holds, for each candidate pool, its ORed terms; a pool without terms cannot be named by labels,
/// so that nothing can be required.
pub(super) fn narrow(written: Option<&[Value]>, pools: &[&[NodeSelectorTerm]]) -> Narrowing {
    if pools.is_empty() || pools.iter().any(|terms| terms.is_empty()) {
        return Narrowing::Nothing;
    }
    let mut pool_terms: Vec<&NodeSelectorTerm> = pools.iter().flat_map(|terms| terms.iter()).collect();
    pool_terms.sort_unstable();
    pool_terms.dedup();
    let absorbed = absorb(&pool_terms);
    let Some(written) = written else {
        return replace(absorbed.iter().map(|term| with(&json!({}), term)).collect());
    };
    let products: Vec<Option<Vec<&NodeSelectorTerm>>> =
        written.iter().map(|term| wanted(term, &absorbed)).collect();
    if products.iter().all(Option::is_none) {
        return Narrowing::Nothing;
    }
    if products.iter().flatten().all(|terms| terms.len() == 1 && terms[0].match_fields.is_empty()) {
        return Narrowing::Append(appended(written, &products));
    }
    replace(product(written, &products))
}

/// The candidate pool's terms as preferred terms, for pools of a better rank than the last.
pub(super) fn preferences(pod: &Pod, ranked: &[(usize, &[NodeSelectorTerm])]) -> Vec<Value> {
    let Some(worst) = ranked.iter().map(|(rank, _)| *rank).max() else { return Vec::new() };
    let mut ranks: Vec<usize> = ranked.iter().map(|(rank, _)| *rank).collect();
    ranks.sort_unstable();
    ranks.dedup();
    let mut preferences = Vec::new();
    for (rank, terms) in ranked.iter().filter(|(rank, _)| *rank < worst) {
        let place = ranks.iter().position(|other| other == rank).unwrap_or_default();
        // 100, 50, 33 …: each step clearly less than the one before, never below the least weight.
        let weight = (100 / (place + 1)).max(1);
        for term in *terms {
            let known = pod.spec.affinity.node_affinity.preferred.iter().any(|p| p.preference == *term);
            let preference = json!({"weight": weight, "preference": with(&json!({}), term)});
            if !known && !preferences.contains(&preference) {
                preferences.push(preference);
            }
        }
    }
    preferences
}

/// Of two pool terms of which one implies the other, the wider one is enough.
fn absorb<'a>(terms: &[&'a NodeSelectorTerm]) -> Vec<&'a NodeSelectorTerm> {
    let implied = |narrow: &NodeSelectorTerm, wide: &NodeSelectorTerm| {
        narrow != wide
            && wide.match_expressions.iter().all(|e| narrow.match_expressions.contains(e))
            && wide.match_fields.iter().all(|e| narrow.match_fields.contains(e))
    };
    terms.iter().filter(|term| !terms.iter().any(|other| implied(term, other))).copied().collect()
}

/// The pool terms with which a user's term has to be multiplied; `None` where it stays as it is: because
/// it is empty, cannot be read, or already holds all of one pool term.
fn wanted<'a>(written: &Value, pools: &[&'a NodeSelectorTerm]) -> Option<Vec<&'a NodeSelectorTerm>> {
    let term: NodeSelectorTerm = serde_json::from_value(written.clone()).ok()?;
    if term.match_expressions.is_empty() && term.match_fields.is_empty() {
        return None;
    }
    let holds = |pool: &NodeSelectorTerm| {
        missing(&term.match_expressions, &pool.match_expressions).is_empty()
            && missing(&term.match_fields, &pool.match_fields).is_empty()
    };
    (!pools.iter().any(|pool| holds(pool))).then(|| pools.to_vec())
}

fn missing<'a>(written: &[Expression], needed: &'a [Expression]) -> Vec<&'a Expression> {
    needed.iter().filter(|needed| !written.iter().any(|written| same(written, needed))).collect()
}

/// Equal in meaning: operands of `In` and `NotIn` are sets.
fn same(a: &Expression, b: &Expression) -> bool {
    let set = |expression: &Expression| {
        let mut values = expression.values.clone();
        values.sort_unstable();
        values.dedup();
        values
    };
    a.key == b.key && a.operator == b.operator && (a.values == b.values || set(a) == set(b))
}

fn appended(written: &[Value], products: &[Option<Vec<&NodeSelectorTerm>>]) -> Vec<(usize, Vec<Expression>)> {
    let needed = |(index, terms): (usize, &Option<Vec<&NodeSelectorTerm>>)| {
        let term: NodeSelectorTerm = serde_json::from_value(written[index].clone()).unwrap_or_default();
        let pool = terms.as_ref()?.first()?;
        let missing = missing(&term.match_expressions, &pool.match_expressions);
        Some((index, missing.into_iter().cloned().collect()))
    };
    products.iter().enumerate().filter_map(needed).collect()
}

fn product(written: &[Value], products: &[Option<Vec<&NodeSelectorTerm>>]) -> Vec<Value> {
    let mut terms: Vec<Value> = Vec::new();
    for (written, pools) in written.iter().zip(products) {
        let made = match pools {
            None => vec![written.clone()],
            Some(pools) => pools.iter().map(|pool| with(written, pool)).collect(),
        };
        for term in made {
            if !terms.contains(&term) {
                terms.push(term);
            }
        }
    }
    terms
}

fn replace(terms: Vec<Value>) -> Narrowing {
    if terms.len() > MOST_TERMS { Narrowing::TooMany(terms.len()) } else { Narrowing::Replace(terms) }
}

/// A raw term with the expressions and fields of a pool term added; what it had stays, unknown keys too.
fn with(written: &Value, pool: &NodeSelectorTerm) -> Value {
    let term: NodeSelectorTerm = serde_json::from_value(written.clone()).unwrap_or_default();
    let mut made = written.clone();
    for (key, has, needs) in [
        ("matchExpressions", &term.match_expressions, &pool.match_expressions),
        ("matchFields", &term.match_fields, &pool.match_fields),
    ] {
        let added: Vec<Value> = missing(has, needs).into_iter().map(expression).collect();
        if added.is_empty() {
            continue;
        }
        match made.get_mut(key) {
            Some(Value::Array(items)) => items.extend(added),
            _ => made[key] = Value::Array(added),
        }
    }
    made
}

/// An expression as Kubernetes writes it.
pub(super) fn expression(expression: &Expression) -> Value {
    let mut written = json!({"key": expression.key, "operator": expression.operator});
    if !expression.values.is_empty() {
        written["values"] = json!(expression.values);
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    fn term(pairs: &[(&str, &str)]) -> NodeSelectorTerm {
        let expression = |(key, value): &(&str, &str)| Expression {
            key: (*key).into(),
            operator: "In".into(),
            values: vec![(*value).into()],
        };
        NodeSelectorTerm { match_expressions: pairs.iter().map(expression).collect(), match_fields: vec![] }
    }

    fn raw(key: &str, value: &str) -> Value {
        json!({"key": key, "operator": "In", "values": [value]})
    }

    #[test]
    fn without_an_affinity_the_pools_are_the_terms() {
        let (a, b) = ([term(&[("pool", "a")])], [term(&[("pool", "b")])]);
        assert_eq!(
            narrow(None, &[&a, &b]),
            Narrowing::Replace(vec![
                json!({"matchExpressions": [raw("pool", "a")]}),
                json!({"matchExpressions": [raw("pool", "b")]})
            ])
        );
    }

    #[test]
    fn every_term_of_the_user_is_narrowed_and_none_is_added() {
        let pool = [term(&[("pool", "a")])];
        let fields =
            json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["gpu-7"]}]});
        let written = [json!({"matchExpressions": [raw("zone", "z1")]}), fields];
        let added = vec![Expression { key: "pool".into(), operator: "In".into(), values: vec!["a".into()] }];
        assert_eq!(narrow(Some(&written), &[&pool]), Narrowing::Append(vec![(0, added.clone()), (1, added)]));
    }

    #[test]
    fn two_pools_make_the_product_once() {
        let (a, b) = ([term(&[("pool", "a")])], [term(&[("pool", "b")])]);
        let written = [json!({"matchExpressions": [raw("zone", "z1")], "unknown": 1})];
        let Narrowing::Replace(once) = narrow(Some(&written), &[&a, &b]) else { panic!("a product") };
        assert_eq!(once.len(), 2);
        assert!(once.iter().all(|term| term["unknown"] == 1), "unknown keys survive");
        assert_eq!(narrow(Some(&once), &[&a, &b]), Narrowing::Nothing, "the second time changes nothing");
    }

    #[test]
    fn an_empty_term_matches_nothing_and_stays() {
        let pool = [term(&[("pool", "a")])];
        assert_eq!(narrow(Some(&[json!({})]), &[&pool]), Narrowing::Nothing);
        assert_eq!(narrow(Some(&[]), &[&pool]), Narrowing::Nothing, "an empty list matches nothing either");
    }

    #[test]
    fn more_than_the_most_terms_is_said_instead_of_written() {
        let pools: Vec<[NodeSelectorTerm; 1]> =
            (0..9).map(|i| [term(&[("pool", &format!("p{i}"))])]).collect();
        let pools: Vec<&[NodeSelectorTerm]> = pools.iter().map(|p| p.as_slice()).collect();
        let written: Vec<Value> =
            (0..8).map(|i| json!({"matchExpressions": [raw("zone", &format!("z{i}"))]})).collect();
        assert_eq!(narrow(Some(&written), &pools), Narrowing::TooMany(72));
    }

    #[test]
    fn a_pool_that_labels_cannot_name_requires_nothing() {
        let pool = [term(&[("pool", "a")])];
        assert_eq!(narrow(None, &[&pool, &[]]), Narrowing::Nothing);
    }

    #[test]
    fn a_better_rank_is_preferred_once() {
        let (a, b) = ([term(&[("pool", "a")])], [term(&[("pool", "b")])]);
        let preferred = preferences(&Pod::default(), &[(0, &a), (2, &b)]);
        assert_eq!(
            preferred,
            vec![json!({"weight": 100, "preference": {"matchExpressions": [raw("pool", "a")]}})]
        );
        let pod: Pod = serde_json::from_value(json!({"spec": {"affinity": {"nodeAffinity": {
            "preferredDuringSchedulingIgnoredDuringExecution": preferred}}}}))
        .expect("a Pod");
        assert!(preferences(&pod, &[(0, &a), (2, &b)]).is_empty());
    }
}
