use serde_json::json;

use super::*;

const CASE: &str = "apiVersion: sluice.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: a}\nspec:\n  cluster: c.yaml\n  \
                    manifests: [{kind: Pod}]\n  expect:\n  - {verdict: allow, nodes: [node-1]}\n";

fn expectation(value: Value) -> Expectation {
    serde_json::from_value(value).expect("an expectation")
}

fn seen() -> Seen {
    Seen {
        verdict: "allow".into(),
        nodes: Some(BTreeSet::from(["node-1".into()])),
        fit: [
            ("node-1".into(), ("yes".into(), String::new())),
            ("node-2".into(), ("never".into(), "node-tainted".into())),
        ]
        .into(),
        patch: vec![
            json!({"op": "add", "path": "/spec/tolerations/-", "value": {"key": "gpu", "effect": "NoSchedule"}}),
        ],
        reasons: [("p".into(), "no node".into())].into(),
        ..Seen::default()
    }
}

fn told(expected: Value) -> Vec<String> {
    differences(&expectation(expected), &seen()).iter().map(ToString::to_string).collect()
}

#[test]
fn what_is_expected_and_seen_makes_no_difference_and_what_is_left_out_is_not_compared() {
    let test = read("a.yaml", CASE).expect("a test");
    let seen = Seen { class: "llm".into(), pools: vec!["p".into()], ..seen() };
    assert_eq!(differences(&test.spec.expect[0], &seen), []);
    let all = json!({
        "verdict": "allow", "class": "", "pools": [], "rules": [], "changes": [], "nodes": ["node-1"],
        "fit": {"node-1": "yes", "node-2": "node-tainted"},
        "patch": [{"path": "/spec/tolerations/*", "value": {"key": "gpu"}}, {"op": "add", "path": "/spec/tolerations/-"}],
    });
    assert_eq!(told(all), Vec::<String>::new());
}

#[test]
fn every_difference_is_told() {
    let expected = json!({
        "verdict": "deny", "class": "llm", "pools": ["p"], "rules": ["r"], "changes": ["c"], "nodes": ["node-2"],
        "fit": {"node-2": "busy", "node-3": "yes"},
        "patch": [{"op": "add", "path": "/spec/tolerations/-", "value": {"key": "other"}}],
    });
    assert_eq!(
        told(expected),
        [
            "verdict: expected deny, got allow",
            "class: expected llm, got none",
            "pools: expected p, got none",
            "rules: expected r, got none",
            "changes: expected at least c, got none",
            "patch: expected add at /spec/tolerations/- with {\"key\":\"other\"}, got none such",
            "nodes: expected node-2, got node-1",
            "fit: expected busy on node-2, got never by node-tainted",
            "fit: expected yes on node-3, got no such node",
        ]
    );
    let refused = Seen { nodes: None, ..seen() };
    let nodes = differences(&expectation(json!({"nodes": ["node-2"]})), &refused);
    assert_eq!(nodes[0].to_string(), "nodes: expected node-2, got no question, it was refused");
}

#[test]
fn what_is_missing_or_added_is_told_with_what_is_known_of_it() {
    let pools =
        differences(&expectation(json!({"pools": ["p", "q"]})), &Seen { pools: vec!["r".into()], ..seen() });
    assert_eq!(pools[0].details, ["- p  no node", "- q", "+ r"]);
}

#[test]
fn a_test_with_a_misspelt_key_or_without_an_expectation_is_none() {
    let error = |text: &str| read("a.yaml", text).expect_err("no test").to_string();
    let misspelt = error(&CASE.replace("verdict", "verdikt"));
    assert!(misspelt.starts_with("a.yaml:8: spec.expect[0]"), "{misspelt}");
    let other = error(&CASE.replace("PolicyTest", "PolicyTset"));
    assert!(other.starts_with("a.yaml:2: kind: unknown variant `PolicyTset`"), "{other}");
    let missing = error(&CASE.replace("\n  - {verdict: allow, nodes: [node-1]}", " []"));
    assert_eq!(missing, "a.yaml: nothing is expected, so nothing is tested");
}
