use std::{sync::atomic::Ordering, time::Duration};

use axum::http::StatusCode;
use serde_json::{Value, json};

use super::setting::{Mood, Setting, pod, review};
use crate::serve::Limits;

const UID: &str = "705ab4f5-6393-11e8-b7cc-42010a800002";

async fn ask(setting: &Setting, path: &str, review: &Value) -> Value {
    let answer = setting.post(path, review.to_string()).await;
    assert_eq!(answer.code, StatusCode::OK, "{}", answer.text);
    assert_eq!(answer.length, Some(answer.text.len() as u64), "its length is announced");
    answer.json()
}

#[tokio::test]
async fn uid_and_version_are_echoed() {
    let setting = Setting::new();
    for path in ["/mutate", "/validate", "/mutate?timeout=2s"] {
        let answer = ask(&setting, path, &review("CREATE", pod())).await;
        assert_eq!(answer["apiVersion"], "admission.k8s.io/v1");
        assert_eq!(answer["kind"], "AdmissionReview");
        assert_eq!(answer["response"]["uid"], UID);
        assert!(answer["response"]["allowed"].is_boolean());
    }
}

#[tokio::test]
async fn patch_and_patch_type_come_together_or_not_at_all() {
    let setting = Setting::new();
    let answer = ask(&setting, "/mutate", &review("CREATE", pod())).await;
    let response = &answer["response"];
    assert_eq!(response.get("patch").is_some(), response.get("patchType").is_some(), "{response}");
    let answer = ask(&setting, "/validate", &review("CREATE", pod())).await;
    assert_eq!(answer["response"].get("patch"), None);
}

#[tokio::test]
async fn deletions_connections_and_status_are_allowed_without_a_look_at_the_object() {
    let setting = Setting::new();
    let mut status = review("UPDATE", pod());
    status["request"]["subResource"] = json!("status");
    for review in
        [review("DELETE", Value::Null), review("CONNECT", json!({"kind": "PodExecOptions"})), status]
    {
        for path in ["/mutate", "/validate"] {
            let answer = ask(&setting, path, &review).await;
            assert_eq!(answer["response"], json!({"uid": UID, "allowed": true}), "{review}");
        }
    }
    assert_eq!(setting.source.loads.load(Ordering::Relaxed), 0);
}

#[tokio::test]
async fn a_kind_that_is_none_of_our_business_is_allowed() {
    let setting = Setting::new();
    let lease = json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"}});
    let answer = ask(&setting, "/validate", &review("CREATE", lease)).await;
    assert_eq!(answer["response"], json!({"uid": UID, "allowed": true}));
}

#[tokio::test]
async fn malformed_bodies_get_a_status_with_a_reason() {
    let without = |pointer: &str| {
        let mut review = review("CREATE", pod());
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        review.pointer_mut(parent).unwrap().as_object_mut().unwrap().remove(key);
        review.to_string()
    };
    let with = |pointer: &str, value: Value| {
        let mut review = review("CREATE", pod());
        *review.pointer_mut(pointer).unwrap() = value;
        review.to_string()
    };
    let deep = format!("{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let table = [
        (String::new(), "not JSON: EOF"),
        ("hello".to_owned(), "not JSON: expected value at line 1 column 1"),
        ("{\"apiVersion\": \"admission.k8s.io/v1\",".to_owned(), "not JSON: EOF"),
        ("[]".to_owned(), "not an AdmissionReview"),
        ("null".to_owned(), "not an AdmissionReview"),
        ("{}".to_owned(), "expected apiVersion admission.k8s.io/v1 and kind AdmissionReview"),
        (pod().to_string(), "expected apiVersion admission.k8s.io/v1 and kind AdmissionReview"),
        (with("/apiVersion", json!("admission.k8s.io/v1beta1")), "admissionReviewVersions"),
        (with("/request", Value::Null), "request is missing"),
        (with("/request", json!(7)), "not an AdmissionReview: request:"),
        (without("/request/uid"), "missing field `uid`"),
        (with("/request/uid", json!("")), "request.uid is empty"),
        (with("/request/uid", json!(3)), "request.uid: invalid type"),
        (with("/request/operation", json!("PATCH")), "request.operation is \"PATCH\""),
        (without("/request/object"), "request.object is missing"),
        (with("/request/dryRun", json!("yes")), "request.dryRun: invalid type"),
        (with("/request/userInfo", json!({"groups": 1})), "request.userInfo.groups: invalid type"),
        (format!("{}x", review("CREATE", pod())), "more follows after its end"),
        (with("/request/object", json!("x")).replace("\"x\"", &deep), "recursion limit"),
    ];
    let setting = Setting::new();
    for path in ["/mutate", "/validate"] {
        for (body, want) in &table {
            let answer = setting.post(path, body.clone()).await;
            let status = answer.json();
            assert_eq!(answer.code, StatusCode::BAD_REQUEST, "{want}");
            assert_eq!((&status["kind"], &status["apiVersion"]), (&json!("Status"), &json!("v1")));
            assert_eq!((&status["code"], &status["reason"]), (&json!(400), &json!("BadRequest")));
            let message = status["message"].as_str().unwrap();
            assert!(message.contains(want), "{message} does not contain {want}");
        }
    }
    let counted = format!(
        "sluice_requests_total{{endpoint=\"mutate\",kind=\"none\",operation=\"none\",result=\"malformed\"}} {}",
        table.len()
    );
    assert!(setting.counts(&counted), "{}", setting.telemetry.text());
}

#[tokio::test]
async fn bytes_that_are_not_utf8_are_malformed_too() {
    let setting = Setting::new();
    let text = review("CREATE", pod()).to_string();
    let inside_image = text.find("vllm-openai").unwrap();
    let mut body = text.into_bytes();
    body[inside_image] = 0xff;
    assert_eq!(setting.post("/mutate", body).await.code, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn an_object_of_our_kind_that_cannot_be_read_is_refused_by_validation_only() {
    let setting = Setting::new();
    let mut broken = pod();
    broken["spec"]["containers"] = json!("none");
    let validated = ask(&setting, "/validate", &review("CREATE", broken.clone())).await;
    assert_eq!(validated["response"]["allowed"], false);
    assert_eq!(validated["response"]["status"]["code"], 422);
    let message = validated["response"]["status"]["message"].as_str().unwrap();
    assert!(message.contains("spec.containers"), "{message}");
    let mutated = ask(&setting, "/mutate", &review("CREATE", broken)).await;
    assert_eq!(mutated["response"]["allowed"], true);
    let warning = mutated["response"]["warnings"][0].as_str().unwrap();
    assert!(warning.contains("spec.containers") && warning.len() < 120, "{warning}");
}

#[tokio::test]
async fn eight_mebibytes_are_read_and_one_byte_more_is_not() {
    let setting = Setting::new();
    let limit = Limits::default().admission_body;
    let mut body = review("CREATE", pod()).to_string();
    body.insert_str(1, &" ".repeat(limit - body.len()));
    assert_eq!(body.len(), 8 << 20);
    assert_eq!(setting.post("/mutate", body.clone()).await.code, StatusCode::OK);
    body.insert(1, ' ');
    let announced = setting.post("/mutate", body.clone()).await;
    assert_eq!(announced.code, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(announced.json()["reason"], "RequestEntityTooLarge");
    let chunks =
        body.into_bytes().chunks(65_536).map(|c| Ok::<_, std::io::Error>(c.to_vec())).collect::<Vec<_>>();
    let unannounced = axum::body::Body::from_stream(futures::stream::iter(chunks));
    assert_eq!(setting.post("/mutate", unannounced).await.code, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn before_readiness_admission_answers_503() {
    let setting = Setting::new();
    setting.source.unready.store(true, Ordering::Relaxed);
    let answer = setting.post("/validate", review("CREATE", pod()).to_string()).await;
    assert_eq!(
        (answer.code, &answer.json()["reason"]),
        (StatusCode::SERVICE_UNAVAILABLE, &json!("ServiceUnavailable"))
    );
    let ready = setting.get("/readyz").await;
    assert_eq!(ready.code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(ready.text.contains("missing: nodes\n"), "{}", ready.text);
    setting.source.unready.store(false, Ordering::Relaxed);
    assert_eq!(setting.post("/validate", review("CREATE", pod()).to_string()).await.code, StatusCode::OK);
    let ready = setting.get("/readyz").await;
    assert_eq!(ready.code, StatusCode::OK);
    assert!(ready.text.contains("note: policies/pools.yaml:3:1: unknown field `mod`\n"), "{}", ready.text);
}

#[tokio::test]
async fn a_panic_is_answered_by_503_and_counted_and_the_next_request_is_judged() {
    let setting = Setting::new();
    setting.source.is(Mood::Panics);
    let answer = setting.post("/mutate", review("CREATE", pod()).to_string()).await;
    assert_eq!(answer.code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(!answer.text.contains("hunter2"), "{}", answer.text);
    assert!(setting.counts("sluice_panics_total{endpoint=\"mutate\"} 1"));
    assert!(setting.counts("sluice_requests_in_flight{endpoint=\"mutate\"} 0"));
    setting.source.is(Mood::Well);
    assert_eq!(setting.post("/mutate", review("CREATE", pod()).to_string()).await.code, StatusCode::OK);
}

#[tokio::test]
async fn a_decision_past_the_deadline_is_answered_by_503() {
    let setting = Setting::new();
    setting.source.is(Mood::Slow(Duration::from_millis(300)));
    let body = review("CREATE", pod()).to_string();
    assert_eq!(
        setting.post("/mutate?timeout=250ms", body.clone()).await.code,
        StatusCode::SERVICE_UNAVAILABLE
    );
    assert!(setting.counts(
        "sluice_requests_total{endpoint=\"mutate\",kind=\"none\",operation=\"none\",result=\"late\"} 1"
    ));
    assert_eq!(setting.post("/mutate?timeout=20s", body).await.code, StatusCode::OK);
}

#[tokio::test]
async fn a_body_that_does_not_end_is_given_up_at_the_deadline() {
    let setting = Setting::new();
    let endless =
        axum::body::Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let answer = setting.post("/mutate?timeout=200ms", endless).await;
    assert_eq!(answer.code, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.text.contains("in time"), "{}", answer.text);
}

#[tokio::test]
async fn what_does_not_fit_is_shed_at_once() {
    let setting = Setting::with(Limits { requests: 1, ..Limits::default() });
    let endless =
        axum::body::Body::from_stream(futures::stream::pending::<Result<Vec<u8>, std::io::Error>>());
    let body = review("CREATE", pod()).to_string();
    let (first, second) = tokio::join!(setting.post("/mutate?timeout=1s", endless), async {
        tokio::task::yield_now().await;
        setting.post("/validate", body.clone()).await
    });
    assert_eq!((first.code, second.code), (StatusCode::SERVICE_UNAVAILABLE, StatusCode::SERVICE_UNAVAILABLE));
    assert!(second.text.contains("busy"), "{}", second.text);
    assert!(setting.counts("sluice_requests_shed_total{endpoint=\"validate\",reason=\"requests\"} 1"));
    assert_eq!(setting.post("/validate", body).await.code, StatusCode::OK, "room is given back");
}

#[tokio::test]
async fn other_methods_and_paths_are_not_served() {
    let setting = Setting::new();
    assert_eq!(setting.get("/mutate").await.code, StatusCode::NOT_FOUND, "the status port has no webhooks");
    assert_eq!(setting.post("/metrics", "").await.code, StatusCode::NOT_FOUND);
    assert_eq!(setting.get("/healthz").await.text, "ok\n");
}
