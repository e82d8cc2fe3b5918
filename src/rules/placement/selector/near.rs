//! What somebody who selected what does not exist most likely meant, in the inventory's own words.

use crate::{cluster::IDENTITY_LABELS, k8s::object::Expression, rules::Case};

/// What GPU nodes have in place of what was asked for.
pub(super) enum Near {
    /// Values of the label, the closest first, each with its pool; `true` where the first is close enough to be meant.
    Values(Vec<String>, bool),
    /// Bounds of a number: what would have to be, and the number of the label nearest to it.
    Bound(&'static str, String),
    /// Values that are left out, which together are all.
    AllLeftOut,
    /// The label must be absent, and every GPU node has it.
    Present,
    /// The label says no number.
    NotANumber,
    /// The nodes that had it are marked as partitioned in a way that strategy single does not know.
    Invalid(String),
    /// Another node's name, for labels that tell nodes apart.
    Node(String),
    /// No GPU node has the label; one that is written much alike.
    NoSuchLabel(Option<String>),
}

/// Below this, a value or key is another one and not a misspelt one.
const ALIKE: f64 = 0.8;

/// Most values that are named.
const NAMED: usize = 3;

/// Values of that label on GPU nodes, the closest first, with their pools.
pub(super) fn values(case: &Case<'_>, key: &str, wanted: &str) -> Near {
    if IDENTITY_LABELS.contains(&key) {
        return Near::Node(node(case, wanted));
    }
    let invalid = format!("{wanted}-MIG-INVALID");
    if case.world.cluster.shapes().any(|shape| shape.labels.get(key) == Some(&invalid)) {
        return Near::Invalid(invalid);
    }
    let lower = wanted.to_lowercase();
    let mut values: Vec<(bool, f64, String, String)> = Vec::new();
    for shape in case.world.cluster.shapes().filter(|shape| shape.has_gpu()) {
        let Some(value) = shape.labels.get(key) else { continue };
        // Nobody means cards that hand out nothing.
        if value.ends_with("MIG-INVALID") || values.iter().any(|(_, _, known, _)| known == value) {
            continue;
        }
        let pools = case.world.pools.of_shape(shape);
        let pool = pools.first().map(|live| format!("{}, {}", live.pool.name, live.pool.mode));
        let contains = !lower.is_empty() && value.to_lowercase().contains(&lower);
        let likeness = strsim::jaro_winkler(&value.to_lowercase(), &lower);
        let words = pool.map_or_else(|| value.clone(), |pool| format!("{value} (pool {pool})"));
        values.push((contains, likeness, value.clone(), words));
    }
    values.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    let Some((contains, likeness, ..)) = values.first() else { return no_such_label(case, key) };
    let meant = *contains || *likeness >= ALIKE;
    Near::Values(values.into_iter().take(NAMED).map(|(_, _, _, words)| words).collect(), meant)
}

/// The same for an expression, by its operator.
pub(super) fn expression(case: &Case<'_>, expression: &Expression) -> Near {
    let key = &expression.key;
    let numbers = || {
        let shapes = case.world.cluster.shapes().filter(|shape| shape.has_gpu());
        shapes.filter_map(|shape| shape.labels.get(key)?.parse::<i64>().ok()).collect::<Vec<_>>()
    };
    let bound = |words, number: Option<i64>| match number {
        Some(number) => Near::Bound(words, number.to_string()),
        None if case.world.cluster.shapes().any(|shape| shape.labels.contains_key(key)) => Near::NotANumber,
        None => no_such_label(case, key),
    };
    match expression.operator.as_str() {
        "Gt" => bound("below", numbers().into_iter().max()),
        "Lt" => bound("above", numbers().into_iter().min()),
        "NotIn" => Near::AllLeftOut,
        "DoesNotExist" => Near::Present,
        _ => values(case, key, expression.values.first().map_or("", String::as_str)),
    }
}

/// Names of GPU nodes, the closest to a wanted one.
pub(super) fn node(case: &Case<'_>, wanted: &str) -> String {
    let gpu = case.world.cluster.nodes().filter(|node| node.shape.has_gpu());
    let near = gpu.max_by(|a, b| {
        strsim::jaro_winkler(&a.name, wanted).total_cmp(&strsim::jaro_winkler(&b.name, wanted))
    });
    near.map_or_else(
        || "a node with GPUs".to_owned(),
        |node| format!("a node that exists, such as {}", node.name),
    )
}

fn no_such_label(case: &Case<'_>, key: &str) -> Near {
    let gpu = case.world.cluster.shapes().filter(|shape| shape.has_gpu());
    let keys = gpu.flat_map(|shape| shape.labels.keys());
    let near = keys.map(|own| (strsim::jaro_winkler(own, key), own)).filter(|(alike, _)| *alike >= 0.93);
    let near = near.max_by(|a, b| a.0.total_cmp(&b.0).then_with(|| b.1.cmp(a.1)));
    Near::NoSuchLabel(near.map(|(_, own)| own.clone()))
}

impl Near {
    /// What should stand there.
    pub(super) fn should(&self, key: &str) -> String {
        match self {
            Self::Values(near, _) => near.join(" or "),
            Self::Bound(words, number) => format!("a number {words} {number}, which GPU nodes have"),
            Self::AllLeftOut => "at least one kind of GPU node that is not left out".to_owned(),
            Self::Present => format!("a choice by what {key} says: GPU nodes have it"),
            Self::NotANumber => "a label whose values are whole numbers".to_owned(),
            Self::Invalid(marked) => format!("a node that hands out slices; the nodes are marked {marked}"),
            Self::Node(near) => near.clone(),
            Self::NoSuchLabel(Some(near)) => format!("{near}, a label that GPU nodes have"),
            Self::NoSuchLabel(None) => format!("a label that nodes have; no GPU node has {key}"),
        }
    }

    /// How to get there.
    pub(super) fn remedy(&self, key: &str) -> String {
        match self {
            Self::Values(near, true) => {
                let first = near.first().and_then(|near| near.split(" (").next()).unwrap_or_default();
                format!("select {first}, if that is what you mean")
            }
            Self::Values(_, false) => {
                format!("select a value of {key} that nodes have; `sluice pools` shows what each is")
            }
            Self::Bound(words, number) => {
                format!("write a number {words} {number}, or remove the expression")
            }
            Self::AllLeftOut => "take a value out of the list".to_owned(),
            Self::Present => "remove the expression".to_owned(),
            Self::NotANumber => format!("select values of {key} by In"),
            Self::Invalid(_) => {
                "give the cards one profile each, or use MIG strategy mixed; then select what the nodes say"
                    .to_owned()
            }
            Self::Node(_) => "name a node that exists; `kubectl get nodes` lists them".to_owned(),
            Self::NoSuchLabel(Some(near)) => format!("write {near}"),
            Self::NoSuchLabel(None) => format!("remove {key}, or label the nodes"),
        }
    }
}
