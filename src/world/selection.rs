//! Node selector terms: one that selects given nodes exactly, and what a term promises of nodes to come.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    cluster::Shape,
    gpu::evidence::MigCapability,
    k8s::{
        affinity::{RequiredNodeAffinity, Term},
        labels::Requirement,
        object::{Expression, Labels, NodeSelectorTerm},
    },
};

/// Labels that say what a GPU node is, in the order in which they are tried. The first group always goes
/// into the term where the nodes have it: it says what the cards are and how they are shared, so that the
/// term stays right when other nodes join.
const NATURE: [&str; 6] = [
    "nvidia.com/gpu.product",
    "nvidia.com/gpu.sharing-strategy",
    MIG_STRATEGY,
    "cloud.google.com/gke-accelerator",
    "cloud.google.com/gke-gpu-sharing-strategy",
    "cloud.google.com/gke-gpu-partition-size",
];

/// Further labels that are only used to tell nodes apart that the first group does not.
const PLACE: [&str; 18] = [
    "nvidia.com/gpu.memory",
    "nvidia.com/gpu.replicas",
    "nvidia.com/mig.config",
    "nvidia.com/device-plugin.config",
    "nvidia.com/mig.capable",
    "nvidia.com/gpu.count",
    "nvidia.com/gpu.family",
    "nvidia.com/gpu.machine",
    "cloud.google.com/gke-max-shared-clients-per-gpu",
    "karpenter.k8s.aws/instance-gpu-name",
    "cloud.google.com/gke-nodepool",
    "karpenter.sh/nodepool",
    "eks.amazonaws.com/nodegroup",
    "kubernetes.azure.com/agentpool",
    "kubernetes.azure.com/accelerator",
    "node.kubernetes.io/instance-type",
    "nvidia.com/gpu.present",
    "kubernetes.io/arch",
];

const MIG_STRATEGY: &str = "nvidia.com/mig.strategy";

/// Most values of one expression; more would be a list of nodes, not a description.
const MOST_VALUES: usize = 16;

/// A term that matches all of `members` and none of `others`, if labels can tell them apart.
pub(super) fn select(members: &[&Arc<Shape>], others: &[&Arc<Shape>]) -> Option<NodeSelectorTerm> {
    let mut expressions = Vec::new();
    let mut left: Vec<&Arc<Shape>> = others.to_vec();
    let mut add = |expression: Expression, always: bool| {
        let Ok(requirement) = Requirement::compile(&expression) else { return };
        let before = left.len();
        left.retain(|shape| requirement.matches(&shape.labels));
        if always || left.len() < before {
            expressions.push(expression);
        }
    };
    for key in NATURE {
        let Some(expression) = describe(key, members) else { continue };
        let says_mig = key == MIG_STRATEGY && members.iter().any(|shape| may_have_mig(shape));
        add(expression.clone(), says_mig || expression.operator == "In");
    }
    for key in PLACE {
        if let Some(expression) = describe(key, members) {
            add(expression, false);
        }
    }
    if expressions.iter().all(|expression| expression.operator != "In") {
        let any = PLACE.iter().filter_map(|key| describe(key, members)).find(|e| e.operator == "In");
        expressions.extend(any);
    }
    if expressions.is_empty() {
        return None;
    }
    // As a file with `matchLabels` reads back: labels first, by key.
    let is_label = |e: &Expression| e.operator == "In" && e.values.len() == 1;
    expressions.sort_by_key(|e| if is_label(e) { (0, e.key.clone()) } else { (1, String::new()) });
    let term = NodeSelectorTerm { match_expressions: expressions, match_fields: Vec::new() };
    let compiled = Term::compile(&term);
    let selects = |shape: &&Arc<Shape>| compiled.matches(None, &shape.labels);
    (members.iter().all(&selects) && !others.iter().any(selects)).then_some(term)
}

/// What all members have in common under a key: some values, or that none has it.
fn describe(key: &str, members: &[&Arc<Shape>]) -> Option<Expression> {
    let values: BTreeSet<&String> = members.iter().filter_map(|shape| shape.labels.get(key)).collect();
    let have = members.iter().filter(|shape| shape.labels.contains_key(key)).count();
    let (operator, values) = match have {
        0 => ("DoesNotExist", Vec::new()),
        all if all == members.len() && values.len() <= MOST_VALUES => {
            ("In", values.into_iter().cloned().collect())
        }
        _ => return None,
    };
    Some(Expression { key: key.to_owned(), operator: operator.to_owned(), values })
}

fn may_have_mig(shape: &Shape) -> bool {
    !matches!(shape.assessment.mig.capability, MigCapability::NotCapable(_))
}

/// Whether a node that meets `term` could meet `required` too: labels that the term does not speak of may
/// be anything, a name may not.
pub(super) fn could_meet(term: &NodeSelectorTerm, required: &RequiredNodeAffinity) -> bool {
    let selector = required.node_selector().iter();
    let selected =
        selector.into_iter().all(|(key, value)| could(term, key, |labels| labels.get(key) == Some(value)));
    selected && required.terms().is_none_or(|terms| terms.iter().any(|theirs| could_meet_term(term, theirs)))
}

fn could_meet_term(term: &NodeSelectorTerm, theirs: &Term) -> bool {
    let Term::Valid { expressions, fields } = theirs else { return false };
    fields.iter().all(|field| field.only_name().is_none())
        && expressions.iter().all(|wanted| could(term, wanted.key(), |labels| wanted.matches(labels)))
}

/// Whether some value that the term leaves to a label passes a test.
fn could(term: &NodeSelectorTerm, key: &str, test: impl Fn(&Labels) -> bool) -> bool {
    term.match_expressions.iter().filter(|own| own.key == key).all(|own| match own.operator.as_str() {
        "In" => own.values.iter().any(|value| test(&Labels::from([(key.to_owned(), value.clone())]))),
        "DoesNotExist" => test(&Labels::new()),
        _ => true,
    })
}
