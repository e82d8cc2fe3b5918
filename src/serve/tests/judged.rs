//! What is answered, counted and logged of a decision.

use std::{
    io,
    sync::{Arc, Mutex, atomic::Ordering},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::setting::{Setting, pod, priority_class, review, small_cluster, world};
use crate::{
    cluster::Cluster,
    policy::{self, SourceFile},
    rules,
    telemetry::log::{self, Format},
    world::World,
};

/// A server over the small cluster.
fn setting() -> Setting {
    let setting = Setting::new();
    setting.source.world.store(world(&small_cluster()));
    setting
}

async fn ask(setting: &Setting, path: &str, review: &Value) -> Value {
    setting.post(path, review.to_string()).await.json()["response"].clone()
}

/// What a Pod is after mutation.
async fn mutated(setting: &Setting, mut pod: Value) -> Value {
    let response = ask(setting, "/mutate", &review("CREATE", pod.clone())).await;
    let patch = BASE64_STANDARD.decode(response["patch"].as_str().unwrap_or_default()).unwrap();
    if !patch.is_empty() {
        json_patch::patch(&mut pod, &serde_json::from_slice::<json_patch::Patch>(&patch).unwrap()).unwrap();
    }
    pod
}

/// Policies that refuse everywhere but in namespaces with a label, over these objects.
fn observed_by_label(objects: &[Value]) -> Arc<World> {
    let policy = |name: &str, spec: &str| SourceFile {
        path: format!("{name}.yaml"),
        text: format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        ),
    };
    let files = [
        policy("all", "{action: deny}"),
        policy("observed", "{action: audit, namespaces: {labels: {matchLabels: {observed: 'yes'}}}}"),
    ];
    let set = policy::compile(&files, "test", &rules::ids()).expect("sound policies");
    let cluster = Cluster::from_documents(objects.to_vec()).expect("the objects can be read");
    Arc::new(World::new(Arc::new(set), cluster))
}

/// A Pod whose PriorityClass exists nowhere.
fn without_class() -> Value {
    let mut pod = pod();
    pod["spec"]["priorityClassName"] = json!("gold");
    pod
}

#[tokio::test]
async fn a_pod_is_steered_by_a_patch_that_can_be_applied_and_a_second_one_is_empty() {
    let setting = setting();
    let response = ask(&setting, "/mutate", &review("CREATE", pod())).await;
    assert_eq!(
        (&response["allowed"], &response["patchType"]),
        (&json!(true), &json!("JSONPatch")),
        "{response}"
    );
    let patched = mutated(&setting, pod()).await;
    assert_eq!(patched["spec"]["priorityClassName"], "gpu-llm", "{patched}");
    assert_eq!(response["auditAnnotations"]["class"], "llm");
    let again = ask(&setting, "/mutate", &review("CREATE", patched.clone())).await;
    assert_eq!((&again["allowed"], again.get("patch")), (&json!(true), None), "{again}");
    let validated = ask(&setting, "/validate", &review("CREATE", patched)).await;
    assert_eq!(validated["allowed"], true, "{validated}");
    let counted = "sluice_decisions_total{action=\"deny\",class=\"llm\",mode=\"exclusive\",pool=";
    assert!(setting.telemetry.text().contains(counted), "{}", setting.telemetry.text());
}

#[tokio::test]
async fn a_refusal_has_code_reason_and_text_and_mutation_leaves_it_to_validation() {
    let setting = setting();
    let refused = ask(&setting, "/validate", &review("CREATE", without_class())).await;
    assert_eq!(
        (&refused["allowed"], &refused["uid"]),
        (&json!(false), &review("", json!(0))["request"]["uid"])
    );
    let status = &refused["status"];
    assert_eq!((&status["code"], &status["reason"]), (&json!(403), &json!("Forbidden")));
    let message = status["message"].as_str().unwrap();
    assert!(message.starts_with("sluice refused Pod team-a/llm (class llm, by "), "{message}");
    assert!(message.contains("\npriorityclass-not-found  spec.priorityClassName: is gold"), "{message}");
    assert_eq!(refused.get("patch"), None);
    let mutated = ask(&setting, "/mutate", &review("CREATE", without_class())).await;
    assert_eq!(mutated["allowed"], true);
}

#[tokio::test]
async fn an_object_that_contradicts_itself_is_invalid() {
    let mut pod = pod();
    pod["spec"]["containers"][0]["resources"] =
        json!({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}});
    let setting = setting();
    let pod = mutated(&setting, pod).await;
    let response = ask(&setting, "/validate", &review("CREATE", pod)).await;
    assert_eq!(
        (&response["status"]["code"], &response["status"]["reason"]),
        (&json!(422), &json!("Invalid")),
        "{response}"
    );
}

#[tokio::test]
async fn refusals_are_counted_by_namespace_and_rule_and_dry_runs_are_not() {
    let setting = setting();
    let mut dry = review("CREATE", without_class());
    dry["request"]["dryRun"] = json!(true);
    let line = |count| {
        format!("sluice_refusals_total{{namespace=\"team-a\",rule=\"priorityclass-not-found\"}} {count}")
    };
    let dry_run = ask(&setting, "/validate", &dry).await;
    assert_eq!(dry_run["allowed"], false, "a dry run gets the same answer");
    ask(&setting, "/mutate", &dry).await;
    for family in ["sluice_refusals_total{", "sluice_findings_total{", "sluice_decisions_total{"] {
        assert!(!setting.telemetry.text().contains(family), "{}", setting.telemetry.text());
    }
    ask(&setting, "/validate", &review("CREATE", without_class())).await;
    assert!(setting.counts(&line(1)), "{}", setting.telemetry.text());
    ask(&setting, "/mutate", &review("CREATE", without_class())).await;
    assert!(setting.counts(&line(1)), "mutation refuses nothing");
    let refused =
        "sluice_requests_total{endpoint=\"validate\",kind=\"Pod\",operation=\"CREATE\",result=\"refused\"} 2";
    assert!(setting.counts(refused), "{}", setting.telemetry.text());
}

#[tokio::test]
async fn a_refusal_that_rests_on_something_missing_waits_for_it_to_show_up() {
    let setting = setting();
    let mut later = small_cluster();
    later.push(priority_class("gold"));
    *setting.source.next.lock().unwrap() = Some(world(&later));
    let response = ask(&setting, "/validate", &review("CREATE", without_class())).await;
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(!message.contains("priorityclass-not-found"), "{message}");
    assert!(setting.counts("sluice_absence_waits_total{endpoint=\"validate\",result=\"appeared\"} 1"));
}

#[tokio::test]
async fn a_policy_that_hangs_on_the_labels_of_a_namespace_waits_for_it() {
    let setting = setting();
    setting.source.world.store(observed_by_label(&small_cluster()));
    let mut later = small_cluster();
    later.push(json!({"apiVersion": "v1", "kind": "Namespace",
        "metadata": {"name": "team-a", "labels": {"observed": "yes"}}}));
    *setting.source.next.lock().unwrap() = Some(observed_by_label(&later));
    // Refused whatever the picture shows.
    let mut bound = pod();
    bound["spec"]["nodeName"] = json!("gpu-1");
    let response = ask(&setting, "/validate", &review("CREATE", bound)).await;
    assert_eq!(response["allowed"], true, "{response}");
    assert_eq!(setting.source.waits.load(Ordering::Relaxed), 1);
    // Now it is known, and nothing is waited for.
    ask(&setting, "/mutate", &review("CREATE", pod())).await;
    assert_eq!(setting.source.waits.load(Ordering::Relaxed), 1);
}

#[tokio::test]
async fn what_stays_missing_is_refused_after_one_wait() {
    let setting = setting();
    let response = ask(&setting, "/validate", &review("CREATE", without_class())).await;
    assert_eq!(response["allowed"], false);
    assert_eq!(setting.source.waits.load(Ordering::Relaxed), 1);
    assert!(setting.counts("sluice_absence_waits_total{endpoint=\"validate\",result=\"missing\"} 1"));
}

#[tokio::test]
async fn what_rests_on_nothing_missing_does_not_wait() {
    let setting = setting();
    ask(&setting, "/mutate", &review("CREATE", pod())).await;
    assert_eq!(setting.source.waits.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn objects_being_deleted_and_changes_of_metadata_are_let_through() {
    let setting = setting();
    let mut deleted = review("CREATE", without_class());
    deleted["request"]["object"]["metadata"]["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
    let mut updated = review("UPDATE", without_class());
    updated["request"]["oldObject"] = without_class();
    for review in [deleted, updated] {
        for path in ["/mutate", "/validate"] {
            let response = ask(&setting, path, &review).await;
            assert_eq!((&response["allowed"], response.get("patch")), (&json!(true), None), "{response}");
        }
    }
}

#[tokio::test]
async fn warnings_are_single_lines_below_120_characters() {
    let mut deployment = json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "llm", "namespace": "team-a"},
        "spec": {"replicas": 2, "selector": {"matchLabels": {"app": "llm"}},
                 "template": {"metadata": {"labels": {"app": "llm"}}}}
    });
    deployment["spec"]["template"]["spec"] = without_class()["spec"].clone();
    let response = ask(&setting(), "/validate", &review("CREATE", deployment)).await;
    let said: Vec<&str> =
        response["warnings"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let message = response["status"]["message"].as_str().unwrap_or_default();
    assert!(!said.is_empty() || !message.is_empty(), "{response}");
    assert!(said.iter().all(|line| line.chars().count() < 120 && !line.contains('\n')), "{said:?}");
}

#[tokio::test]
async fn the_size_of_the_picture_is_told() {
    let setting = setting();
    assert_eq!(setting.get("/metrics").await.code, 200);
    for line in ["{kind=\"Node\"} 1", "{kind=\"NodeShape\"} 1", "{kind=\"GpuPod\"} 0"] {
        assert!(setting.counts(&format!("sluice_picture_objects{line}")), "{}", setting.telemetry.text());
    }
    assert!(
        !setting.telemetry.text().contains("sluice_picture_age_seconds "),
        "a file without time has no age"
    );
}

/// Log lines in memory.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<Vec<u8>>>);

impl Lines {
    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

impl io::Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'w> MakeWriter<'w> for Lines {
    type Writer = Self;

    fn make_writer(&'w self) -> Self {
        self.clone()
    }
}

/// A Pod that does everything wrong with values that nobody may read in a log.
fn telling() -> Value {
    let mut pod = without_class();
    let container = &mut pod["spec"]["containers"][0];
    container["env"] = json!([
        {"name": "HF_TOKEN", "value": "hunter2"},
        {"name": "NVIDIA_VISIBLE_DEVICES", "value": "hunter2,all"}
    ]);
    container["args"] = json!(["--api-key", "hunter2"]);
    container["resources"] = json!({"requests": {"nvidia.com/gpu": "1"}, "limits": {"nvidia.com/gpu": "2"}});
    pod
}

#[tokio::test]
async fn no_log_line_holds_a_value_of_a_pod_s_environment() {
    for format in [Format::Json, Format::Text] {
        let (setting, lines) = (setting(), Lines::default());
        let guard =
            tracing::subscriber::set_default(log::subscriber(format, "trace", lines.clone()).unwrap());
        for path in ["/mutate", "/validate"] {
            ask(&setting, path, &review("CREATE", telling())).await;
        }
        let mut unreadable = telling();
        unreadable["spec"]["containers"][0]["ports"] = json!("hunter2");
        ask(&setting, "/validate", &review("CREATE", unreadable.clone())).await;
        let mut malformed = review("CREATE", telling());
        malformed["request"]["dryRun"] = json!("hunter2");
        setting.post("/validate", malformed.to_string()).await;
        let args = |pod: &Value| json!({"Pod": pod, "NodeNames": ["gpu-1"]}).to_string();
        setting.post("/scheduler/filter", args(&telling())).await;
        setting.post("/scheduler/filter", args(&unreadable)).await;
        drop(guard);
        let text = lines.text();
        assert!(!text.contains("hunter2"), "{text}");
        for told in ["priorityclass-not-found", "team-a", "asked for nodes", "malformed"] {
            assert!(text.contains(told), "{told} is told: {text}");
        }
        let decided = text.lines().filter(|line| line.contains("decided")).count();
        assert_eq!(decided, 2, "one line a decision: {text}");
        if format == Format::Json {
            for line in text.lines() {
                serde_json::from_str::<Value>(line).expect("every line is JSON");
            }
        }
    }
}
