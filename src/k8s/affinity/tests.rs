use proptest::prelude::*;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Expression {
    let values = values.iter().map(|v| (*v).to_owned()).collect();
    Expression { key: key.to_owned(), operator: operator.to_owned(), values }
}

fn on_labels(expressions: Vec<Expression>) -> NodeSelectorTerm {
    NodeSelectorTerm { match_expressions: expressions, match_fields: vec![] }
}

fn on_fields(fields: Vec<Expression>) -> NodeSelectorTerm {
    NodeSelectorTerm { match_expressions: vec![], match_fields: fields }
}

fn required(terms: Vec<NodeSelectorTerm>) -> RequiredNodeAffinity {
    RequiredNodeAffinity::new(&Labels::new(), Some(&NodeSelector { node_selector_terms: terms }))
}

fn gpu_node() -> Labels {
    labels(&[("gpu", "H100"), ("zone", "a"), ("memory", "80")])
}

#[test]
fn a_pod_without_selector_and_affinity_may_run_anywhere() {
    let anywhere = RequiredNodeAffinity::of(&PodSpec::default());
    assert!(anywhere.is_unrestricted());
    assert!(anywhere.matches(Some("node-1"), &Labels::new()));
}

#[test]
fn a_term_without_expressions_matches_no_node() {
    for terms in [vec![], vec![NodeSelectorTerm::default()], vec![NodeSelectorTerm::default(); 3]] {
        let nowhere = required(terms.clone());
        assert!(!nowhere.is_unrestricted());
        assert!(!nowhere.matches(Some("node-1"), &gpu_node()), "{terms:?}");
    }
}

#[test]
fn terms_are_ored_and_expressions_are_anded() {
    let h100_in_b = on_labels(vec![expression("gpu", "In", &["H100"]), expression("zone", "In", &["b"])]);
    let much_memory = on_labels(vec![expression("memory", "Gt", &["79"])]);
    assert!(!required(vec![h100_in_b.clone()]).matches(None, &gpu_node()));
    assert!(required(vec![h100_in_b.clone(), much_memory]).matches(None, &gpu_node()));
    assert!(!required(vec![h100_in_b, NodeSelectorTerm::default()]).matches(None, &gpu_node()));
}

#[test]
fn node_selector_and_affinity_must_both_hold() {
    let h100 = NodeSelector { node_selector_terms: vec![on_labels(vec![expression("gpu", "Exists", &[])])] };
    let in_zone = |zone| RequiredNodeAffinity::new(&labels(&[("zone", zone)]), Some(&h100));
    assert!(in_zone("a").matches(None, &gpu_node()));
    assert!(!in_zone("b").matches(None, &gpu_node()));
    assert!(!in_zone("a").matches(None, &labels(&[("zone", "a")])));
    assert!(!RequiredNodeAffinity::new(&labels(&[("zone", "")]), None).matches(None, &Labels::new()));
}

#[test]
fn fields_know_the_node_name_only() {
    let name_in =
        |operator, name| required(vec![on_fields(vec![expression("metadata.name", operator, &[name])])]);
    let rows = [
        ("In", "node-1", true),
        ("In", "node-2", false),
        ("NotIn", "node-1", false),
        ("NotIn", "node-2", true),
    ];
    for (operator, name, expected) in rows {
        assert_eq!(
            name_in(operator, name).matches(Some("node-1"), &gpu_node()),
            expected,
            "{operator} {name}"
        );
    }
    let other = |operator, value| {
        let term = on_fields(vec![expression("spec.providerID", operator, &[value])]);
        required(vec![term]).matches(Some("node-1"), &gpu_node())
    };
    assert!(!other("In", "x") && other("NotIn", "x") && other("In", ""), "an unknown field reads as empty");
}

#[test]
fn fields_are_skipped_on_a_node_without_a_name() {
    let elsewhere = required(vec![on_fields(vec![expression("metadata.name", "In", &["node-2"])])]);
    assert!(elsewhere.matches(None, &gpu_node()));
    assert!(elsewhere.matches(Some(""), &gpu_node()));
    assert!(!elsewhere.matches(Some("node-1"), &gpu_node()));
}

#[test]
fn fields_and_expressions_of_one_term_are_anded() {
    let both = |gpu, name| {
        required(vec![NodeSelectorTerm {
            match_expressions: vec![expression("gpu", "In", &[gpu])],
            match_fields: vec![expression("metadata.name", "In", &[name])],
        }])
    };
    assert!(both("H100", "node-1").matches(Some("node-1"), &gpu_node()));
    assert!(!both("H100", "node-2").matches(Some("node-1"), &gpu_node()));
    assert!(!both("A100", "node-1").matches(Some("node-1"), &gpu_node()));
}

#[test]
fn fields_take_in_and_not_in_with_one_value() {
    let rows = [
        ("Exists", vec![], "operator"),
        ("Gt", vec!["1"], "operator"),
        ("In", vec![], "values"),
        ("NotIn", vec!["a", "b"], "values"),
    ];
    for (operator, values, place) in rows {
        let term = Term::compile(&on_fields(vec![expression("metadata.name", operator, &values)]));
        let Term::Invalid(errors) = term else { panic!("{operator} {values:?} was read: {term:?}") };
        assert_eq!(errors[0].path, format!("matchFields[0].{place}"));
    }
}

#[test]
fn a_mistake_hides_behind_a_term_that_matches() {
    let bad = on_labels(vec![expression("memory", "Gt", &["many"])]);
    let good = on_labels(vec![expression("gpu", "Exists", &[])]);
    assert!(!required(vec![bad.clone()]).matches(None, &gpu_node()));
    assert!(required(vec![bad.clone(), good.clone()]).matches(None, &gpu_node()));
    let Some(results) = required(vec![bad, good]).explain(None, &gpu_node()).terms else {
        panic!("no terms")
    };
    assert!(
        matches!(&results[0], TermResult::Invalid(errors) if errors[0].path == "matchExpressions[0].values[0]")
    );
    assert_eq!(results[1], TermResult::Matches);
}

#[test]
fn one_bad_expression_makes_its_whole_term_match_nothing() {
    let term = on_labels(vec![expression("gpu", "Exists", &[]), expression("zone", "Near", &["a"])]);
    assert!(!required(vec![term]).matches(None, &gpu_node()));
}

#[test]
fn the_explanation_says_what_the_node_has_instead() {
    let term = NodeSelectorTerm {
        match_expressions: vec![
            expression("gpu", "In", &["A100"]),
            expression("zone", "In", &["a"]),
            expression("absent", "Exists", &[]),
        ],
        match_fields: vec![expression("metadata.name", "NotIn", &["node-1"])],
    };
    let selector = NodeSelector { node_selector_terms: vec![term, NodeSelectorTerm::default()] };
    let affinity = RequiredNodeAffinity::new(&labels(&[("pool", "llm"), ("zone", "b")]), Some(&selector));
    let explanation = affinity.explain(Some("node-1"), &gpu_node());
    let missing = |key: &str, wanted: &str, actual: Option<&str>| MissingLabel {
        key: key.to_owned(),
        wanted: wanted.to_owned(),
        actual: actual.map(str::to_owned),
    };
    assert_eq!(explanation.node_selector, [missing("pool", "llm", None), missing("zone", "b", Some("a"))]);
    let failed = |path: &str, key: &str, actual: Option<&str>| FailedExpression {
        path: path.to_owned(),
        key: key.to_owned(),
        actual: actual.map(str::to_owned),
    };
    let fails = TermResult::Fails(vec![
        failed("matchExpressions[0]", "gpu", Some("H100")),
        failed("matchExpressions[2]", "absent", None),
        failed("matchFields[0]", "metadata.name", Some("node-1")),
    ]);
    assert_eq!(explanation.terms, Some(vec![fails, TermResult::Empty]));
}

fn preferred(weight: i64, preference: NodeSelectorTerm) -> PreferredTerm {
    PreferredTerm { weight, preference }
}

#[test]
fn the_score_is_the_sum_of_matching_weights() {
    let terms = [
        preferred(10, on_labels(vec![expression("gpu", "In", &["H100"])])),
        preferred(5, on_labels(vec![expression("gpu", "In", &["A100"])])),
        preferred(2, on_labels(vec![expression("zone", "Exists", &[])])),
        preferred(1, on_fields(vec![expression("metadata.name", "In", &["node-1"])])),
        preferred(100, NodeSelectorTerm::default()),
    ];
    let affinity = PreferredNodeAffinity::new(&terms).expect("valid");
    assert_eq!(affinity.score(Some("node-1"), &gpu_node()), 13);
    assert_eq!(affinity.score(Some("node-2"), &gpu_node()), 12);
    assert_eq!(affinity.score(Some("node-2"), &Labels::new()), 0);
}

#[test]
fn one_mistake_drops_all_preferences_unless_its_weight_is_zero() {
    let bad = on_labels(vec![expression("gpu", "Like", &["H100"])]);
    let good = preferred(1, on_labels(vec![expression("gpu", "Exists", &[])]));
    let errors = PreferredNodeAffinity::new(&[good.clone(), preferred(3, bad.clone())]).expect_err("Like");
    assert_eq!(errors[0].path, "[1].preference.matchExpressions[0].operator");
    let unread = PreferredNodeAffinity::new(&[good, preferred(0, bad)]).expect("weight 0 is not read");
    assert_eq!(unread.score(None, &gpu_node()), 1);
}

fn any_term() -> impl Strategy<Value = NodeSelectorTerm> {
    let operator =
        prop::sample::select(vec!["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt", "Near", ""]);
    let one = ("[ab]", operator, prop::collection::vec("[0-2x]", 0..3))
        .prop_map(|(key, operator, values)| Expression { key, operator: operator.to_owned(), values });
    let field =
        ("metadata.name|other", prop::sample::select(vec!["In", "NotIn", "Exists"]), "[nm]").prop_map(
            |(key, operator, value)| Expression { key, operator: operator.to_owned(), values: vec![value] },
        );
    (prop::collection::vec(one, 0..3), prop::collection::vec(field, 0..2))
        .prop_map(|(match_expressions, match_fields)| NodeSelectorTerm { match_expressions, match_fields })
}

proptest! {
    #[test]
    fn the_explanation_agrees_with_the_answer(
        terms in prop::collection::vec(any_term(), 0..4),
        node in prop::collection::btree_map("[ab]", "[0-2x]", 0..3),
        name in prop::option::of("[nm]?"),
    ) {
        let affinity = required(terms);
        let name = name.as_deref();
        prop_assert_eq!(affinity.matches(name, &node), affinity.explain(name, &node).matches());
    }

    #[test]
    fn another_term_never_narrows_the_choice(
        terms in prop::collection::vec(any_term(), 1..4),
        more in any_term(),
        node in prop::collection::btree_map("[ab]", "[0-2x]", 0..3),
    ) {
        let before = required(terms.clone()).matches(Some("n"), &node);
        let after = required(terms.into_iter().chain([more]).collect()).matches(Some("n"), &node);
        prop_assert!(!before || after);
    }
}
