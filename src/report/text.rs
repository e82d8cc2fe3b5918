//! What people read of a decision: the refusal, the warnings, the audit annotations and the reasons of
//! the extender. Text is made here and nowhere else, and it holds no control characters but the refusal's
//! line ends, because objects are written by anybody.

use std::{collections::BTreeMap, fmt::Write};

use crate::{
    decide::{Decision, STAMP},
    policy::Severity,
    rules::{Change, Finding, Rule},
    subject::{Body, Subject},
};

/// Findings that a refusal spells out; the rest are counted.
pub const FINDINGS_IN_TEXT: usize = 10;

/// Longest warning in characters: the API asks for at most 120 (`AdmissionResponse.warnings`).
pub const WARNING_CHARS: usize = 119;

/// Warnings of one answer. The API server cuts all of them once their sum passes 4096 characters.
pub const WARNINGS: usize = 30;

/// Longest line of a refusal in characters, so that a huge value does not drown the reason.
const LINE_CHARS: usize = 600;

/// The refusal, all problems at once: a heading, a line for each finding that refuses, and where to read on.
#[must_use]
pub fn refusal(subject: &Subject, decision: &Decision) -> String {
    let problems: Vec<&Finding> = decision.findings.iter().filter(|f| f.severity == Severity::Deny).collect();
    let mut text = format!(
        "sluice refused {}{}: {}",
        object(subject),
        class(subject, decision),
        count(problems.len(), "problem")
    );
    for finding in problems.iter().take(FINDINGS_IN_TEXT) {
        text.push('\n');
        text.push_str(&cut(&line(&finding_line(finding)), LINE_CHARS));
    }
    if problems.len() > FINDINGS_IN_TEXT {
        let _ = write!(text, "\nand {} more", problems.len() - FINDINGS_IN_TEXT);
    }
    let rule = problems.first().map_or("RULE", |finding| finding.rule);
    let _ = write!(text, "\nsluice explain {rule} · decision {}", decision.id);
    text
}

/// Warnings for the person who applies the object, rule id first: findings that do not refuse, and what would
/// be changed where the policy only warns. Empty under `audit`.
#[must_use]
pub fn warnings(decision: &Decision) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for finding in decision.findings.iter().filter(|f| f.severity == Severity::Warn) {
        lines.extend(finding_warnings(finding));
    }
    if decision.action == Severity::Warn {
        lines.extend(decision.changes.iter().filter(|c| c.rule != STAMP).map(would_change));
    }
    let mut lines: Vec<String> = lines.iter().map(|text| cut(&line(text), WARNING_CHARS)).collect();
    if lines.len() > WARNINGS {
        let more = lines.len() - (WARNINGS - 1);
        lines.truncate(WARNINGS - 1);
        lines.push(format!("and {more} more warnings: `sluice check` on the file shows all"));
    }
    lines
}

/// Audit annotations of an admission answer: decision, verdict and action, class, pools in order of
/// preference, revision, age of the picture in seconds and the rules found, as far as each exists.
#[must_use]
pub fn audit_annotations(subject: &Subject, decision: &Decision) -> BTreeMap<&'static str, String> {
    let pools: Vec<&str> = decision.candidates.iter().map(|candidate| &*candidate.pool).collect();
    let mut rules: Vec<&str> = decision.findings.iter().map(|finding| finding.rule).collect();
    rules.sort_unstable();
    rules.dedup();
    let class = decision.class.as_ref().map(|recognized| recognized.class.to_string());
    let age = decision.as_of.map(|at| subject.facts.now.saturating_sub(at).max(0).to_string());
    [
        ("decision", decision.id.clone()),
        ("verdict", decision.verdict.as_str().to_owned()),
        ("action", decision.action.to_string()),
        ("class", class.unwrap_or_default()),
        ("pools", pools.join(",")),
        ("revision", decision.revision.clone()),
        ("picture-age-seconds", age.unwrap_or_default()),
        ("rules", rules.join(",")),
    ]
    .into_iter()
    .filter(|(_, value)| !value.is_empty())
    .map(|(key, value)| (key, line(&value)))
    .collect()
}

/// Why the extender rejects a node: constant for each rule, because the scheduler groups nodes by this text.
#[must_use]
pub fn filter_reason(rule: &Rule) -> String {
    format!("sluice {}, unmet: {}", rule.id, rule.summary)
}

/// One line for a finding: `RULE  PATH (container NAME): is X; should be Y; fix: …`.
#[must_use]
pub fn finding_line(finding: &Finding) -> String {
    format!("{}  {}: {}", finding.rule, place(finding), finding.message())
}

/// `Pod NS/NAME`, without the namespace for cluster-scoped kinds.
#[must_use]
pub fn object(subject: &Subject) -> String {
    let namespace = match subject.namespace.as_str() {
        "" => String::new(),
        namespace => format!("{namespace}/"),
    };
    line(&format!("{} {namespace}{}", subject.kind, subject.name))
}

/// The text on one line: control characters become spaces, line ends too.
#[must_use]
pub(super) fn line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// `1 problem`, `2 problems`.
#[must_use]
pub(super) fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// The text as a sentence: with a full stop.
#[must_use]
pub(super) fn sentence(text: &str) -> String {
    let text = text.trim();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

fn class(subject: &Subject, decision: &Decision) -> String {
    match (&decision.class, &subject.body) {
        (Some(recognized), _) => line(&format!(" (class {}, by {})", recognized.class, recognized.by)),
        (None, Body::Pod(_) | Body::Template(_)) => " (no class recognised)".to_owned(),
        (None, _) => String::new(),
    }
}

fn place(finding: &Finding) -> String {
    match &finding.container {
        Some(container) => format!("{} (container {container})", finding.path),
        None => finding.path.clone(),
    }
}

/// On one line where it fits, else what is wrong and the way out on a line each.
fn finding_warnings(finding: &Finding) -> Vec<String> {
    let whole = format!("{} {}: {}", finding.rule, place(finding), finding.message());
    if whole.chars().count() <= WARNING_CHARS {
        return vec![whole];
    }
    vec![
        format!("{} {}: is {}; should be {}", finding.rule, place(finding), finding.is, finding.should),
        format!("{} fix: {}", finding.rule, finding.remedy),
    ]
}

fn would_change(change: &Change) -> String {
    format!("{} would change {}: {}", change.rule, change.path, change.why)
}

fn cut(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        None => text.to_owned(),
        Some(_) => text.chars().take(chars - 1).chain(['…']).collect(),
    }
}

#[cfg(test)]
mod tests;
