use serde_json::{Value, json};

use super::{
    json::{ChangeResult, FindingResult, FitWord, ObjectReference, SkippedPool, SourcePlace},
    table::Summary,
    *,
};
use crate::policy::Severity;

fn object(kind: &str, namespace: &str, name: &str) -> ObjectReference {
    ObjectReference {
        api_version: "v1".into(),
        kind: kind.into(),
        namespace: namespace.into(),
        name: name.into(),
    }
}

fn finding(severity: Severity, line: usize) -> FindingResult {
    FindingResult {
        rule: "request-limit-mismatch".into(),
        severity,
        path: "spec.containers[0].resources".into(),
        container: Some("server".into()),
        line: Some(line),
        excepted_by: None,
        suppressed: None,
        is: "requests 1 & limits \"2\"".into(),
        should: "<equal>".into(),
        remedy: "set both to 2".into(),
        message: "is requests 1 & limits \"2\"; should be <equal>; fix: set both to 2".into(),
    }
}

fn node(name: &str, fit: FitWord) -> NodeResult {
    let (rule, reason) = match fit {
        FitWord::Yes => (None, None),
        _ => (Some("mig-config-pending".to_owned()), Some("sluice mig-config-pending: layout".to_owned())),
    };
    NodeResult {
        name: name.into(),
        fit,
        rule,
        reason,
        score: (fit == FitWord::Yes).then_some(7),
        score_parts: None,
    }
}

fn result(name: &str, verdict: VerdictWord, findings: Vec<FindingResult>) -> ObjectResult {
    ObjectResult {
        object: object("Pod", "ml", name),
        source: Some(SourcePlace { file: "a b.yaml".into(), document: 1, line: 3, template: None }),
        class: Some("llm".into()),
        recognized_by: Some("image vllm/vllm-openai".into()),
        pools: vec!["h100".into(), "a100".into()],
        skipped: vec![SkippedPool {
            what: "l4".into(),
            rule: "mig-unsupported-hardware".into(),
            reason: "no MIG".into(),
        }],
        verdict,
        findings,
        changes: vec![ChangeResult {
            rule: "toleration-added".into(),
            path: "spec".into(),
            why: "tainted".into(),
        }],
        patch: vec![json!({"op": "add", "path": "/spec/tolerations", "value": []})],
        not_judged: vec![],
        nodes: vec![],
        decision: "d41d8c".into(),
    }
}

fn results() -> Vec<ObjectResult> {
    let refused =
        result("chat", VerdictWord::Deny, vec![finding(Severity::Deny, 14), finding(Severity::Audit, 20)]);
    let warned = ObjectResult {
        nodes: vec![
            node("gpu-1", FitWord::Yes),
            node("gpu-2", FitWord::Never),
            node("gpu-3", FitWord::Never),
        ],
        ..result("tei", VerdictWord::Warn, vec![finding(Severity::Warn, 30)])
    };
    let fine = ObjectResult {
        object: object("Node", "", "gpu-1\u{1b}[31m"),
        class: None,
        recognized_by: None,
        pools: vec![],
        not_judged: vec!["selector-matches-no-node".into()],
        source: Some(SourcePlace { file: "b.yaml".into(), document: 2, line: 9, template: None }),
        ..result("x", VerdictWord::Allow, vec![])
    };
    vec![refused, warned, fine]
}

fn table(results: &[ObjectResult], colour: bool) -> String {
    let mut out = Vec::new();
    let summary = Summary { other_documents: 2, unreadable: 0, cluster: false, exceptions: Vec::new() };
    super::table::write(&mut out, results, &summary, colour).expect("a Vec takes everything");
    String::from_utf8(out).expect("text")
}

#[test]
fn the_table_shows_objects_then_findings_then_a_sum() {
    let expected = "\
VERDICT   KIND   NAME         CLASS   POOLS       FINDINGS   SOURCE
deny      Pod    ml/chat      llm     h100,a100   1          a b.yaml:3
warn      Pod    ml/tei       llm     h100,a100   1          a b.yaml:3
allow     Node   gpu-1 [31m   -       -           0          b.yaml:9

Pod ml/chat (class llm, by image vllm/vllm-openai)
  deny  request-limit-mismatch  spec.containers[0].resources (container server)  a b.yaml:14
        is requests 1 & limits \"2\"; should be <equal>
        fix: set both to 2

Pod ml/tei (class llm, by image vllm/vllm-openai)
  warn  request-limit-mismatch  spec.containers[0].resources (container server)  a b.yaml:30
        is requests 1 & limits \"2\"; should be <equal>
        fix: set both to 2
  fits 1 of 3 nodes (gpu-1)
  2 nodes: sluice mig-config-pending: layout (gpu-2, gpu-3)

3 objects judged: 1 refused, 1 with warnings, 1 fine; 2 documents of other kinds
1 rule not judged (give --cluster FILE or --context NAME): selector-matches-no-node
";
    assert_eq!(table(&results(), false), expected);
}

#[test]
fn colour_changes_nothing_but_colour() {
    let coloured = table(&results(), true);
    assert!(coloured.contains("\u{1b}[31mdeny\u{1b}[0m"));
    let mut plain = coloured;
    for code in ["\u{1b}[0m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m", "\u{1b}[1m"] {
        plain = plain.replace(code, "");
    }
    assert_eq!(plain, table(&results(), false));
}

#[test]
fn json_and_yaml_say_the_same_and_hold_the_contract() {
    let (mut json, mut yaml) = (Vec::new(), Vec::new());
    super::json::write(&mut json, "abc1234", results().into_iter()).expect("written");
    super::json::write_yaml(&mut yaml, "abc1234", results().into_iter()).expect("written");
    let json: Value = serde_json::from_slice(&json).expect("JSON");
    let yaml = String::from_utf8(yaml).expect("text");
    let read = crate::k8s::yaml::documents(&yaml).next().expect("a document").expect("YAML");
    assert_eq!(read.value, json);
    assert_eq!(json["apiVersion"], "sluice.dev/v1alpha1");
    assert_eq!(json["kind"], "CheckReport");
    assert_eq!(json["revision"], "abc1234");
    let keys: Vec<&str> =
        json["results"][2].as_object().expect("a result").keys().map(String::as_str).collect();
    let expected = [
        "object",
        "source",
        "class",
        "pools",
        "skipped",
        "verdict",
        "findings",
        "changes",
        "patch",
        "notJudged",
        "nodes",
        "decision",
    ];
    assert_eq!(keys, expected);
    assert_eq!(json["results"][2]["class"], Value::Null);
    assert_eq!(json["results"][0]["findings"][0]["severity"], "deny");
    assert_eq!(json["results"][1]["nodes"][0], json!({"name": "gpu-1", "fit": "yes", "score": 7}));
}

#[test]
fn sarif_points_at_the_line_of_the_field() {
    let log = super::sarif::log("0.1.0", &results());
    let found = log["runs"][0]["results"].as_array().expect("results");
    let levels: Vec<&Value> = found.iter().map(|result| &result["level"]).collect();
    assert_eq!(levels, ["error", "note", "warning"]);
    let place = &found[0]["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "a%20b.yaml");
    assert_eq!(place["region"]["startLine"], 14);
    assert_eq!(log["runs"][0]["tool"]["driver"]["rules"][0]["id"], "request-limit-mismatch");
    assert_eq!(found[0]["ruleIndex"], 0);
}

#[test]
fn junit_fails_what_is_refused_and_on_demand_what_is_warned_about() {
    let xml = super::junit::text(&results(), VerdictWord::Deny);
    assert!(xml.contains("<testsuites name=\"sluice check\" tests=\"3\" failures=\"1\">"), "{xml}");
    assert!(xml.contains("<testsuite name=\"a b.yaml\" tests=\"2\" failures=\"1\">"), "{xml}");
    assert!(
        xml.contains("<failure type=\"refused\" message=\"refused: 2 findings\">deny request-limit-mismatch")
    );
    assert!(xml.contains("requests 1 &amp; limits &quot;2&quot;; should be &lt;equal&gt;"), "{xml}");
    assert!(xml.contains("name=\"gpu-1 [31m\"") && !xml.contains('\u{1b}'), "{xml}");
    assert_eq!(super::junit::text(&results(), VerdictWord::Warn).matches("<failure").count(), 2);
}
