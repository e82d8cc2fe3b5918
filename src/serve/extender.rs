//! `/scheduler/filter` and `/scheduler/prioritize`: one decision on the Pod, one question for each node.
//!
//! The scheduler takes only status 200 for an answer and reads no other body
//! (kube-scheduler `extender.go`), so failures are a 200 with `Error`, as malformed requests are. For
//! `prioritize` that is an answer that it cannot read, which it counts as no opinion: score 0.

mod wire;

use std::{
    collections::BTreeMap,
    sync::{Arc, LazyLock},
    time::Instant as Clock,
};

use axum::{
    body::Body,
    extract::{Request, State},
    http::{HeaderValue, header},
    response::Response,
};
use serde_json::Value;
use tokio::time::Instant;

use self::wire::{Args, FilterResult, HostPriority, Nodes};
use super::{
    clock::now,
    gate::{Failure, Gate},
};
use crate::{
    decide::{Reach, decide, fit},
    report,
    rules::{self, Fit, Rule},
    subject::{self, Facts, Reading, Stage, Subject},
    telemetry::{self, Endpoint, Outcome, Request as Counted},
};

/// After so many nodes the deadline is looked at.
const NODES_BETWEEN_LOOKS: usize = 256;

/// `POST /scheduler/filter`
pub(super) async fn filter(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    answer(&gate, Endpoint::Filter, request).await
}

/// `POST /scheduler/prioritize`
pub(super) async fn prioritize(State(gate): State<Arc<Gate>>, request: Request) -> Response {
    answer(&gate, Endpoint::Prioritize, request).await
}

async fn answer(gate: &Gate, endpoint: Endpoint, request: Request) -> Response {
    let started = Clock::now();
    let _in_flight = gate.telemetry.in_flight(endpoint);
    let passed =
        gate.pass(endpoint, request, async |body, deadline| judge(gate, endpoint, &body, deadline)).await;
    let outcome = passed.as_ref().map_or_else(Failure::outcome, |_| Outcome::Answered);
    let took = started.elapsed();
    gate.telemetry.request(&Counted { endpoint, kind: "Pod", operation: "", outcome, took });
    let body = passed.unwrap_or_else(|failure| {
        telemetry::log::not_judged(endpoint, outcome);
        FilterResult::error(&failure.to_string())
    });
    let mut response = Response::new(Body::from(body));
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
    response
}

fn judge(gate: &Gate, endpoint: Endpoint, body: &[u8], deadline: Instant) -> Result<Vec<u8>, Failure> {
    let args = Args::parse(body)?;
    if matches!(args.nodes, Nodes::Names(_)) && body.len() > gate.limits.names_body {
        return Err(Failure::TooLarge(gate.limits.names_body));
    }
    let pod = serde_json::from_str(args.pod.get()).map_err(|error| Failure::Malformed(error.to_string()))?;
    let subject = pod_of(pod)?;
    let started = Clock::now();
    let world = gate.source.load();
    let decision = decide(&world, &subject);
    gate.telemetry.decided(endpoint, started.elapsed());
    let mut asked = 0_usize;
    let mut fits = |node: &str| {
        asked += 1;
        if asked.is_multiple_of(NODES_BETWEEN_LOOKS) && Instant::now() > deadline {
            return Err(Failure::Late);
        }
        Ok(fit(&world, &decision, node, Reach::BeyondScheduler))
    };
    let (answer, kept) = match endpoint {
        Endpoint::Prioritize => scores(&args.nodes, &mut fits)?,
        _ => survivors(&args.nodes, &mut fits)?,
    };
    telemetry::log::asked(endpoint, &subject, &decision, (asked, kept), started.elapsed());
    Ok(answer)
}

/// The Pod as the engine reads it. The scheduler sends it from its cache, which keeps no kind.
fn pod_of(mut pod: Value) -> Result<Box<Subject>, Failure> {
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

type Fits<'a> = &'a mut dyn FnMut(&str) -> Result<Fit, Failure>;

/// The nodes that fit, in the form asked, and every other node in exactly one map with its reason; and how
/// many fit.
fn survivors(nodes: &Nodes<'_>, fits: Fits<'_>) -> Result<(Vec<u8>, usize), Failure> {
    let mut kept = Vec::with_capacity(nodes.len());
    let mut result = FilterResult::default();
    for (index, name) in nodes.names().enumerate() {
        match fits(name)? {
            Fit::Yes(_) => kept.push(index),
            Fit::Busy(rule) => result.failed_nodes.push(name, reason(rule)),
            Fit::Never(rule) => result.failed_and_unresolvable_nodes.push(name, reason(rule)),
        }
    }
    nodes.keep(&kept, &mut result);
    Ok((result.encode(), kept.len()))
}

/// 0 to 10 for each node, and how many fit. A node that does not fit any more since it was filtered gets 0.
fn scores(nodes: &Nodes<'_>, fits: Fits<'_>) -> Result<(Vec<u8>, usize), Failure> {
    let (mut scores, mut kept) = (Vec::with_capacity(nodes.len()), 0);
    for host in nodes.names() {
        let score = match fits(host)? {
            Fit::Yes(score) => {
                kept += 1;
                score.points()
            }
            Fit::Busy(_) | Fit::Never(_) => 0,
        };
        scores.push(HostPriority { host, score });
    }
    Ok((HostPriority::encode(&scores), kept))
}

/// Constant for each rule: the scheduler counts nodes by equal text.
fn reason(rule: &Rule) -> &'static str {
    static REASONS: LazyLock<BTreeMap<&'static str, String>> =
        LazyLock::new(|| rules::ALL.iter().map(|rule| (rule.id, report::filter_reason(rule))).collect());
    REASONS.get(rule.id).map_or(rule.id, String::as_str)
}

#[cfg(test)]
mod tests;
