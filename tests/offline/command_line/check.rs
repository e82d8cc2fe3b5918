use std::fmt::Write;

use serde_json::Value;

use super::{Run, schema, sluice, without_ids};
use crate::{golden::assert_same, sources};

const MANIFESTS: &str = "tests/offline/command_line/manifests";
const CLUSTER: &str = "policies/tests/clusters/four-pools.yaml";

const FINE: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec:\n  containers:\n  - name: c\n    image: vllm/vllm-openai\n    \
                    resources: {limits: {nvidia.com/gpu: 1}}\n";
const REFUSED: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: b}\nspec:\n  containers:\n  - name: c\n    image: vllm/vllm-openai\n    \
                       resources: {limits: {nvidia.com/gpu: 2}, requests: {nvidia.com/gpu: 1}}\n";
const WARNED: &str = "apiVersion: policy/v1\nkind: PodDisruptionBudget\nmetadata: {name: d}\nspec: {maxUnavailable: 0, \
                      selector: {matchLabels: {app: x}}}\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  \
                      replicas: 2\n  selector: {matchLabels: {app: x}}\n  template:\n    metadata: {labels: {app: x}}\n    spec:\n      \
                      containers:\n      - name: c\n        image: vllm/vllm-openai\n        resources: {limits: {nvidia.com/gpu: 1}}\n";

#[test]
fn the_report_in_every_form() {
    for (form, file) in [
        ("table", "check.txt"),
        ("json", "check.json"),
        ("yaml", "check.yaml"),
        ("sarif", "check.sarif"),
        ("junit", "check.xml"),
    ] {
        let Run { status, out, err } = sluice(&["check", MANIFESTS, "--cluster", CLUSTER, "-o", form], "");
        assert_eq!((status, err.as_str()), (1, ""), "{form}");
        assert_same(&format!("tests/offline/command_line/{file}"), &without_ids(&out));
    }
}

#[test]
fn the_exit_status_says_what_happened() {
    let broken = format!("{FINE}---\na: [\n");
    let wrong_type = "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\nspec: {containers: 5}\n";
    for (status, arguments, input, said) in [
        (0, vec!["-"], FINE, ""),
        (1, vec!["-"], REFUSED, ""),
        (0, vec!["-"], WARNED, ""),
        (1, vec!["-", "--fail-on", "warn"], WARNED, ""),
        (0, vec!["-", "--skip", "request-limit-mismatch"], REFUSED, ""),
        (0, vec!["-", "--only", "nodename-bypass,gpu-bypass-env"], REFUSED, ""),
        (1, vec!["-", "--only", "request-limit-mismatch"], REFUSED, ""),
        (0, vec!["-"], "", ""),
        (2, vec!["-", "--skip", "request-limit-mismatc"], FINE, "did you mean request-limit-mismatch?"),
        (2, vec!["/absent.yaml"], "", "/absent.yaml cannot be read: No such file"),
        (2, vec!["-"], &broken, "-:10:4: "),
        (2, vec!["-"], wrong_type, "-:4: Pod a: spec.containers: invalid type"),
        (2, vec!["-", "--cluster", "/absent.yaml"], FINE, "/absent.yaml"),
        (2, vec!["-", "--policies", "/absent"], FINE, "/absent"),
        (2, vec!["-", "--context", "nowhere"], FINE, "context \"nowhere\" cannot be used"),
        (2, vec!["-", "--colour"], FINE, "unexpected argument '--colour'"),
        (2, vec!["-", "--cluster", CLUSTER, "--context", "x"], FINE, "cannot be used with"),
    ] {
        let run = sluice(&[&["check"], arguments.as_slice()].concat(), input);
        assert_eq!(run.status, status, "{arguments:?}: {}{}", run.out, run.err);
        assert!(run.err.contains(said), "{arguments:?}: {}", run.err);
        assert_eq!(run.err.is_empty(), said.is_empty(), "{arguments:?}: {}", run.err);
    }
}

#[test]
fn a_broken_document_is_told_and_the_others_are_judged() {
    let run = sluice(&["check", "-", "-o", "json"], &format!("a: [\n---\n{REFUSED}"));
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(run.status, 2);
    assert_eq!(report["results"][0]["source"], serde_json::json!({"file": "-", "document": 2, "line": 3}));
    assert_eq!(report["results"][0]["verdict"], "deny");
}

#[test]
fn what_needs_nodes_is_not_judged_without_a_cluster_and_never_refuses() {
    let selects = FINE.replace("spec:\n", "spec:\n  nodeSelector: {nvidia.com/gpu.product: NVIDIA-L4}\n");
    let report = |arguments: &[&str]| -> (i32, Value) {
        let run = sluice(&[&["check", "-", "-o", "json"], arguments].concat(), &selects);
        (run.status, serde_json::from_str(&run.out).expect("JSON"))
    };
    let (status, without) = report(&[]);
    assert_eq!(status, 0);
    let not_judged = without["results"][0]["notJudged"].as_array().expect("a list");
    assert!(not_judged.iter().any(|rule| rule == "selector-matches-no-node"), "{not_judged:?}");
    assert_eq!(without["results"][0]["nodes"], serde_json::json!([]));
    let (status, with) = report(&["--cluster", CLUSTER]);
    assert_eq!(status, 1);
    assert_eq!(with["results"][0]["findings"][0]["rule"], "selector-matches-no-node");
    assert_eq!(with["results"][0]["nodes"].as_array().map(Vec::len), Some(9));
}

#[test]
fn objects_given_together_see_each_other() {
    let class =
        "---\napiVersion: scheduling.k8s.io/v1\nkind: PriorityClass\nmetadata: {name: mine}\nvalue: 5\n";
    let named = FINE.replace("spec:\n", "spec:\n  priorityClassName: mine\n");
    let rules = |input: &str| {
        let run = sluice(&["check", "-", "--cluster", CLUSTER, "-o", "json"], input);
        let report: Value = serde_json::from_str(&run.out).expect("JSON");
        report["results"][0]["findings"].to_string()
    };
    assert!(rules(&named).contains("priorityclass-not-found"));
    assert!(!rules(&format!("{named}{class}")).contains("priorityclass-not-found"));
}

#[test]
fn real_reports_hold_the_schema() {
    let schema: Value = serde_json::from_str(&sources::read("docs/check-report.schema.json")).expect("JSON");
    let problems = |text: &str| schema::problems(&schema, &serde_json::from_str(text).expect("JSON"));
    let wide = sluice(&["check", MANIFESTS, "--cluster", CLUSTER, "-o", "json"], "");
    let narrow = sluice(&["check", "-", "-o", "json"], WARNED);
    for run in [&wide, &narrow] {
        assert_eq!(problems(&run.out), Vec::<String>::new());
    }
    for (right, wrong) in
        [("\"verdict\"", "\"verdikt\""), ("\"deny\"", "\"dney\""), ("\"line\": ", "\"line\": -")]
    {
        assert!(!problems(&wide.out.replace(right, wrong)).is_empty(), "the schema does not mind {wrong}");
    }
}

#[test]
fn many_documents_are_judged_in_their_order_and_a_reader_may_stop_early() {
    let mut input = String::new();
    for number in 0..2000 {
        let _ = writeln!(input, "---\n{}", FINE.replace("name: a", &format!("name: pod-{number}")));
    }
    let run = sluice(&["check", "-", "-o", "json"], &input);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let names: Vec<&str> = report["results"]
        .as_array()
        .expect("results")
        .iter()
        .filter_map(|result| result["object"]["name"].as_str())
        .collect();
    assert!(names.iter().enumerate().all(|(index, name)| *name == format!("pod-{index}")));
    assert_eq!((names.len(), run.status), (2000, 0));
    assert!(!run.out.contains('\u{1b}'), "a pipe gets no colours");
}
