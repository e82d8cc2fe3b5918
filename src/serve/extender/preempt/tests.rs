use serde_json::{Value, json};

use crate::serve::tests::setting::{Setting, pod, world};

/// Two whole L4s: one with a model that loads, one with a job.
fn setting() -> Setting {
    let node = |name: &str| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {
                   "nvidia.com/gpu.product": "NVIDIA-L4", "nvidia.com/gpu.count": "1",
                   "nvidia.com/gpu.replicas": "1", "nvidia.com/gpu.memory": "23034",
                   "nvidia.com/gpu.sharing-strategy": "none"}},
               "status": {"allocatable": {"cpu": "16", "pods": "110", "nvidia.com/gpu": "1"}}})
    };
    let tenant = |uid: &str, class: &str, node: &str| {
        let mut tenant = pod();
        tenant["metadata"] = json!({"name": uid, "namespace": "n", "uid": uid,
                                    "labels": {"sluice.dev/class": class}});
        tenant["spec"]["nodeName"] = json!(node);
        tenant["status"] = json!({"phase": "Running"});
        tenant
    };
    let objects = [node("g1"), node("g2"), tenant("chat", "llm", "g1"), tenant("old", "batch", "g2")];
    let setting = Setting::new();
    setting.source.world.store(world(&objects));
    setting
}

fn newcomer() -> Value {
    let mut pod = pod();
    pod["metadata"]["labels"] = json!({"sluice.dev/class": "embedding"});
    pod["spec"]["priority"] = json!(1_000);
    pod
}

async fn ask(setting: &Setting, body: Value) -> Value {
    let answer = setting.post("/scheduler/preempt", body.to_string()).await;
    assert_eq!((answer.code.as_u16(), answer.length), (200, Some(answer.text.len() as u64)));
    answer.json()
}

#[tokio::test]
async fn nodes_with_spared_pods_are_left_out_and_the_others_come_back_by_uid() {
    let setting = setting();
    let offered = json!({"g1": {"Pods": [{"UID": "chat"}], "NumPDBViolations": 1},
                         "g2": {"Pods": [{"UID": "old"}], "NumPDBViolations": 2}});
    let body = json!({"Pod": newcomer(), "NodeNameToVictims": null, "NodeNameToMetaVictims": offered});
    let want = json!({"NodeNameToMetaVictims": {"g2": {"Pods": [{"UID": "old"}], "NumPDBViolations": 2}}});
    assert_eq!(ask(&setting, body).await, want);
    for line in [
        "sluice_preemption_spared_total{class=\"llm\",reason=\"protected\"} 1",
        "sluice_preemption_victims_total{class=\"batch\"} 1",
    ] {
        assert!(setting.counts(line), "{line}\n{}", setting.telemetry.text());
    }
}

#[tokio::test]
async fn whole_pods_and_any_casing_are_read_and_answered_by_uid() {
    let setting = setting();
    let whole = json!({"metadata": {"name": "old", "uid": "old"}, "spec": {}});
    let body =
        json!({"pod": newcomer(), "nodenametovictims": {"g2": {"pods": [whole], "numPDBviolations": 0}}});
    let want = json!({"NodeNameToMetaVictims": {"g2": {"Pods": [{"UID": "old"}], "NumPDBViolations": 0}}});
    assert_eq!(ask(&setting, body).await, want);
}

#[tokio::test]
async fn an_empty_offer_is_no_error_and_is_never_answered_by_an_empty_list() {
    // The contract of 1.38: a node that only we find short comes with nobody.
    let setting = setting();
    for empty in [json!({"Pods": [], "NumPDBViolations": 0}), json!({"Pods": null}), Value::Null] {
        let body = json!({"Pod": newcomer(), "NodeNameToMetaVictims": {"g1": empty}});
        let answer = ask(&setting, body).await;
        let given = answer["NodeNameToMetaVictims"].as_object().unwrap();
        assert!(given.values().all(|victims| !victims["Pods"].as_array().unwrap().is_empty()), "{answer}");
    }
    let nothing = ask(&setting, json!({"Pod": newcomer(), "NodeNameToMetaVictims": null})).await;
    assert_eq!(nothing, json!({"NodeNameToMetaVictims": {}}));
}

#[tokio::test]
async fn malformed_questions_get_an_error_and_let_nobody_go() {
    let setting = setting();
    let uid = json!({"g1": {"Pods": [{"name": "x"}]}});
    for (body, want) in [
        (json!({}), "Pod is missing"),
        (json!([]), "invalid type"),
        (json!({"Pod": newcomer(), "NodeNameToMetaVictims": []}), "invalid type"),
        (json!({"Pod": newcomer(), "NodeNameToMetaVictims": uid}), "missing field `metadata`"),
    ] {
        let answer = ask(&setting, body).await;
        assert!(answer["Error"].as_str().unwrap().contains(want), "{answer}");
        assert_eq!(answer["NodeNameToMetaVictims"], Value::Null);
    }
}
