//! `sluice scan`: the verdict of `check` on everything that runs, what enforcing would refuse, drift, exceptions.

use std::{collections::BTreeMap, fmt::Write, fs, path::Path};

use serde_json::{Value, json};

use super::{sarif, sluice};
use crate::{properties::generate, sources};

const CLUSTER: &str = "policies/tests/clusters/four-pools.yaml";

fn pod(name: &str, node: &str, spec: &Value) -> Value {
    let mut pod = json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": name, "namespace": "team-speech", "uid": format!("uid-{name}")},
        "spec": {"nodeName": node}, "status": {"phase": "Running"}});
    for (key, value) in spec.as_object().expect("fields") {
        pod["spec"][key] = value.clone();
    }
    pod
}

fn server(image: &str, request: i64, limit: i64) -> Value {
    json!({"containers": [{"name": "server", "image": image,
        "resources": {"requests": {"nvidia.com/gpu": request}, "limits": {"nvidia.com/gpu": limit}}}]})
}

/// The shipped cluster with these objects in it.
fn with(folder: &Path, objects: &[Value]) -> String {
    let mut text = sources::read(CLUSTER);
    for object in objects {
        let _ = write!(text, "---\n{object}\n");
    }
    let file = folder.join("cluster.yaml");
    fs::write(&file, text).expect("written");
    file.to_string_lossy().into_owned()
}

fn report(arguments: &[&str]) -> (i32, Value) {
    let run = sluice(&[&["scan", "-o", "json"], arguments].concat(), "");
    let report = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}{}", run.out, run.err));
    (run.status, report)
}

fn of<'a>(report: &'a Value, name: &str) -> &'a Value {
    let results = report["results"].as_array().expect("results");
    results.iter().find(|result| result["object"]["name"] == name).unwrap_or(&Value::Null)
}

/// A folder with a policy of that action, and an exception.
fn policies(folder: &Path, action: &str, expires: &str) -> String {
    let policy = format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: p}}\nspec: {{action: {action}}}\n"
    );
    fs::write(folder.join("policy.yaml"), policy).expect("written");
    let exception =
        sources::read("policies/tests/exceptions/policies/exception.yaml").replace("2027-03-31", expires);
    fs::write(folder.join("exception.yaml"), exception).expect("written");
    folder.to_string_lossy().into_owned()
}

#[test]
fn a_running_pod_that_is_as_it_would_be_made_has_not_drifted_and_another_has() {
    let folder = tempfile::tempdir().expect("a folder");
    let made = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "made", "namespace": "team-speech"},
        "spec": server("ghcr.io/huggingface/text-embeddings-inference:1.8", 1, 1)});
    let checked = sluice(&["check", "-", "--cluster", CLUSTER, "-o", "json"], &made.to_string());
    let checked: Value = serde_json::from_str(&checked.out).expect("JSON");
    let patch: json_patch::Patch =
        serde_json::from_value(checked["results"][0]["patch"].clone()).expect("a patch");
    let mut admitted = made;
    json_patch::patch(&mut admitted, &patch).expect("it applies");
    admitted["metadata"]["uid"] = "uid-made".into();
    admitted["spec"]["nodeName"] = "h100-mig-1".into();
    admitted["status"] = json!({"phase": "Running"});
    let raw = pod("raw", "h100-whole-1", &server("ghcr.io/huggingface/text-embeddings-inference:1.8", 1, 1));
    let file = with(folder.path(), &[admitted, raw]);
    let (_, report) = report(&["--cluster", &file]);
    assert_eq!(of(&report, "made")["drift"], json!([]), "{report:#}");
    assert!(of(&report, "made").get("misplaced").is_none());
    let drift: Vec<&str> = of(&report, "raw")["drift"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|c| c["rule"].as_str())
        .collect();
    assert!(drift.contains(&"affinity-added") && drift.contains(&"resource-rewritten"), "{drift:?}");
    let misplaced = of(&report, "raw")["misplaced"].as_str().unwrap_or_default();
    assert!(
        misplaced
            .ends_with("runs on h100-whole-1 (h100-80gb-exclusive), and would go to h100-80gb-mig today"),
        "{misplaced}"
    );
    let table = sluice(&["scan", "--cluster", &file], "");
    assert!(table.out.contains("  drift  resource-rewritten  spec.containers[0]"), "{}", table.out);
    assert!(table.out.contains("; 1 drifted;"), "{}", table.out);
}

#[test]
fn what_enforcing_would_refuse_is_told_while_a_policy_only_counts() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = with(folder.path(), &[pod("two", "h100-whole-1", &server("vllm/vllm-openai", 1, 2))]);
    for (action, today, status) in [("deny", "deny", 1), ("warn", "warn", 0), ("audit", "allow", 0)] {
        let rules = tempfile::tempdir().expect("a folder");
        let named = policies(rules.path(), action, "2001-01-01");
        let (got, report) = report(&["--cluster", &file, "--policies", &named]);
        let two = of(&report, "two");
        assert_eq!(
            (got, &two["verdict"], &two["enforced"]),
            (status, &json!(today), &json!("deny")),
            "{action}"
        );
    }
    let (_, elsewhere) = report(&["--cluster", &file, "-n", "other"]);
    assert_eq!(of(&elsewhere, "two"), &Value::Null);
}

#[test]
fn exceptions_that_ended_are_void_and_told() {
    let cluster = tempfile::tempdir().expect("a folder");
    let file = with(cluster.path(), &[pod("two", "h100-whole-1", &server("vllm/vllm-openai", 1, 2))]);
    for (expires, state, verdict) in [("2001-01-01", "expired", "deny"), ("2999-01-01", "holds", "allow")] {
        let folder = tempfile::tempdir().expect("a folder");
        let named = policies(folder.path(), "deny", expires);
        let (_, report) = report(&["--cluster", &file, "--policies", &named]);
        assert_eq!(report["exceptions"][0]["state"], state);
        assert_eq!(report["exceptions"][0]["covers"], u64::from(state == "holds"));
        let refusing = of(&report, "two")["findings"].as_array().expect("findings").iter();
        let refused = refusing.filter(|finding| finding["severity"] == "deny").count() > 0;
        assert_eq!(refused, verdict == "deny", "{expires}: {report:#}");
        let table = sluice(&["scan", "--cluster", &file, "--policies", &named], "");
        assert_eq!(
            table.out.contains("exception speech-migration is void since"),
            state == "expired",
            "{}",
            table.out
        );
    }
}

#[test]
fn reports_for_dashboards_have_the_shape_of_their_kind() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = with(folder.path(), &[pod("two", "h100-whole-1", &server("vllm/vllm-openai", 1, 2))]);
    let run = sluice(&["scan", "--cluster", &file, "-o", "openreports"], "");
    let reports: Vec<Value> =
        sluice::k8s::yaml::documents(&run.out).map(|document| document.expect("YAML").value).collect();
    let two = reports.iter().find(|report| report["scope"]["name"] == "two").expect("a report of it");
    assert_eq!((&two["apiVersion"], &two["kind"]), (&json!("openreports.io/v1alpha1"), &json!("Report")));
    assert_eq!(two["metadata"]["namespace"], "team-speech");
    assert_eq!(two["scope"]["apiVersion"], "v1");
    for report in &reports {
        let results = report["results"].as_array().expect("results");
        assert!(report["kind"] == "ClusterReport" || report["metadata"]["namespace"].is_string());
        let mut counts = BTreeMap::from(["pass", "fail", "warn", "error", "skip"].map(|word| (word, 0)));
        for result in results {
            let word = result["result"].as_str().expect("a result");
            *counts.get_mut(word).unwrap_or_else(|| panic!("{word} is no result")) += 1;
            assert!(
                result["policy"].is_string()
                    && result["timestamp"]["seconds"].is_i64()
                    && result["source"] == "sluice"
            );
            let severity = result.get("severity").and_then(Value::as_str).unwrap_or("info");
            assert!(["critical", "high", "medium", "low", "info"].contains(&severity), "{severity}");
        }
        assert_eq!(report["summary"], json!(counts), "{report:#}");
    }
    let failed = two["results"].as_array().expect("results").iter().find(|result| result["result"] == "fail");
    assert_eq!(failed.expect("a failure")["rule"], "request-limit-mismatch");
    let sarif = sluice(&["scan", "--cluster", &file, "-o", "sarif"], "");
    assert_eq!(sarif::problems(&serde_json::from_str(&sarif.out).expect("JSON")), Vec::<String>::new());
    assert!(sarif.out.contains("\"startLine\""), "a cluster from a file has lines");
}

/// The property: whatever runs, `scan` says of it what `check` says of the same object in the same cluster.
#[test]
fn the_verdict_of_scan_is_the_verdict_of_check() {
    let seed = std::env::var("SLUICE_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_201);
    println!("scan and check: SLUICE_SEED={seed}");
    let mut rng = fastrand::Rng::with_seed(seed);
    let mut text = String::new();
    for object in generate::cluster() {
        let _ = write!(text, "---\n{object}\n");
    }
    for index in 0..400 {
        let mut pod = generate::pod(&mut rng);
        pod["metadata"]["name"] = format!("pod-{index}").into();
        if rng.bool() {
            pod["metadata"]["uid"] = format!("uid-{index}").into();
            pod["spec"]["nodeName"] = format!("n{}", rng.usize(..12)).into();
            pod["status"] = json!({"phase": "Running"});
        }
        let _ = write!(text, "---\n{pod}\n");
    }
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("cluster.yaml");
    fs::write(&file, text).expect("written");
    let file = file.to_string_lossy().into_owned();
    let verdicts = |arguments: &[&str]| -> BTreeMap<String, (Value, Value)> {
        let run = sluice(arguments, "");
        let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{}", run.err));
        let results = report["results"].as_array().expect("results").iter();
        let key = |result: &Value| format!("{}/{}", result["object"]["kind"], result["object"]["name"]);
        results.map(|result| (key(result), (result["verdict"].clone(), result["findings"].clone()))).collect()
    };
    let checked = verdicts(&["check", &file, "--cluster", &file, "-o", "json"]);
    let scanned = verdicts(&["scan", "--cluster", &file, "-o", "json"]);
    assert!(scanned.len() > 200, "{}", scanned.len());
    for (name, found) in &scanned {
        assert_eq!(Some(found), checked.get(name), "{name}");
    }
    let words: Vec<&Value> = scanned.values().map(|(verdict, _)| verdict).collect();
    for word in ["allow", "deny"] {
        assert!(words.iter().filter(|verdict| **verdict == word).count() > 20, "too few of {word}");
    }
}
