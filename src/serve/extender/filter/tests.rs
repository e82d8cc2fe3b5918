use std::sync::LazyLock;

use serde_json::{Value, json};

use super::*;
use crate::{
    decide::Promised,
    live::ledger::Ledger,
    rules::Rule,
    serve::{
        Limits,
        extender::wire::Args,
        tests::setting::{Setting, pod},
    },
};

const FULL: &str = "no-free-slice";
const NO_MIG: &str = "mig-unsupported-hardware";

fn rule(id: &str) -> &'static Rule {
    rules::find(id).unwrap()
}

/// Nodes named `full-…` are busy, `old-…` impossible, the rest fit; the later a letter, the better. Of those
/// that begin with `own` only we keep the account.
fn by_name(name: &str) -> Result<(Fit, Option<&'static Arc<str>>), Failure> {
    static OWN: LazyLock<[Arc<str>; 4]> =
        LazyLock::new(|| ["own-a", "own-b", "own-c", "own-d"].map(Arc::from));
    let account = OWN.iter().find(|own| ***own == *name);
    let fit = match name.split_once('-') {
        Some(("full", _)) => Fit::Busy(rule(FULL)),
        Some(("old", _)) => Fit::Never(rule(NO_MIG)),
        _ => Fit::Yes(Score { packing: name.bytes().last().unwrap_or(b'a') - b'a', ..Score::default() }),
    };
    Ok((fit, account))
}

fn filtered(args: &Value) -> Value {
    let body = args.to_string();
    let args = Args::parse(body.as_bytes()).unwrap();
    let sorted = sort(&args.nodes, &alone(), by_name).unwrap();
    answer_of(&args.nodes, sorted)
}

fn names(names: &[&str]) -> Value {
    json!({"Pod": pod(), "Nodes": null, "NodeNames": names})
}

#[test]
fn names_are_answered_by_names_and_every_rejected_node_is_in_one_map() {
    let answer = filtered(&names(&["a", "full-1", "old-1", "c", "full-2"]));
    let want = json!({
        "Nodes": null,
        "NodeNames": ["a", "c"],
        "FailedNodes": {"full-1": reason(rule(FULL)), "full-2": reason(rule(FULL))},
        "FailedAndUnresolvableNodes": {"old-1": reason(rule(NO_MIG))},
        "Error": ""
    });
    assert_eq!(answer, want);
}

#[test]
fn nodes_are_answered_by_nodes_as_they_came() {
    let node = |name: &str| {
        json!({"metadata": {"name": name, "labels": {"a/b": "ü\n"}}, "spec": {"unknownToUs": [1, 2.50]},
               "status": {"images": [{"names": ["x"]}]}})
    };
    let items = ["b", "old-2", "full-3", "d"].map(node);
    let answer =
        filtered(&json!({"Pod": pod(), "Nodes": {"metadata": {}, "items": items}, "NodeNames": null}));
    let want = json!({
        "Nodes": {"metadata": {}, "items": [node("b"), node("d")]},
        "NodeNames": null,
        "FailedNodes": {"full-3": reason(rule(FULL))},
        "FailedAndUnresolvableNodes": {"old-2": reason(rule(NO_MIG))},
        "Error": ""
    });
    assert_eq!(answer, want);
}

#[test]
fn an_empty_list_gets_an_empty_result_and_not_null() {
    assert_eq!(filtered(&names(&[]))["NodeNames"], json!([]));
    for items in [json!([]), Value::Null] {
        let answer = filtered(&json!({"Pod": pod(), "Nodes": {"items": items}}));
        assert_eq!((&answer["Nodes"]["items"], &answer["NodeNames"]), (&json!([]), &Value::Null));
    }
    let nobody = filtered(&names(&["old-1"]));
    assert_eq!(nobody["NodeNames"], json!([]), "null would mean that the field was not meant");
}

#[test]
fn any_casing_is_read_as_go_reads_it() {
    for (pod_key, names_key) in [("pod", "nodenames"), ("POD", "NODENAMES"), ("Pod", "nodeNames")] {
        let answer = filtered(&json!({pod_key: pod(), names_key: ["a"], "unknown": {"a": [1]}}));
        assert_eq!(answer["NodeNames"], json!(["a"]));
    }
    let answer = filtered(&json!({"pod": pod(), "nodes": {"Items": [{"metadata": {"name": "a"}}]}}));
    assert_eq!(answer["Nodes"]["items"], json!([{"metadata": {"name": "a"}}]));
}

#[test]
fn names_with_escapes_are_read_too() {
    let body = r#"{"Pod": {}, "NodeN\u0061mes": ["n\u006fde-z"]}"#;
    let args = Args::parse(body.as_bytes()).unwrap();
    assert_eq!(args.nodes.names().collect::<Vec<_>>(), ["node-z"]);
}

#[test]
fn a_late_answer_is_an_error_and_not_a_part_of_one() {
    let body = names(&["a", "b"]).to_string();
    let args = Args::parse(body.as_bytes()).unwrap();
    let mut late = |name: &str| if name == "a" { by_name(name) } else { Err(Failure::Late) };
    assert_eq!(sort(&args.nodes, &alone(), &mut late).err(), Some(Failure::Late));
}

/// Nobody else is there.
fn alone() -> Page {
    let ledger = Ledger::new(std::time::Duration::ZERO);
    let version = ledger.open(&crate::serve::tests::setting::world(&[]), "", Clock::now()).version;
    Page { promised: Promised::NONE, version, sharers: 1 }
}

fn answer_of(nodes: &Nodes<'_>, sorted: Sorted<'_>) -> Value {
    let mut result = sorted.result;
    nodes.keep(&sorted.kept, &mut result);
    serde_json::from_slice(&result.encode()).unwrap()
}

#[test]
fn where_pods_stand_in_each_others_way_the_best_part_is_offered_and_the_rest_kept_for_others() {
    let body = names(&["own-a", "b", "own-d", "own-c", "own-b"]).to_string();
    let nodes = Args::parse(body.as_bytes()).unwrap().nodes;
    let sorted = sort(&nodes, &alone(), by_name).unwrap();
    assert_eq!((sorted.kept.len(), sorted.promised.len()), (5, 4), "control: nobody waits");
    let sorted = sort(&nodes, &Page { sharers: 2, ..alone() }, by_name).unwrap();
    assert_eq!(sorted.promised.iter().map(|own| &**own).collect::<Vec<_>>(), ["own-c", "own-d"]);
    let answer = answer_of(&nodes, sorted);
    assert_eq!(answer["NodeNames"], json!(["b", "own-d", "own-c"]));
    let promised = reason(&rules::ROOM_PROMISED);
    assert_eq!(answer["FailedNodes"], json!({"own-a": promised, "own-b": promised}));
}

/// One T4 in eight shares a node; class `lone` sits alone on a card.
fn one_each(nodes: &[&str], bound: &[(&str, &str)]) -> Arc<crate::world::World> {
    let class = "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {name: lone}\n\
                 spec: {pools: [{mode: time-slicing}], sharing: {maxTenants: 1}}\n";
    let files = [crate::policy::SourceFile { path: "lone.yaml".into(), text: class.into() }];
    let policies = crate::policy::compile(&files, "test", &rules::ids()).unwrap();
    let node = |name: &&str| {
        json!({
            "apiVersion": "v1", "kind": "Node",
            "metadata": {"name": name, "labels": {
                "nvidia.com/gpu.product": "Tesla-T4-SHARED", "nvidia.com/gpu.count": "1",
                "nvidia.com/gpu.replicas": "8", "nvidia.com/gpu.memory": "15360",
                "nvidia.com/gpu.sharing-strategy": "time-slicing"}},
            "status": {"allocatable": {"cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8"}}
        })
    };
    let tenant = |(uid, node): &(&str, &str)| {
        let mut pod = lone(uid);
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["spec"]["nodeName"] = json!(node);
        pod
    };
    let objects = nodes.iter().map(node).chain(bound.iter().map(tenant));
    let cluster = crate::cluster::Cluster::from_documents(objects).unwrap();
    Arc::new(crate::world::World::new(Arc::new(policies), cluster))
}

fn lone(uid: &str) -> Value {
    let gpu = json!({"nvidia.com/gpu": "1"});
    json!({
        "metadata": {"name": uid, "namespace": "n", "uid": uid, "labels": {"sluice.dev/class": "lone"},
                     "annotations": {"sluice.dev/decision": "seen"}},
        "spec": {"containers": [{"name": "c", "image": "i", "resources": {"requests": gpu, "limits": gpu}}]}
    })
}

/// A server past its first questions.
async fn asked_before(limits: Limits) -> Setting {
    let setting = Setting::with(Limits { promise: std::time::Duration::from_millis(300), ..limits });
    setting.source.world.store(one_each(&["n1", "n2"], &[]));
    ask(&setting, "first", &[]).await;
    tokio::time::sleep(std::time::Duration::from_millis(300)).await;
    setting
}

async fn ask(setting: &Setting, uid: &str, nodes: &[&str]) -> Value {
    let body = json!({"Pod": lone(uid), "NodeNames": nodes}).to_string();
    let answer = setting.post("/scheduler/filter", body).await.json();
    assert_eq!(answer["Error"], "");
    answer
}

#[tokio::test]
async fn room_that_only_we_keep_the_account_of_is_not_promised_twice() {
    let setting = asked_before(Limits::default()).await;
    let promised = reason(&rules::ROOM_PROMISED);
    assert_eq!(ask(&setting, "a", &["n1", "n2"]).await["NodeNames"], json!(["n1", "n2"]));
    assert_eq!(ask(&setting, "a", &["n1", "n2"]).await["NodeNames"], json!(["n1", "n2"]), "asked again");
    let second = ask(&setting, "b", &["n1", "n2"]).await;
    assert_eq!(second["NodeNames"], json!([]));
    assert_eq!(second["FailedNodes"], json!({"n1": promised, "n2": promised}));
    assert!(setting.counts("sluice_promise_waits_total{result=\"busy\"} 1"), "{}", setting.telemetry.text());
    // Its binding shows: the other node is free again.
    setting.source.world.store(one_each(&["n1", "n2"], &[("a", "n2")]));
    let second = ask(&setting, "b", &["n1", "n2"]).await;
    assert_eq!(second["NodeNames"], json!(["n1"]));
    assert_eq!(second["FailedNodes"]["n2"], reason(&rules::COLOCATION_LIMIT));
    assert!(setting.counts("sluice_promises 1"), "{}", setting.telemetry.text());
}

#[tokio::test]
async fn a_pod_that_finds_only_promised_room_is_answered_as_soon_as_there_is_some() {
    let setting = asked_before(Limits::default()).await;
    ask(&setting, "a", &["n1", "n2"]).await;
    // The World after the wait.
    *setting.source.next.lock().unwrap() = Some(one_each(&["n1", "n2"], &[("a", "n1")]));
    assert_eq!(ask(&setting, "b", &["n1", "n2"]).await["NodeNames"], json!(["n2"]));
    assert!(
        setting.counts("sluice_promise_waits_total{result=\"settled\"} 1"),
        "{}",
        setting.telemetry.text()
    );
}

#[tokio::test]
async fn without_a_ledger_the_same_room_is_promised_twice() {
    let setting = Setting::with(Limits { promise: std::time::Duration::ZERO, ..Limits::default() });
    setting.source.world.store(one_each(&["n1"], &[]));
    for uid in ["a", "b"] {
        assert_eq!(ask(&setting, uid, &["n1"]).await["NodeNames"], json!(["n1"]), "the control");
    }
}

#[tokio::test]
async fn a_new_instance_holds_such_room_back_for_as_long_as_a_promise_lasts() {
    let promise = std::time::Duration::from_millis(300);
    let setting = Setting::with(Limits { promise, ..Limits::default() });
    setting.source.world.store(one_each(&["n1"], &[]));
    assert_eq!(ask(&setting, "a", &["n1"]).await["FailedNodes"]["n1"], reason(&rules::ROOM_PROMISED));
    tokio::time::sleep(promise).await;
    assert_eq!(ask(&setting, "a", &["n1"]).await["NodeNames"], json!(["n1"]));
}
