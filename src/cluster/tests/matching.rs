//! The search by shapes against asking every node.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::json;

use super::{gpu_node, picture, with};
use crate::{
    cluster::{Cluster, matching::matching_shapes},
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{Expression, Labels, NodeSelector, NodeSelectorTerm},
    },
};

const KEYS: [&str; 5] = ["zone", "rank", "kubernetes.io/hostname", "nvidia.com/gfd.timestamp", "absent"];

fn labels() -> impl Strategy<Value = Vec<(usize, u8)>> {
    prop::collection::vec((0..4_usize, 0..5_u8), 0..5)
}

/// A cluster of nodes whose host names may differ from their names, and collide with others' names.
fn cluster() -> impl Strategy<Value = Cluster> {
    prop::collection::vec(labels(), 0..12).prop_map(|nodes| {
        let objects: Vec<_> = nodes
            .iter()
            .enumerate()
            .map(|(number, labels)| {
                let own: serde_json::Map<_, _> = labels
                    .iter()
                    .map(|(key, value)| (KEYS[*key].to_owned(), json!(value.to_string())))
                    .collect();
                with(gpu_node(&number.to_string()), "/metadata/labels", json!(own))
            })
            .collect();
        picture(&objects)
    })
}

fn expression(keys: &'static [&'static str]) -> impl Strategy<Value = Expression> {
    let operator =
        prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near", ""]);
    let values = prop::collection::vec((0..6_u8).prop_map(|value| value.to_string()), 0..3);
    (prop::sample::select(keys), operator, values).prop_map(|(key, operator, values)| Expression {
        key: key.to_owned(),
        operator: operator.to_owned(),
        values,
    })
}

fn term() -> impl Strategy<Value = NodeSelectorTerm> {
    let expressions = prop::collection::vec(expression(&KEYS), 0..3);
    let fields = prop::collection::vec(expression(&["metadata.name", "metadata.uid"]), 0..2);
    (expressions, fields)
        .prop_map(|(match_expressions, match_fields)| NodeSelectorTerm { match_expressions, match_fields })
}

fn affinity() -> impl Strategy<Value = RequiredNodeAffinity> {
    let selector = prop::collection::vec((0..4_usize, 0..5_u8), 0..2);
    let terms = prop::option::of(prop::collection::vec(term(), 0..3));
    (selector, terms).prop_map(|(selector, terms)| {
        let selector: Labels =
            selector.iter().map(|(key, value)| (KEYS[*key].to_owned(), value.to_string())).collect();
        let required = terms.map(|node_selector_terms| NodeSelector { node_selector_terms });
        RequiredNodeAffinity::new(&selector, required.as_ref())
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn the_search_by_shapes_finds_exactly_the_nodes_that_match(cluster in cluster(), affinity in affinity()) {
        let expected: BTreeSet<String> = cluster
            .nodes()
            .filter(|node| affinity.matches(Some(&node.name), &node.labels))
            .map(|node| node.name.to_string())
            .collect();
        let matches = matching_shapes(&cluster, &affinity);
        let mut found = BTreeSet::new();
        for matched in &matches {
            prop_assert!(matched.nodes.first().is_some(), "a shape is given only if a node of it matches");
            prop_assert_eq!(matched.nodes.names().next(), matched.nodes.first());
            for name in matched.nodes.names() {
                prop_assert!(found.insert(name.to_string()), "{} is given twice", name);
            }
        }
        for node in cluster.nodes() {
            let contained = matches
                .iter()
                .any(|matched| std::sync::Arc::ptr_eq(matched.shape, &node.shape) && matched.nodes.contains(node));
            prop_assert_eq!(contained, expected.contains(&*node.name));
        }
        prop_assert_eq!(found, expected);
    }
}

#[test]
fn a_constraint_on_shapes_alone_asks_no_node() {
    let cluster = picture(&[gpu_node("a"), gpu_node("b")]);
    let selector = Labels::from([("nvidia.com/gpu.product".to_owned(), "NVIDIA-H100-80GB-HBM3".to_owned())]);
    let by_shape = RequiredNodeAffinity::new(&selector, None);
    assert!(matching_shapes(&cluster, &by_shape)[0].nodes.is_all());
    let selector = Labels::from([("kubernetes.io/hostname".to_owned(), "b".to_owned())]);
    let by_name = RequiredNodeAffinity::new(&selector, None);
    let matches = matching_shapes(&cluster, &by_name);
    assert_eq!(matches[0].nodes.names().map(ToString::to_string).collect::<Vec<_>>(), ["b"]);
}
