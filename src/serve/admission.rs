//! `/mutate` and `/validate`: decode, decide, encode.
//!
//! Mutation never refuses: it lets objects through unchanged at worst, and validation judges the final
//! object. Only a judged request gets an AdmissionResponse. Whatever else happens is an HTTP error, so that
//! the webhook's failurePolicy decides and the API server counts it; its body is a `Status`, because the
//! API server shows the message of one to the caller and drops any other body (client-go `rest.Result`).
//! No `Retry-After` goes with it: client-go would sleep and ask again in place of going on.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{StatusCode, header},
    response::Response,
};
use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use tokio::time::Instant as Deadline;

use super::{
    clock::now,
    gate::{Failure, Gate},
    review::{AdmissionRequest, AdmissionResponse, Status},
};
use crate::{
    decide::{Decision, Verdict, decide},
    policy::Severity,
    report,
    rules::{self, Family, Finding},
    subject::{self, Kinds, Operation, Reading, Stage, Subject},
    telemetry::{self, Endpoint, Judged, Outcome, Request as Counted},
    world::World,
};

/// `POST /mutate`
pub(super) async fn mutate(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    admit(&gate, Endpoint::Mutate, request).await
}

/// `POST /validate`
pub(super) async fn validate(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    admit(&gate, Endpoint::Validate, request).await
}

/// A request with its answer.
struct Admitted {
    kind: String,
    operation: &'static str,
    outcome: Outcome,
    answer: Vec<u8>,
    judged: Option<JudgedSubject>,
}

/// What was judged and how; told to logs and metrics once the answer is in time.
struct JudgedSubject {
    uid: String,
    subject: Box<Subject>,
    decision: Decision,
    world: Arc<World>,
    took: Duration,
}

async fn admit(gate: &Gate, endpoint: Endpoint, request: Request) -> Response {
    let started = Instant::now();
    let _in_flight = gate.telemetry.in_flight(endpoint);
    let passed = gate.pass(endpoint, request, |body, deadline| answer(gate, endpoint, body, deadline)).await;
    let (kind, operation, outcome) = match &passed {
        Ok(admitted) => (admitted.kind.as_str(), admitted.operation, admitted.outcome),
        Err(failure) => ("", "", failure.outcome()),
    };
    gate.telemetry.request(&Counted { endpoint, kind, operation, outcome, took: started.elapsed() });
    match passed {
        Ok(admitted) => {
            if let Some(judged) = &admitted.judged {
                tell(gate, endpoint, judged);
            }
            json(StatusCode::OK, admitted.answer)
        }
        Err(failure) => {
            telemetry::log::not_judged(endpoint, outcome);
            failed(&failure)
        }
    }
}

async fn answer(
    gate: &Gate,
    endpoint: Endpoint,
    body: Bytes,
    deadline: Deadline,
) -> Result<Admitted, Failure> {
    let mut request = AdmissionRequest::parse(&body)?;
    drop(body);
    let operation = request.operation()?;
    let (kind, uid) = (std::mem::take(&mut request.kind.kind), std::mem::take(&mut request.uid));
    let finish = |outcome, response: AdmissionResponse, judged| {
        let answer = response.encode().map_err(|error| Failure::Malformed(error.to_string()))?;
        Ok(Admitted { kind, operation: operation.as_str(), outcome, answer, judged })
    };
    if matches!(operation, Operation::Delete | Operation::Connect) || is_status(&request) {
        return finish(Outcome::Allowed, AdmissionResponse::allowed(uid), None);
    }
    let stage = if endpoint == Endpoint::Mutate { Stage::Mutate } else { Stage::Validate };
    let Some((object, facts)) = request.take(stage, operation, now()) else {
        return Err(Failure::Malformed("request.object is missing".to_owned()));
    };
    let world = gate.source.load();
    let kinds = Kinds { added: &world.template_kinds, search: false };
    match subject::read_as(object, request.namespace.as_deref(), facts, kinds) {
        Reading::NotOurs => finish(Outcome::Allowed, AdmissionResponse::allowed(uid), None),
        Reading::Unreadable(unreadable) => {
            let (outcome, response) = unread(stage, uid, &unreadable);
            finish(outcome, response, None)
        }
        Reading::Subject(subject) => {
            let judged = judge(gate, (endpoint, deadline), uid, subject).await;
            let (outcome, response) = respond(stage, &judged);
            finish(outcome, response, Some(judged))
        }
    }
}

/// The kubelet's and the controllers' reports: never ours, and never to be held up.
fn is_status(request: &AdmissionRequest) -> bool {
    request.sub_resource.as_deref() == Some("status")
}

/// One decision, and a second one where it rests on something that the picture may show any moment: a refusal
/// on what is missing, a policy on the labels of a Namespace. GitOps applies Namespace, PriorityClass and
/// Deployment within milliseconds.
async fn judge(
    gate: &Gate,
    (endpoint, deadline): (Endpoint, Deadline),
    uid: String,
    subject: Box<Subject>,
) -> JudgedSubject {
    let started = Instant::now();
    let world = gate.source.load();
    let decision = decide(&world, &subject);
    let took = started.elapsed();
    gate.telemetry.decided(endpoint, took);
    if !rests_on_absence(&decision) {
        return JudgedSubject { uid, subject, decision, world, took };
    }
    let enough = |world: &World| !rests_on_absence(&decide(world, &subject));
    // Half of what is left, at most: the answer has to be made and sent as well.
    let left = deadline.saturating_duration_since(Deadline::now()) / 2;
    let world = gate.source.wait_for(&enough, gate.limits.absence_wait.min(left)).await;
    let decision = decide(&world, &subject);
    gate.telemetry.waited(endpoint, !rests_on_absence(&decision));
    JudgedSubject { uid, subject, decision, world, took }
}

fn rests_on_absence(decision: &Decision) -> bool {
    let missing = |finding: &Finding| finding.on_absence && finding.severity == Severity::Deny;
    decision.awaits_namespace || decision.findings.iter().any(missing)
}

fn respond(stage: Stage, judged: &JudgedSubject) -> (Outcome, AdmissionResponse) {
    let JudgedSubject { uid, subject, decision, .. } = judged;
    let mut response = AdmissionResponse::allowed(uid.clone());
    if !decision.relevant {
        return (Outcome::Allowed, response);
    }
    response.warnings = report::warnings(decision);
    response.audit_annotations = report::audit_annotations(subject, decision);
    if stage == Stage::Validate && decision.verdict == Verdict::Deny {
        let (code, reason) = refusal_code(decision);
        let refused =
            AdmissionResponse::refused(uid.clone(), code, reason, report::refusal(subject, decision));
        return (Outcome::Refused, AdmissionResponse { status: refused.status, allowed: false, ..response });
    }
    if stage == Stage::Mutate {
        response.patch = patch(decision, subject);
        response.patch_type = response.patch.as_ref().map(|_| "JSONPatch");
    }
    let outcome = match (&response.patch, response.warnings.is_empty()) {
        (Some(_), _) => Outcome::Patched,
        (None, false) => Outcome::Warned,
        (None, true) => Outcome::Allowed,
    };
    (outcome, response)
}

fn patch(decision: &Decision, subject: &Subject) -> Option<String> {
    let patch = decision.patch(&subject.raw);
    let json = if patch.0.is_empty() { None } else { serde_json::to_vec(&patch).ok() };
    json.map(|json| BASE64_STANDARD.encode(json))
}

/// An object that contradicts itself is invalid anywhere (422); what this cluster or its policies cannot
/// allow is forbidden here (403). Ways around the gate are forbidden, however they are written.
fn refusal_code(decision: &Decision) -> (u16, &'static str) {
    let mut refusing = decision.findings.iter().filter(|finding| finding.severity == Severity::Deny);
    let contradicts_itself = refusing.all(|finding| {
        rules::find(finding.rule).is_some_and(|rule| rule.needs.is_empty() && rule.family != Family::Bypass)
    });
    if contradicts_itself { (422, "Invalid") } else { (403, "Forbidden") }
}

/// An object of our kind with a field of a wrong type. The API server decodes its own kinds strictly, so
/// this is a Pod that cannot exist, or a custom resource whose template is not one: the Pod is invalid,
/// about the other only something is said.
fn unread(stage: Stage, uid: String, unreadable: &subject::Unreadable) -> (Outcome, AdmissionResponse) {
    if stage == Stage::Validate && unreadable.kind == "Pod" {
        let message = format!("sluice cannot read {unreadable}");
        return (Outcome::Refused, AdmissionResponse::refused(uid, 422, "Invalid", message));
    }
    let warning = format!("sluice cannot judge this {}: {} cannot be read", unreadable.kind, unreadable.path);
    let warnings = vec![warning.chars().filter(|c| !c.is_control()).take(119).collect()];
    (Outcome::Warned, AdmissionResponse { warnings, ..AdmissionResponse::allowed(uid) })
}

fn tell(gate: &Gate, endpoint: Endpoint, judged: &JudgedSubject) {
    let JudgedSubject { uid, subject, decision, world, took } = judged;
    let best = decision.candidates.first();
    let mode = best.and_then(|best| world.pools.get(&best.pool)).map(|live| live.pool.mode);
    gate.telemetry.judged(&Judged { subject, decision, mode });
    telemetry::log::decision(endpoint, uid, subject, decision, *took);
}

fn failed(failure: &Failure) -> Response {
    let (code, reason) = match failure {
        Failure::Unready | Failure::Shed(_) | Failure::Late | Failure::Panicked => {
            (StatusCode::SERVICE_UNAVAILABLE, "ServiceUnavailable")
        }
        Failure::TooLarge(_) => (StatusCode::PAYLOAD_TOO_LARGE, "RequestEntityTooLarge"),
        Failure::Cut | Failure::Malformed(_) => (StatusCode::BAD_REQUEST, "BadRequest"),
    };
    let status = Status::failure(code.as_u16(), reason, failure.to_string());
    json(code, serde_json::to_vec(&status).unwrap_or_default())
}

fn json(code: StatusCode, body: Vec<u8>) -> Response {
    let mut response = Response::new(Body::from(body));
    *response.status_mut() = code;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}
