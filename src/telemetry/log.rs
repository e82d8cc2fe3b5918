//! Log lines: one a decision, as JSON or as text, on standard error.
//!
//! What goes into a line is chosen field by field: names, rule ids, class and pools. No value of a Pod's
//! environment, no argument and no text of a finding, which may quote either.

use std::{io, panic, time::Duration};

use tracing_subscriber::{
    EnvFilter,
    fmt::{MakeWriter, format::FmtSpan},
};

use super::{Endpoint, Outcome};
use crate::{
    decide::Decision,
    policy::Severity,
    rules::{Change, Finding},
    subject::Subject,
};

/// Form of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line, for collectors.
    Json,
    /// For people.
    #[default]
    Text,
}

/// Why logging cannot start.
#[derive(Debug, thiserror::Error)]
pub enum LogError {
    /// The filter cannot be read.
    #[error("log filter {0:?} cannot be read: {1}")]
    Filter(String, tracing_subscriber::filter::ParseError),
    /// Something else collects log lines already.
    #[error("logging has been started already: {0}")]
    Started(#[from] tracing::subscriber::SetGlobalDefaultError),
}

/// Starts logging to standard error. `filter` is a level, or directives such as `info,sluice::serve=debug`.
///
/// # Errors
/// If the filter cannot be read, or logging runs already.
pub fn start(format: Format, filter: &str) -> Result<(), LogError> {
    tracing::subscriber::set_global_default(subscriber(format, filter, io::stderr)?)?;
    tell_panics_by_place();
    Ok(())
}

/// What [`start`] installs, writing elsewhere.
///
/// # Errors
/// If the filter cannot be read.
pub fn subscriber<W>(
    format: Format,
    filter: &str,
    writer: W,
) -> Result<Box<dyn tracing::Subscriber + Send + Sync>, LogError>
where
    W: for<'w> MakeWriter<'w> + Send + Sync + 'static,
{
    let filter = EnvFilter::try_new(filter).map_err(|error| LogError::Filter(filter.to_owned(), error))?;
    let lines =
        tracing_subscriber::fmt().with_env_filter(filter).with_writer(writer).with_span_events(FmtSpan::NONE);
    Ok(match format {
        Format::Json => Box::new(lines.json().flatten_event(true).with_current_span(false).finish()),
        Format::Text => Box::new(lines.with_ansi(false).finish()),
    })
}

/// One decision. What does not concern us is told at debug level only.
pub fn decision(endpoint: Endpoint, uid: &str, subject: &Subject, decision: &Decision, took: Duration) {
    if !decision.relevant {
        tracing::debug!(
            endpoint = endpoint.as_str(),
            uid,
            kind = subject.kind,
            namespace = subject.namespace,
            name = subject.name,
            "not our business"
        );
        return;
    }
    tracing::info!(
        endpoint = endpoint.as_str(),
        uid,
        kind = subject.kind,
        namespace = subject.namespace,
        name = subject.name,
        operation = subject.facts.operation.as_str(),
        dry_run = subject.facts.dry_run,
        class = decision.class.as_ref().map(|recognized| &*recognized.class),
        verdict = decision.verdict.as_str(),
        action = decision.action.as_str(),
        pools = words(decision.candidates.iter().map(|candidate| &*candidate.pool)),
        refused_by = words(refusing(decision).map(|finding| finding.rule)),
        found = words(decision.findings.iter().map(|finding| finding.rule)),
        changed = words(decision.applied_changes().map(|change: &Change| change.rule)),
        decision = decision.id,
        revision = decision.revision,
        took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "decided"
    );
}

/// A request that was not judged. The reason goes to the caller alone, because it may quote the body. Under
/// load most lines would be of shed requests, which are counted: they are told at debug level only.
pub fn not_judged(endpoint: Endpoint, outcome: Outcome) {
    let (endpoint, result) = (endpoint.as_str(), outcome.as_str());
    match outcome {
        Outcome::Shed => tracing::debug!(endpoint, result, "not judged"),
        _ => tracing::warn!(endpoint, result, "not judged"),
    }
}

/// What was answered to a question of the scheduler.
#[derive(Clone, Debug, Default)]
pub struct Asked {
    /// Nodes of the question.
    pub nodes: usize,
    /// Of them kept.
    pub kept: usize,
    /// The best nodes with the parts of their scores, where scores were asked for.
    pub best: String,
}

/// One question of the scheduler.
pub fn asked(endpoint: Endpoint, subject: &Subject, decision: &Decision, asked: &Asked, took: Duration) {
    let Asked { nodes, kept, best } = asked;
    tracing::info!(
        endpoint = endpoint.as_str(),
        namespace = subject.namespace,
        name = subject.name,
        class = decision.class.as_ref().map(|recognized| &*recognized.class),
        pools = words(decision.candidates.iter().map(|candidate| &*candidate.pool)),
        nodes,
        kept,
        best = (!best.is_empty()).then_some(best.as_str()),
        found = words(decision.findings.iter().map(|finding| finding.rule)),
        decision = decision.id,
        took_us = u64::try_from(took.as_micros()).unwrap_or(u64::MAX),
        "asked for nodes"
    );
}

/// A Pod that the scheduler asks about and that no webhook of ours has seen.
pub fn admission_skipped(subject: &Subject, decision: &Decision) {
    tracing::warn!(
        namespace = subject.namespace,
        name = subject.name,
        class = decision.class.as_ref().map(|recognized| &*recognized.class),
        verdict = decision.verdict.as_str(),
        "came past admission; its rules are applied to its nodes only"
    );
}

fn refusing(decision: &Decision) -> impl Iterator<Item = &Finding> {
    decision.findings.iter().filter(|finding| finding.severity == Severity::Deny)
}

/// Words joined by commas, each once, in the order of their first occurrence.
fn words<'a>(words: impl Iterator<Item = &'a str>) -> String {
    let mut seen: Vec<&str> = Vec::new();
    for word in words {
        if !seen.contains(&word) {
            seen.push(word);
        }
    }
    seen.join(",")
}

/// A panic is told by its place alone: its text may quote the object that was being judged.
fn tell_panics_by_place() {
    panic::set_hook(Box::new(|panicked| {
        let place = panicked.location().map(ToString::to_string).unwrap_or_default();
        tracing::error!(place, "panicked; this is a defect of sluice");
    }));
}
