use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::*;
use crate::serve::{
    Limits,
    tests::setting::{Mood, Setting, pod},
};

fn names(names: &[&str]) -> Value {
    json!({"Pod": pod(), "Nodes": null, "NodeNames": names})
}

#[test]
fn every_rule_has_a_reason_without_node_names_or_numbers() {
    let reasons: BTreeMap<&str, &str> = rules::ALL.iter().map(|rule| (rule.id, reason(rule))).collect();
    for (id, reason) in reasons {
        assert!(reason.contains(id), "{id}: {reason}");
    }
}

#[tokio::test]
async fn malformed_questions_are_answered_by_200_with_an_error() {
    let table = [
        (String::new(), "not ExtenderArgs: EOF"),
        ("{}".to_owned(), "Pod is missing"),
        ("[]".to_owned(), "not ExtenderArgs: invalid type: sequence"),
        (json!({"Pod": null, "NodeNames": ["a"]}).to_string(), "Pod is missing"),
        (json!({"Pod": pod(), "Nodes": null, "NodeNames": null}).to_string(), "neither NodeNames nor Nodes"),
        (json!({"Pod": "x", "NodeNames": ["a"]}).to_string(), "Pod is not an object"),
        (json!({"Pod": {"spec": {"containers": 1}}, "NodeNames": ["a"]}).to_string(), "spec.containers"),
        (json!({"Pod": pod(), "NodeNames": [1]}).to_string(), "invalid type: integer"),
        (json!({"Pod": pod(), "Nodes": {"items": [{}]}}).to_string(), "missing field `metadata`"),
    ];
    let setting = Setting::new();
    for path in ["/scheduler/filter", "/scheduler/prioritize"] {
        for (body, want) in &table {
            let answer = setting.post(path, body.clone()).await;
            assert_eq!((answer.code.as_u16(), answer.length), (200, Some(answer.text.len() as u64)));
            let answer = answer.json();
            let error = answer["Error"].as_str().unwrap();
            assert!(error.contains(want), "{error} does not contain {want}");
            assert_eq!((&answer["NodeNames"], &answer["Nodes"]), (&Value::Null, &Value::Null));
        }
    }
}

#[tokio::test]
async fn a_pod_without_kind_as_the_scheduler_sends_it_is_judged() {
    let setting = Setting::new();
    let mut pod = pod();
    pod.as_object_mut().unwrap().retain(|key, _| key != "kind" && key != "apiVersion");
    let body = json!({"Pod": pod, "NodeNames": ["gpu-1"]}).to_string();
    let answer = setting.post("/scheduler/filter", body.clone()).await.json();
    assert_eq!(answer["Error"], "");
    let scores = setting.post("/scheduler/prioritize", body).await.json();
    assert_eq!(scores[0]["Host"], "gpu-1");
    let counted =
        "sluice_requests_total{endpoint=\"filter\",kind=\"Pod\",operation=\"none\",result=\"answered\"} 1";
    assert!(setting.counts(counted), "{}", setting.telemetry.text());
}

#[tokio::test]
async fn unready_panicking_late_and_shedding_are_answered_by_200_with_an_error() {
    let body = names(&["gpu-1"]).to_string();
    let error_of = async |setting: &Setting| {
        let answer = setting.post("/scheduler/filter", body.clone()).await;
        assert_eq!(answer.code.as_u16(), 200);
        answer.json()["Error"].as_str().unwrap().to_owned()
    };
    let setting = Setting::with(Limits {
        extender_timeout: std::time::Duration::from_millis(200),
        ..Limits::default()
    });
    assert_eq!(error_of(&setting).await, "", "control");
    setting.source.is(Mood::Panics);
    assert!(error_of(&setting).await.contains("defect"));
    setting.source.is(Mood::Slow(std::time::Duration::from_millis(250)));
    assert!(error_of(&setting).await.contains("in time"));
    setting.source.is(Mood::Well);
    setting.source.unready.store(true, std::sync::atomic::Ordering::Relaxed);
    assert!(error_of(&setting).await.contains("not ready"));
    assert!(error_of(&Setting::with(Limits { requests: 0, ..Limits::default() })).await.contains("busy"));
}

#[tokio::test]
async fn whole_nodes_may_take_64_mebibytes_and_names_8() {
    let setting =
        Setting::with(Limits { extender_timeout: std::time::Duration::from_secs(60), ..Limits::default() });
    let error_of = async |body: String| setting.post("/scheduler/filter", body).await.json()["Error"].clone();
    let padded = |mut args: String, length: usize| {
        args.insert_str(1, &" ".repeat(length - args.len()));
        args
    };
    let by_names = names(&["a"]).to_string();
    let by_nodes = json!({"Pod": pod(), "Nodes": {"items": [{"metadata": {"name": "a"}}]}}).to_string();
    assert_eq!(error_of(padded(by_names.clone(), 8 << 20)).await, "");
    assert_eq!(error_of(padded(by_names, (8 << 20) + 1)).await, "the body is larger than 8388608 bytes");
    assert_eq!(error_of(padded(by_nodes.clone(), 64 << 20)).await, "");
    assert_eq!(error_of(padded(by_nodes, (64 << 20) + 1)).await, "the body is larger than 67108864 bytes");
}

#[test]
fn the_reasons_that_are_our_own_are_documented_word_for_word() {
    let page = include_str!("../../../docs/extender.md");
    // What the scheduler's own filters say is never said in an answer to it.
    const IN_TREE: [&str; 8] = [
        "untolerated-taint",
        "node-affinity-mismatch",
        "node-too-small",
        "no-free-gpu",
        "no-free-slice",
        "no-free-resource",
        "too-many-pods",
        "host-port-taken",
    ];
    // Said of nodes in a question about victims, which has no reasons.
    let silent = |id: &str| IN_TREE.contains(&id) || id == "victim-protected";
    let nodes = rules::ALL.iter().filter(|rule| rule.applies == rules::Applies::Nodes && !silent(rule.id));
    let missing: Vec<&str> = nodes.map(|rule| reason(rule)).filter(|text| !page.contains(text)).collect();
    assert!(missing.is_empty(), "{missing:?}");
}

#[tokio::test]
async fn a_nominated_single_node_is_answered_as_one_of_many() {
    let setting = Setting::new();
    setting
        .source
        .world
        .store(crate::serve::tests::setting::world(&crate::serve::tests::setting::small_cluster()));
    for (node, fits) in [("gpu-1", true), ("deleted-1", false)] {
        let mut asked = names(&[node]);
        asked["Pod"]["status"] = json!({"nominatedNodeName": node});
        let answer = setting.post("/scheduler/filter", asked.to_string()).await.json();
        assert_eq!(answer["NodeNames"], if fits { json!([node]) } else { json!([]) });
        let unresolvable = &answer["FailedAndUnresolvableNodes"];
        assert_eq!(unresolvable[node].is_null(), fits, "{answer}");
        assert_eq!(answer["FailedNodes"], json!({}));
    }
}

#[tokio::test]
async fn a_pod_past_admission_is_counted_once() {
    let setting = Setting::new();
    let cluster = crate::serve::tests::setting::small_cluster();
    setting.source.world.store(crate::serve::tests::setting::world(&cluster));
    let mut asked = names(&["gpu-1"]);
    asked["Pod"]["metadata"]["uid"] = json!("u");
    for _ in 0..3 {
        setting.post("/scheduler/filter", asked.to_string()).await;
    }
    let counted = "sluice_admission_skipped_total{class=\"llm\"} 1";
    assert!(setting.counts(counted), "{}", setting.telemetry.text());
    asked["Pod"]["metadata"]["uid"] = json!("v");
    asked["Pod"]["metadata"]["annotations"] = json!({"sluice.dev/decision": "seen"});
    setting.post("/scheduler/filter", asked.to_string()).await;
    assert!(setting.counts(counted), "a stamped one does not count");
}
