use proptest::prelude::*;

use super::*;

fn labels(pairs: &[(&str, &str)]) -> Labels {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

fn expression(key: &str, operator: &str, values: &[&str]) -> Expression {
    let values = values.iter().map(|v| (*v).to_owned()).collect();
    Expression { key: key.to_owned(), operator: operator.to_owned(), values }
}

fn selector(match_labels: &[(&str, &str)], match_expressions: Vec<Expression>) -> LabelSelector {
    LabelSelector { match_labels: labels(match_labels), match_expressions }
}

#[test]
fn every_operator_on_a_present_and_an_absent_label() {
    let node = labels(&[("gpu", "H100"), ("memory", "81920"), ("empty", "")]);
    let rows = [
        ("gpu", "In", vec!["A100", "H100"], true),
        ("gpu", "In", vec!["A100"], false),
        ("absent", "In", vec!["A100"], false),
        ("absent", "In", vec![""], false),
        ("empty", "In", vec![""], true),
        ("gpu", "NotIn", vec!["A100"], true),
        ("gpu", "NotIn", vec!["A100", "H100"], false),
        ("absent", "NotIn", vec!["A100"], true),
        ("gpu", "Exists", vec![], true),
        ("empty", "Exists", vec![], true),
        ("absent", "Exists", vec![], false),
        ("gpu", "DoesNotExist", vec![], false),
        ("absent", "DoesNotExist", vec![], true),
        ("memory", "Gt", vec!["81919"], true),
        ("memory", "Gt", vec!["81920"], false),
        ("memory", "Lt", vec!["81921"], true),
        ("memory", "Lt", vec!["81920"], false),
        ("memory", "Gt", vec!["0081919"], true),
        ("gpu", "Gt", vec!["1"], false),
        ("gpu", "Lt", vec!["1"], false),
        ("empty", "Lt", vec!["1"], false),
        ("absent", "Gt", vec!["0"], false),
        ("absent", "Lt", vec!["9"], false),
    ];
    for (key, operator, values, expected) in rows {
        let requirement =
            Requirement::compile(&expression(key, operator, &values)).expect("a valid expression");
        assert_eq!(requirement.matches(&node), expected, "{key} {operator} {values:?}");
    }
}

#[test]
fn the_labels_own_number_may_have_a_sign_and_leading_zeros() {
    let above = Requirement::compile(&expression("n", "Gt", &["3"])).expect("valid");
    for (value, expected) in
        [("4", true), ("004", true), ("+4", true), ("-4", false), ("4.0", false), (" 4", false)]
    {
        assert_eq!(above.matches(&labels(&[("n", value)])), expected, "{value}");
    }
}

#[test]
fn an_expression_that_the_api_server_refuses_is_an_error_with_its_path() {
    let rows = [
        (expression("k", "Equals", &["v"]), "operator"),
        (expression("k", "in", &["v"]), "operator"),
        (expression("k", "", &[]), "operator"),
        (expression("k", "In", &[]), "values"),
        (expression("k", "NotIn", &[]), "values"),
        (expression("k", "Exists", &["v"]), "values"),
        (expression("k", "DoesNotExist", &[""]), "values"),
        (expression("k", "Gt", &[]), "values"),
        (expression("k", "Lt", &["1", "2"]), "values"),
        (expression("k", "Gt", &["80Gi"]), "values[0]"),
        (expression("k", "Gt", &["9223372036854775808"]), "values[0]"),
        (expression("k", "Lt", &["-5"]), "values[0]"),
        (expression("k", "Gt", &["+5"]), "values[0]"),
        (expression("k", "In", &["ok", "not ok"]), "values[1]"),
        (expression("not a key", "Exists", &[]), "key"),
        (expression("", "Exists", &[]), "key"),
    ];
    for (written, path) in rows {
        let errors = Requirement::compile(&written).expect_err(&format!("{written:?}"));
        assert_eq!(errors.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), [path], "{written:?}");
    }
}

#[test]
fn every_error_of_an_expression_is_told_at_once() {
    let errors = Requirement::compile(&expression("a b", "Near", &["x y"])).expect_err("three mistakes");
    assert_eq!(errors.iter().map(|e| e.path.as_str()).collect::<Vec<_>>(), ["key", "operator", "values[0]"]);
    assert_eq!(
        errors[1].to_string(),
        "operator: \"Near\" is not an operator here: use In, NotIn, Exists, DoesNotExist, Gt, Lt"
    );
}

#[test]
fn a_selector_ands_its_labels_and_expressions() {
    let written = selector(&[("app", "chat")], vec![expression("tier", "NotIn", &["canary"])]);
    let compiled = Selector::compile(&written).expect("valid");
    assert!(compiled.matches(&labels(&[("app", "chat")])));
    assert!(compiled.matches(&labels(&[("app", "chat"), ("tier", "stable"), ("x", "y")])));
    assert!(!compiled.matches(&labels(&[("app", "chat"), ("tier", "canary")])));
    assert!(!compiled.matches(&labels(&[("app", "other")])));
    assert!(!compiled.matches(&labels(&[])));
}

#[test]
fn an_empty_selector_selects_everything() {
    let everything = Selector::compile(&LabelSelector::default()).expect("valid");
    assert!(everything.selects_everything());
    assert!(everything.matches(&labels(&[])));
    assert!(!Selector::compile(&selector(&[("a", "b")], vec![])).expect("valid").selects_everything());
}

#[test]
fn a_label_selector_knows_no_comparison() {
    let errors =
        Selector::compile(&selector(&[], vec![expression("n", "Gt", &["1"])])).expect_err("no Gt here");
    assert_eq!(errors[0].path, "matchExpressions[0].operator");
}

#[test]
fn a_bad_selector_names_every_place() {
    let written = selector(&[("a b", "c d")], vec![expression("k", "In", &[])]);
    let errors = Selector::compile(&written).expect_err("three mistakes");
    let paths: Vec<_> = errors.iter().map(|e| e.path.as_str()).collect();
    assert_eq!(paths, ["matchLabels[a b]", "matchLabels[a b]", "matchExpressions[0].values"]);
}

#[test]
fn missing_labels_are_told_with_what_is_there() {
    let wanted = labels(&[("a", "1"), ("b", "2"), ("c", "3")]);
    let actual = labels(&[("a", "1"), ("b", "9")]);
    let missing: Vec<_> = missing(&actual, &wanted).collect();
    assert_eq!(missing, [("b", "2", Some("9")), ("c", "3", None)]);
}

proptest! {
    #[test]
    fn an_operator_and_its_opposite_never_agree(value in prop::option::of("[a-c]"), values in prop::collection::vec("[a-c]", 1..3)) {
        let node: Labels = value.iter().map(|v| ("k".to_owned(), v.clone())).collect();
        let values: Vec<&str> = values.iter().map(String::as_str).collect();
        let holds = |operator, values: &[&str]| {
            Requirement::compile(&expression("k", operator, values)).expect("valid").matches(&node)
        };
        prop_assert_ne!(holds("In", &values), holds("NotIn", &values));
        prop_assert_ne!(holds("Exists", &[]), holds("DoesNotExist", &[]));
    }
}
