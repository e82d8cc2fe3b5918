//! What is counted of requests and decisions, and under which label values.

use std::time::Duration;

use super::{Endpoint, Telemetry};
use crate::{
    decide::{Decision, Verdict},
    gpu::Mode,
    policy::Severity,
    subject::{Stage, Subject, templates},
};

/// One answered request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Endpoint.
    pub endpoint: Endpoint,
    /// Kind of the object; empty where the request could not be read.
    pub kind: &'a str,
    /// Operation in the API's word; empty where there is none.
    pub operation: &'a str,
    /// What became of it.
    pub outcome: Outcome,
    /// From head to answer.
    pub took: Duration,
}

/// What became of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// Admission: allowed as it is.
    Allowed,
    /// Admission: allowed with changes.
    Patched,
    /// Admission: allowed with warnings.
    Warned,
    /// Admission: refused.
    Refused,
    /// Extender: nodes were named.
    Answered,
    /// Not a request that can be judged.
    Malformed,
    /// Turned away because too much was in flight.
    Shed,
    /// The deadline passed.
    Late,
    /// Handling panicked.
    Panicked,
    /// The picture or the policies are not there yet.
    Unready,
}

/// Why a request was shed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shed {
    /// Too many requests in flight.
    Requests,
    /// Too many bytes of bodies in flight.
    Bytes,
}

/// One decision, as it is counted.
#[derive(Clone, Copy, Debug)]
pub struct Judged<'a> {
    /// What was judged.
    pub subject: &'a Subject,
    /// The decision.
    pub decision: &'a Decision,
    /// Mode of the best candidate pool.
    pub mode: Option<Mode>,
}

/// Label value where there is nothing to say.
const NONE: &str = "none";

impl Outcome {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allowed => "allowed",
            Self::Patched => "patched",
            Self::Warned => "warned",
            Self::Refused => "refused",
            Self::Answered => "answered",
            Self::Malformed => "malformed",
            Self::Shed => "shed",
            Self::Late => "late",
            Self::Panicked => "panicked",
            Self::Unready => "unready",
        }
    }
}

impl Telemetry {
    /// Counts an answered request, whatever became of it.
    pub fn request(&self, request: &Request<'_>) {
        let endpoint = request.endpoint.as_str();
        let operation = if request.operation.is_empty() { NONE } else { request.operation };
        let labels = [endpoint, kind_label(request.kind), operation, request.outcome.as_str()];
        self.requests.with_label_values(&labels).inc();
        self.request_seconds.with_label_values(&[endpoint]).observe(request.took.as_secs_f64());
        if request.outcome == Outcome::Panicked {
            self.panics.with_label_values(&[endpoint]).inc();
        }
    }

    /// Counts a request that was turned away at once.
    pub fn shed(&self, endpoint: Endpoint, why: Shed) {
        let reason = match why {
            Shed::Requests => "requests",
            Shed::Bytes => "bytes",
        };
        self.shed.with_label_values(&[endpoint.as_str(), reason]).inc();
    }

    /// Times one decision.
    pub fn decided(&self, endpoint: Endpoint, took: Duration) {
        self.decision_seconds.with_label_values(&[endpoint.as_str()]).observe(took.as_secs_f64());
    }

    /// Counts a request that waited for the picture, and whether what was missing appeared.
    pub fn waited(&self, endpoint: Endpoint, appeared: bool) {
        let result = if appeared { "appeared" } else { "missing" };
        self.absence_waits.with_label_values(&[endpoint.as_str(), result]).inc();
    }

    /// Counts a decision, once an object: where a Pod may go when it is mutated, what is wrong with it when
    /// the final object is validated. A dry run and an object that does not concern us count for nothing.
    pub fn judged(&self, judged: &Judged<'_>) {
        let Judged { subject, decision, .. } = judged;
        if subject.facts.dry_run || !decision.relevant {
            return;
        }
        match subject.facts.stage {
            Stage::Mutate => self.placed(judged),
            Stage::Validate => self.found(subject, decision),
            Stage::Schedule | Stage::Check => {}
        }
    }

    fn placed(&self, judged: &Judged<'_>) {
        let decision = judged.decision;
        let best = decision.candidates.first();
        let pool = best.map_or(NONE, |candidate| &candidate.pool);
        let mode = judged.mode.map_or(NONE, Mode::as_str);
        let labels = [class_label(decision), pool, mode, decision.action.as_str()];
        self.decisions.with_label_values(&labels).inc();
        let Some(best) = best else { return };
        for skipped in decision.skipped.iter().filter(|s| s.rank.is_some_and(|rank| rank < best.rank)) {
            self.fallbacks.with_label_values(&[skipped.rule]).inc();
        }
    }

    fn found(&self, subject: &Subject, decision: &Decision) {
        for finding in &decision.findings {
            let labels = [finding.rule, class_label(decision), finding.severity.as_str()];
            self.findings.with_label_values(&labels).inc();
            let by = match (&finding.excepted_by, &finding.suppressed) {
                (Some(_), _) => "exception",
                (None, Some(_)) => "suppression",
                (None, None) => continue,
            };
            self.findings_spared.with_label_values(&[finding.rule, by]).inc();
        }
        if decision.verdict != Verdict::Deny || !self.options.refusals_by_namespace {
            return;
        }
        let namespace = self.namespace_label(&subject.namespace);
        for finding in decision.findings.iter().filter(|finding| finding.severity == Severity::Deny) {
            self.refusals.with_label_values(&[namespace, finding.rule]).inc();
        }
    }
}

fn class_label(decision: &Decision) -> &str {
    decision.class.as_ref().map_or(NONE, |recognized| &recognized.class)
}

/// The kind as a label. Kinds come from requests, and a caller may send any word: only those that we judge
/// get a series.
fn kind_label(kind: &str) -> &str {
    const OTHERS: [&str; 6] =
        ["Pod", "PodDisruptionBudget", "ResourceQuota", "LimitRange", "PriorityClass", "Node"];
    match kind {
        "" => NONE,
        _ if OTHERS.contains(&kind) => kind,
        _ if templates::TEMPLATE_KINDS.iter().any(|row| row.kind == kind) => kind,
        _ => "other",
    }
}
