//! `sluice explain`: a rule, a class, a pool, and every step of a decision, which are those of `check`.

use serde_json::Value;

use super::{sluice, without_ids};
use crate::golden::assert_same;

const CLUSTER: &str = "policies/tests/clusters/four-pools.yaml";

#[test]
fn every_step_of_a_decision_is_told() {
    let run =
        sluice(&["explain", "-f", "docs/examples/chat.yaml", "--cluster", "docs/examples/cluster.yaml"], "");
    assert_eq!((run.status, run.err.as_str()), (1, ""), "{}", run.out);
    assert_same("tests/offline/command_line/explain-deployment.txt", &without_ids(&run.out));
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: embed}\nspec:\n  containers:\n  - name: tei\n    image: \
               ghcr.io/huggingface/text-embeddings-inference:1.8\n    resources: {limits: {nvidia.com/gpu: 1}}\n";
    let run = sluice(&["explain", "-f", "-", "--cluster", CLUSTER], pod);
    assert_eq!(run.status, 0, "{}", run.err);
    assert_same("tests/offline/command_line/explain-pod.txt", &without_ids(&run.out));
    let other =
        "apiVersion: v1\nkind: Pod\nmetadata: {name: web}\nspec: {containers: [{name: c, image: nginx}]}\n";
    let run = sluice(&["explain", "-f", "-", "--cluster", CLUSTER], other);
    assert!(run.status == 0 && run.out.contains("no: it asks for no GPU and can reach none"), "{}", run.out);
    assert!(!run.out.contains("Which class?"), "what does not concern us has no further steps: {}", run.out);
}

#[test]
fn an_explanation_says_what_check_says() {
    let arguments = ["tests/offline/command_line/manifests", "--cluster", CLUSTER, "-o", "json"];
    let read = |command: &[&str]| -> Value {
        serde_json::from_str(&sluice(&[command, &arguments].concat(), "").out).expect("JSON")
    };
    let (checked, explained) = (read(&["check"]), read(&["explain", "-f"]));
    let checked = checked["results"].as_array().expect("results");
    let explained = explained.as_array().expect("a list");
    assert_eq!(checked.len(), explained.len());
    for (one, other) in checked.iter().zip(explained) {
        for key in [
            "object",
            "verdict",
            "class",
            "recognizedBy",
            "findings",
            "changes",
            "nodes",
            "notJudged",
            "decision",
        ] {
            assert_eq!(one.get(key), other.get(key), "{key} of {}", one["object"]);
        }
        let taken: Vec<&Value> = other["terms"]
            .as_array()
            .expect("terms")
            .iter()
            .flat_map(|term| term["taken"].as_array().expect("a list").iter().map(|pool| &pool["pool"]))
            .collect();
        assert_eq!(
            taken,
            one["pools"].as_array().expect("pools").iter().collect::<Vec<_>>(),
            "{}",
            one["object"]
        );
        let passed = other["terms"]
            .as_array()
            .expect("terms")
            .iter()
            .map(|term| term["passed"].as_array().map_or(0, Vec::len));
        let others = other["otherPools"].as_array().map_or(0, Vec::len);
        assert_eq!(
            passed.sum::<usize>() + others,
            one["skipped"].as_array().map_or(0, Vec::len),
            "{}",
            one["object"]
        );
    }
}

#[test]
fn classes_and_pools_are_explained_by_name() {
    let class = sluice(&["explain", "llm", "--cluster", CLUSTER], "");
    assert_eq!(class.status, 0, "{}", class.err);
    assert_same("tests/offline/command_line/explain-class.txt", &class.out);
    let pool = sluice(&["explain", "h100-80gb-mig", "--cluster", CLUSTER], "");
    assert_eq!(pool.status, 0, "{}", pool.err);
    assert_same("tests/offline/command_line/explain-pool.txt", &pool.out);
    let yaml = sluice(&["explain", "embedding", "--cluster", CLUSTER, "-o", "yaml"], "");
    assert!(
        yaml.out.contains("class: embedding\n") && yaml.out.contains("- h100-80gb-mig\n"),
        "{}",
        yaml.out
    );
    let declared = sluice(&["explain", "h100-whole", "--policies", "policies"], "");
    assert!(
        declared.status == 0 && declared.out.starts_with("pool h100-whole, declared, empty"),
        "{}",
        declared.out
    );
    let nothing = sluice(&["explain", "lllm", "--cluster", CLUSTER], "");
    assert_eq!((nothing.status, nothing.out.as_str()), (2, ""));
    assert!(nothing.err.contains("classes: asr, batch, embedding, llm; pools: "), "{}", nothing.err);
}
