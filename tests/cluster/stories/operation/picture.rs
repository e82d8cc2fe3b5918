//! A live cluster, a snapshot of it, and the server that watches it give the same answers.

use std::path::Path;

use serde_json::{Value, json};
use sluice::subject::stamp;

use crate::harness::nodes::Fleet;
use crate::harness::sluice::run_sluice;
use crate::stories::fleet::{a10, h100, mixed_a100, renamed_l4, sliced_l4};
use crate::stories::gate::Gate;
use crate::stories::samples::{Sample, deployment, image, pod};
use crate::stories::shipped::NAMESPACE;

// Long because it is one story: the same questions to the live cluster, to its snapshot, and to the server.
pub fn a_snapshot_reads_back_to_the_same_answers(gate: &mut Gate) {
    let fleet = gate.fleet(vec![
        h100("whole", 8).guarded(),
        sliced_l4("sliced", 4).guarded(),
        renamed_l4("renamed", 2),
        mixed_a100("slices").guarded(),
        a10("open", 4),
        h100("busy", 2),
    ]);
    let namespace = gate.plane.namespace("picture");
    // Something that takes room, and something that must not get out.
    let secret =
        json!({ "env": [{ "name": "HF_TOKEN", "value": "hf_secret" }], "args": ["--api-key", "sk_secret"] });
    let taker = pod("taker", image::PLAIN, 2).with_container(&secret).with(&json!({ "spec": {
        "nodeSelector": { "kubernetes.io/hostname": fleet.name("busy") } } }));
    gate.apply(&namespace, &deployment("taker", 1, &taker)).succeeded();
    let held = gate.plane.bound(&namespace, &gate.pod_of(&namespace, "app", "taker"));
    assert_eq!(fleet.role(&held), "busy");

    // A person who may read the kinds of the picture, and nothing else.
    let person = gate.plane.kubeconfig_of_service_account(NAMESPACE, "sluice");
    let snapshot = run_sluice(&["snapshot"], Some(&person), "").succeeded();
    assert!(
        snapshot.contains("HF_TOKEN") && !snapshot.contains("hf_secret") && !snapshot.contains("sk_secret")
    );
    let file = gate.plane.folder().join("snapshot.yaml");
    std::fs::write(&file, &snapshot).expect("a snapshot");
    let policies = format!("{}/policies", gate.mounted().display());
    let ask = |words: &[&str], from: From<'_>, input: &str| {
        let mut arguments = words.to_vec();
        arguments.extend(["--policies", &policies]);
        arguments.extend(from.words());
        let output = run_sluice(&arguments, Some(&person), input);
        (output.status, output.stdout, output.stderr)
    };
    let (live, kept) = (From::Live, From::File(&file));

    for form in ["table", "yaml", "json"] {
        let words = ["pools", "-o", form];
        assert_eq!(ask(&words, live, ""), ask(&words, kept, ""), "{form}");
    }
    let pools = ask(&["pools", "-o", "json"], live, "").1;
    let pools: Value = serde_json::from_str(&pools).expect("JSON");
    let mut held: Vec<(&str, Vec<&str>)> =
        pools["pools"].as_array().expect("pools").iter().map(|pool| members(&fleet, pool)).collect();
    held.sort_unstable();
    let expected = [
        ("a10-exclusive", vec!["open"]),
        ("a100-80gb-mig", vec!["slices"]),
        ("h100-80gb-exclusive", vec!["busy"]),
        ("h100-80gb-exclusive-2", vec!["whole"]),
        ("l4-time-slicing", vec!["sliced"]),
        ("l4-time-slicing-2", vec!["renamed"]),
    ];
    assert_eq!(held, expected);

    let samples = samples();
    for sample in &samples {
        let words = ["check", "-", "-o", "json", "--namespace", &namespace];
        let text = sample.within(&namespace);
        let (live, kept) = (ask(&words, live, &text), ask(&words, kept, &text));
        assert_eq!(live, kept, "{}", sample.name());
    }
    assert_eq!(ask(&["scheduler-config"], live, ""), ask(&["scheduler-config"], kept, ""));

    // The server that watches, and one that serves the snapshot: the same record, with the same id.
    let of_file = gate.serve_picture(&snapshot);
    let answers =
        || samples.iter().map(|sample| answer(gate, &sample.within(&namespace))).collect::<Vec<_>>();
    gate.open();
    let watched = answers();
    assert!(watched[0].contains("h100-80gb-exclusive"), "{watched:#?}");
    assert!(watched[4].contains("sluice refused Pod"), "{watched:#?}");
    gate.open_to(&of_file);
    gate.plane.until_admission("the other server to be asked", &samples[0].within(&namespace), |_| {
        let asked = |endpoint| of_file.metric("sluice_requests_total", &[("endpoint", endpoint)]) >= 1.0;
        asked("mutate") && asked("validate")
    });
    assert_eq!(answers(), watched);

    // The control: the cluster goes on, and the snapshot does not.
    let kubectl = gate.plane.kubectl();
    kubectl.run(&["delete", "node", fleet.name("slices")]).succeeded();
    let words = ["pools", "-o", "json"];
    assert!(!ask(&words, live, "").1.contains("a100-80gb-mig"));
    assert!(ask(&words, kept, "").1.contains("a100-80gb-mig"));
}

/// The name of a pool and the roles of its nodes.
fn members<'a>(fleet: &'a Fleet, pool: &'a Value) -> (&'a str, Vec<&'a str>) {
    let nodes = pool["nodes"].as_array().expect("nodes").iter().filter_map(Value::as_str);
    (pool["name"].as_str().expect("a name"), nodes.map(|node| fleet.role(node)).collect())
}

#[derive(Clone, Copy)]
enum From<'a> {
    Live,
    File(&'a Path),
}

impl<'a> From<'a> {
    fn words(self) -> [&'a str; 2] {
        match self {
            From::Live => ["--context", "test"],
            From::File(file) => ["--cluster", file.to_str().expect("a path in UTF-8")],
        }
    }
}

fn samples() -> Vec<Sample> {
    vec![
        pod("llm", image::LLM, 1),
        pod("embedding", image::EMBEDDING, 1),
        pod("asr", image::ASR, 1),
        pod("plain", image::PLAIN, 1),
        // More cards than any node has.
        pod("large", image::LLM, 16),
        deployment("model", 3, &pod("llm", image::LLM, 4)),
    ]
}

/// What the API server made of it with the webhooks asked: the record, or the refusal.
fn answer(gate: &Gate, manifest: &str) -> String {
    let output = gate
        .plane
        .kubectl()
        .run_with_input(&["create", "-f", "-", "--dry-run=server", "-o", "json"], manifest);
    let Ok(object) = serde_json::from_str::<Value>(&output.stdout) else { return output.stderr };
    let record = stamp::KEYS.map(|key| object["metadata"]["annotations"][key].to_string());
    format!("{record:?} {}\n{}", object["spec"]["affinity"], output.stderr)
}
