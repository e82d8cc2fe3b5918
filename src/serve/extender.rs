//! `/scheduler/filter`, `/scheduler/prioritize` and `/scheduler/preempt`: one decision on the Pod, one question
//! for each node.
//!
//! The scheduler takes only status 200 for an answer and reads no other body
//! (kube-scheduler `extender.go`), so failures are a 200 with `Error`, as malformed requests are. For
//! `prioritize` that is an answer that it cannot read, which it counts as no opinion: score 0; for `preempt` one
//! that names no node, so that nobody is evicted.

mod filter;
mod preempt;
mod prioritize;
mod victims;
mod wire;

use std::{
    collections::BTreeMap,
    future::Future,
    sync::{Arc, LazyLock},
    time::Instant as Clock,
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header},
    response::Response,
};
use bytes::Bytes;
use serde_json::{Value, value::RawValue};
use tokio::time::Instant;

use self::wire::{Args, FilterResult, Nodes};
use super::{
    clock::now,
    gate::{Failure, Gate},
};
use crate::{
    decide::Decision,
    report,
    rules::{self, Rule},
    subject::{self, Facts, Reading, Stage, Subject},
    telemetry::{self, Endpoint, Outcome, Request as Counted},
};

/// After so many nodes the deadline is looked at.
const NODES_BETWEEN_LOOKS: usize = 256;

/// `POST /scheduler/filter`
pub(super) async fn filter(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let handle = |body, deadline| filter::filter(&gate, body, deadline);
    answer(&gate, Endpoint::Filter, request, handle).await
}

/// `POST /scheduler/prioritize`
pub(super) async fn prioritize(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let handle = async |body: Bytes, deadline| prioritize::prioritize(&gate, &body, deadline);
    answer(&gate, Endpoint::Prioritize, request, handle).await
}

/// `POST /scheduler/preempt`
pub(super) async fn preempt(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    let handle = async |body: Bytes, deadline| preempt::preempt(&gate, &body, deadline);
    answer(&gate, Endpoint::Preempt, request, handle).await
}

async fn answer<F>(
    gate: &Gate,
    endpoint: Endpoint,
    request: Request,
    handle: impl FnOnce(Bytes, Instant) -> F,
) -> Response
where
    F: Future<Output = Result<Vec<u8>, Failure>>,
{
    let started = Clock::now();
    let _in_flight = gate.telemetry.in_flight(endpoint);
    let passed = gate.pass(endpoint, request, handle).await;
    let outcome = passed.as_ref().map_or_else(Failure::outcome, |_| Outcome::Answered);
    let took = started.elapsed();
    gate.telemetry.request(&Counted { endpoint, kind: "Pod", operation: "", outcome, took });
    let body = passed.unwrap_or_else(|failure| {
        telemetry::log::not_judged(endpoint, outcome);
        FilterResult::error(&failure.to_string())
    });
    // A body of known length: without one a client reads to the end of the stream, and HTTP/1.1 clients that
    // stop at the end of the JSON value would not use the connection again.
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

/// The Pod and the nodes of a question, within the bounds of its form.
fn question<'a>(gate: &Gate, body: &'a [u8]) -> Result<(Box<Subject>, Nodes<'a>), Failure> {
    let args = Args::parse(body)?;
    if matches!(args.nodes, Nodes::Names(_)) && body.len() > gate.limits.names_body {
        return Err(Failure::TooLarge(gate.limits.names_body));
    }
    Ok((pod_of(args.pod)?, args.nodes))
}

/// The Pod as the engine reads it. The scheduler sends it from its cache, which keeps no kind.
fn pod_of(raw: &RawValue) -> Result<Box<Subject>, Failure> {
    let mut pod: Value =
        serde_json::from_str(raw.get()).map_err(|error| Failure::Malformed(error.to_string()))?;
    let Some(object) = pod.as_object_mut() else {
        return Err(Failure::Malformed("Pod is not an object".to_owned()));
    };
    for (key, value) in [("apiVersion", "v1"), ("kind", "Pod")] {
        object.insert(key.to_owned(), Value::from(value));
    }
    let facts = Facts { now: now(), ..Facts::new(Stage::Schedule) };
    match subject::read(Arc::new(pod), None, facts) {
        Reading::Subject(subject) => Ok(subject),
        Reading::Unreadable(unreadable) => Err(Failure::Malformed(unreadable.to_string())),
        Reading::NotOurs => Err(Failure::Malformed("Pod is not a Pod".to_owned())),
    }
}

/// UID of the Pod; empty where it has none.
fn uid(subject: &Subject) -> &str {
    subject.raw["metadata"]["uid"].as_str().unwrap_or_default()
}

/// A Pod that no webhook of ours has seen is counted, and told once.
fn note_skipped(gate: &Gate, subject: &Subject, decision: &Decision) {
    let skipped = &rules::ADMISSION_SKIPPED;
    if decision.findings.iter().any(|finding| finding.rule == skipped.id) {
        let class = decision.class.as_ref().map(|recognized| &*recognized.class);
        if gate.telemetry.admission_skipped(uid(subject), class) {
            telemetry::log::admission_skipped(subject, decision);
        }
    }
}

/// Looks at the deadline now and then: an answer that comes too late is none.
struct Pace {
    asked: usize,
    deadline: Instant,
}

impl Pace {
    const fn until(deadline: Instant) -> Self {
        Self { asked: 0, deadline }
    }

    fn next(&mut self) -> Result<(), Failure> {
        self.asked += 1;
        if self.asked.is_multiple_of(NODES_BETWEEN_LOOKS) && Instant::now() > self.deadline {
            return Err(Failure::Late);
        }
        Ok(())
    }
}

/// Constant for each rule: the scheduler counts nodes by equal text.
fn reason(rule: &Rule) -> &'static str {
    static REASONS: LazyLock<BTreeMap<&'static str, String>> =
        LazyLock::new(|| rules::ALL.iter().map(|rule| (rule.id, report::filter_reason(rule))).collect());
    REASONS.get(rule.id).map_or(rule.id, String::as_str)
}

#[cfg(test)]
mod tests;
