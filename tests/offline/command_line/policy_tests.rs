//! `sluice test`: the shipped tests pass, and each kind of expectation can fail.

use std::{fs, path::Path};

use serde_json::Value;

use super::{schema, sluice};
use crate::{golden::assert_same, sources};

const MODELINE: &str = "# yaml-language-server: $schema=";

/// A folder with the shipped cluster and one test.
fn repository(test: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let tests = folder.path().join("tests");
    fs::create_dir_all(&tests).expect("a folder");
    fs::write(tests.join("cluster.yaml"), sources::read("policies/tests/clusters/four-pools.yaml"))
        .expect("written");
    fs::write(tests.join("test.yaml"), test).expect("written");
    folder
}

fn run(folder: &Path, more: &[&str]) -> super::Run {
    let folder = folder.to_string_lossy().into_owned();
    let mut run = sluice(&[&["test", folder.as_str()], more].concat(), "");
    run.out = run.out.replace(&folder, "REPOSITORY");
    run.err = run.err.replace(&folder, "REPOSITORY");
    run
}

/// The shipped test of an embedding model, with other words in it.
fn embedding(edits: &[(&str, &str)]) -> String {
    let mut text =
        sources::read("policies/tests/demo/embedding.yaml").replace("../clusters/four-pools", "cluster");
    for (from, to) in edits {
        assert!(text.contains(from), "the shipped test says {from}");
        text = text.replacen(from, to, 1);
    }
    text
}

#[test]
fn the_shipped_tests_pass_and_name_every_class() {
    for folder in ["policies", "policies/tests"] {
        let run = sluice(&["test", folder], "");
        assert_eq!((run.status, run.err.as_str()), (0, ""), "{}", run.out);
        assert!(run.out.contains(" 0 failed; named by a test: 4 of 4 classes, "), "{}", run.out);
    }
    let some = sluice(&["test", "policies", "--only", "no-*", "--untested"], "");
    assert!(some.out.contains("2 tests: 2 passed"), "{}", some.out);
    assert!(some.out.contains("classes that no test names: asr, batch, embedding, llm"), "{}", some.out);
}

#[test]
fn every_expectation_that_is_wrong_fails_with_what_differs() {
    let wrong = embedding(&[
        ("verdict: allow", "verdict: deny"),
        ("class: embedding", "class: llm"),
        ("pools: [h100-80gb-mig]", "pools: [l4-time-slicing]"),
        ("rules: []", "rules: [tp-on-mig]"),
        ("changes: [affinity-added", "changes: [shm-added"),
        (
            "nodes: [h100-mig-1, h100-mig-2]",
            "nodes: [h100-mig-1, l4-shared-1]\n    fit: {l40s-1: yes, h100-mig-1: busy}\n    \
             patch: [{op: remove, path: /spec/tolerations}]",
        ),
    ]);
    let folder = repository(&wrong);
    let failed = run(folder.path(), &[]);
    assert_eq!((failed.status, failed.err.as_str()), (1, ""), "{}", failed.out);
    // The number of rules grows with the catalogue.
    let out = failed.out.replace(&format!("{} rules", sluice::rules::ids().len()), "ALL rules");
    assert_same("tests/offline/command_line/policy-test.txt", &super::without_ids(&out));
    let right = repository(&embedding(&[(
        "nodes: [h100-mig-1, h100-mig-2]",
        "nodes: [h100-mig-1, h100-mig-2]\n    fit: {l40s-1: never, h100-mig-1: 'yes'}\n    \
         patch: [{path: /spec/priorityClassName, value: gpu-embedding}]",
    )]));
    let passed = run(right.path(), &[]);
    assert_eq!(passed.status, 0, "{}", passed.out);
}

#[test]
fn junit_tells_the_same() {
    let folder = repository(&embedding(&[("verdict: allow", "verdict: warn")]));
    let failed = run(folder.path(), &["-o", "junit"]);
    assert_eq!(failed.status, 1);
    for part in [
        "<testsuites name=\"sluice test\" tests=\"1\" failures=\"1\">",
        "<testsuite name=\"embedding\" tests=\"1\" failures=\"1\" file=\"REPOSITORY/tests/test.yaml\">",
        "<testcase classname=\"embedding\" name=\"Pod search/embed\">",
        "verdict: expected warn, got allow</failure>",
    ] {
        assert!(failed.out.contains(part), "{part}:\n{}", failed.out);
    }
}

#[test]
fn what_cannot_be_run_is_told_with_its_place() {
    for (edit, said) in [
        (
            ("verdict: allow", "verdikt: allow"),
            "REPOSITORY/tests/test.yaml:22: spec.expect[0].verdikt: unknown field",
        ),
        (("cluster: cluster.yaml", "cluster: absent.yaml"), "absent.yaml cannot be read"),
        (("policies: built-in", "policies: absent"), "REPOSITORY/tests/absent"),
        (
            ("  - verdict: allow", "  - object: Pod/other\n    verdict: allow"),
            "there is no Pod/other; there are Pod/embed",
        ),
        (
            ("  - verdict: allow", "  - verdict: allow\n  - verdict: allow"),
            "1 manifests and 2 entries under expect",
        ),
        (("policies: built-in", "policies: built-in\n  now: yesterday"), "yesterday is no RFC 3339 time"),
    ] {
        let folder = repository(&embedding(&[edit]));
        let broken = run(folder.path(), &[]);
        assert_eq!((broken.status, broken.out.as_str()), (2, ""), "{edit:?}");
        assert!(broken.err.contains(said), "{edit:?}: {}", broken.err);
    }
    let empty = tempfile::tempdir().expect("a folder");
    let none = run(empty.path(), &[]);
    assert!(none.status == 2 && none.err.contains("no PolicyTest below REPOSITORY"), "{}", none.err);
}

#[test]
fn policies_are_those_of_the_folder_and_manifests_may_stand_in_files() {
    let test = "apiVersion: sluice.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: own}\nspec:\n  files: [pods]\n  expect:\n  \
                - {object: Pod/b, class: own, verdict: allow}\n  - {object: Pod/a, class: own}\n";
    let folder = repository(test);
    let pods = folder.path().join("tests/pods");
    fs::create_dir_all(&pods).expect("a folder");
    for name in ["a", "b"] {
        let pod = format!(
            "apiVersion: v1\nkind: Pod\nmetadata: {{name: {name}, labels: {{sluice.dev/class: own}}}}\nspec:\n  \
             containers:\n  - {{name: c, image: example/own, resources: {{limits: {{nvidia.com/gpu: 1}}}}}}\n"
        );
        fs::write(pods.join(format!("{name}.yaml")), pod).expect("written");
    }
    let class = "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {name: own}\nspec: {pools: [{mode: exclusive}]}\n";
    fs::write(folder.path().join("own.yaml"), class).expect("written");
    let passed = run(folder.path(), &[]);
    assert_eq!((passed.status, passed.err.as_str()), (0, ""), "{}", passed.out);
    assert!(passed.out.contains("1 of 1 class,"), "{}", passed.out);
    fs::remove_file(folder.path().join("own.yaml")).expect("removed");
    assert_eq!(run(folder.path(), &[]).status, 1, "the built-in policies have no class of that name");
}

#[test]
fn every_shipped_test_holds_the_schema_and_tells_editors_where_it_is() {
    let schema: Value = serde_json::from_str(&sources::read("policies/tests/schema.json")).expect("JSON");
    let mut seen = 0;
    for file in
        sources::below("policies/tests", ".yaml").iter().filter(|file| file.text.contains("kind: PolicyTest"))
    {
        let read = sluice::k8s::yaml::documents(&file.text).next().expect("a document").expect("YAML");
        assert_eq!(schema::problems(&schema, &read.value), Vec::<String>::new(), "{}", file.path);
        let up = "../".repeat(file.path.matches('/').count() - 2);
        assert!(file.text.starts_with(&format!("{MODELINE}{up}schema.json\n")), "{}", file.path);
        seen += 1;
    }
    assert!(seen >= 8, "{seen}");
    let broken = serde_json::json!({"apiVersion": "sluice.dev/v1alpha1", "kind": "PolicyTest", "metadata": {"name": "a"},
        "spec": {"expect": [{"verdict": "maybe"}], "cluter": "a"}});
    assert_eq!(schema::problems(&schema, &broken).len(), 2);
}

#[test]
fn the_example_workflow_calls_what_there_is() {
    let workflow = sources::read("docs/examples/policies-ci.yaml");
    let calls: Vec<&str> =
        workflow.lines().filter_map(|line| line.split_once("sluice ")).map(|(_, rest)| rest).collect();
    assert!(calls.iter().any(|call| call.starts_with("test ")), "{workflow}");
    for call in calls.iter().filter(|call| call.starts_with("test ") || call.starts_with("check ")) {
        let command = call.split_whitespace().next().expect("a command");
        let help = sluice(&[command, "--help"], "").out;
        for flag in call.split_whitespace().filter(|word| word.starts_with("--")) {
            assert!(help.contains(flag), "{call}: {flag}");
        }
    }
}
