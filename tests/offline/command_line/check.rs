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

/// What `helm template` prints: comments that name the template, empty documents, Lists, notes.
const CHART: &str = "---\n# Source: chat/templates/empty.yaml\n---\n# Source: chat/templates/pods.yaml\n# for the tests\napiVersion: v1\n\
                     kind: List\nitems:\n- apiVersion: v1\n  kind: Pod\n  metadata: {name: first}\n  spec:\n    containers:\n    - name: c\n      \
                     image: vllm/vllm-openai\n      resources:\n        requests: {nvidia.com/gpu: 1}\n        limits: {nvidia.com/gpu: 2}\n\
                     ---\n# Source: chat/templates/service.yaml\napiVersion: v1\nkind: Service\nmetadata: {name: s}\n---\n\n---\n\
                     # Source: chat/templates/chat.yaml\napiVersion: v1\nkind: Pod\nmetadata:\n  name: second\nspec:\n  containers:\n  - name: c\n    \
                     image: vllm/vllm-openai\n    resources:\n      requests: {nvidia.com/gpu: 1}\n      limits: {nvidia.com/gpu: 2}\n";

#[test]
fn what_helm_prints_is_judged_with_the_lines_of_the_stream_and_the_template_of_each() {
    let run = sluice(&["check", "-o", "json"], CHART);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let line = |text: &str| CHART.lines().position(|line| line.contains(text)).expect("the line") + 1;
    let places: Vec<(&Value, &Value, &Value)> = report["results"]
        .as_array()
        .expect("results")
        .iter()
        .map(|result| {
            let finding = result["findings"].as_array().expect("findings").iter();
            let finding =
                finding.clone().find(|finding| finding["rule"] == "request-limit-mismatch").expect("found");
            (&result["object"]["name"], &result["source"], &finding["line"])
        })
        .collect();
    let source = |document: usize, line: usize, template: &str| serde_json::json!({"file": "-", "document": document, "line": line, "template": template});
    let (first, second) = (
        source(1, line("- apiVersion"), "chat/templates/pods.yaml"),
        source(3, line("templates/chat.yaml") + 1, "chat/templates/chat.yaml"),
    );
    let resources: Vec<Value> = CHART
        .lines()
        .enumerate()
        .filter(|(_, line)| line.trim() == "resources:")
        .map(|(index, _)| Value::from(index + 1))
        .collect();
    let (a, b) = (Value::from("first"), Value::from("second"));
    assert_eq!(places, [(&a, &first, &resources[0]), (&b, &second, &resources[1])]);
    let table = sluice(&["check"], CHART);
    assert!(table.out.contains("-:28 (chat/templates/chat.yaml)"), "{}", table.out);
    assert!(
        table.out.contains("2 objects judged: 2 refused, 0 with warnings, 0 fine; 1 document of other kinds"),
        "{}",
        table.out
    );
}

#[test]
fn json_objects_one_after_another_have_their_own_lines() {
    let object = |name: &str| {
        let text = REFUSED.replace("name: b", &format!("name: {name}"));
        let value = sluice::k8s::yaml::documents(&text).next().expect("a document").expect("YAML").value;
        serde_json::to_string_pretty(&value).expect("JSON")
    };
    let input = format!("{}\n{}\n", object("a"), object("b"));
    let run = sluice(&["check", "-", "-o", "json"], &input);
    let report: Value = serde_json::from_str(&run.out).expect("JSON");
    let lines: Vec<usize> = input
        .lines()
        .enumerate()
        .filter(|(_, line)| line.contains("\"resources\""))
        .map(|(index, _)| index + 1)
        .collect();
    for (index, line) in lines.iter().enumerate() {
        let findings = report["results"][index]["findings"].as_array().expect("findings");
        let finding =
            findings.iter().find(|finding| finding["rule"] == "request-limit-mismatch").expect("found");
        assert_eq!(finding["line"], *line);
    }
}

#[test]
fn sarif_has_the_shape_of_its_schema_also_for_what_is_suppressed() {
    let suppressed = format!(
        "{WARNED}---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {{name: e, annotations: {{sluice.dev/suppress: \
         'startup-budget-too-small: so'}}}}\nspec:\n  selector: {{matchLabels: {{app: e}}}}\n  template:\n    metadata: \
         {{labels: {{app: e}}}}\n    spec:\n      containers:\n      - name: c\n        image: \
         huggingface/text-embeddings-inference:1.8\n        livenessProbe: {{httpGet: {{path: /health, port: 80}}}}\n        \
         resources: {{limits: {{nvidia.com/gpu: 1}}}}\n"
    );
    let policies = "policies/tests/exceptions/policies";
    let run = sluice(&["check", "-", "--policies", policies, "-o", "sarif"], &suppressed);
    let log: Value = serde_json::from_str(&run.out).expect("JSON");
    assert_eq!(super::sarif::problems(&log), Vec::<String>::new(), "{log:#}");
    let results = log["runs"][0]["results"].as_array().expect("results");
    let spared: Vec<&Value> = results.iter().filter_map(|result| result.get("suppressions")).collect();
    assert_eq!(spared, [&serde_json::json!([{"kind": "inSource", "justification": "so"}])]);
    for (right, wrong) in
        [("\"warning\"", "\"warn\""), ("\"ruleId\"", "\"rule\""), ("\"inSource\"", "\"source\"")]
    {
        let broken: Value = serde_json::from_str(&run.out.replace(right, wrong)).expect("JSON");
        assert!(!super::sarif::problems(&broken).is_empty(), "nobody minds {wrong}");
    }
    let table = sluice(&["check", "-", "--policies", policies], &suppressed);
    assert!(table.out.contains("; 1 finding suppressed by the manifest"), "{}", table.out);
}
