//! What `sluice check` prints for people: a table in kubectl's manner, then every finding with its place,
//! then one line that sums up.

use std::{
    io::{self, Write},
    sync::Arc,
};

use tabwriter::TabWriter;

use super::json::{FitWord, ObjectReference, ObjectResult, SourcePlace, VerdictWord};
use super::text::{count, line};
use crate::policy::{Exception, PolicySet, Severity, Term};

/// What the summary line tells beside the results.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Summary {
    /// Documents that are none of our business.
    pub other_documents: usize,
    /// Documents of our kinds that could not be read.
    pub unreadable: usize,
    /// Whether a cluster was given.
    pub cluster: bool,
    /// Exceptions that have ended or are about to, a line each.
    pub exceptions: Vec<String>,
}

/// Writes everything, with ANSI colours where wanted.
///
/// # Errors
/// The writer's.
pub fn write(
    out: &mut impl Write,
    results: &[ObjectResult],
    summary: &Summary,
    colour: bool,
) -> io::Result<()> {
    let paint = Paint { colour };
    if !results.is_empty() {
        overview(out, results, paint)?;
        writeln!(out)?;
    }
    for result in results.iter().filter(|result| has_details(result)) {
        details(out, result, paint)?;
        writeln!(out)?;
    }
    write_summary(out, results, summary)
}

/// `NS/NAME`, or the name alone for cluster-scoped objects.
#[must_use]
pub fn object_name(object: &ObjectReference) -> String {
    match object.namespace.as_str() {
        "" => line(&object.name),
        namespace => line(&format!("{namespace}/{}", object.name)),
    }
}

/// A line for each exception that has ended, or ends within two weeks of `now` (Unix seconds).
#[must_use]
pub fn exceptions(policies: &PolicySet, now: i64) -> Vec<String> {
    let told = |exception: &Arc<Exception>| {
        let when = match exception.term(now) {
            Term::Holds => return None,
            Term::Ends(days) => format!("ends within {}", count(usize::try_from(days).unwrap_or(0), "day")),
            Term::Expired(days) => {
                format!("is void since {}", count(usize::try_from(days).unwrap_or(0), "day"))
            }
        };
        let Exception { name, owner, reason, .. } = &**exception;
        Some(format!("exception {name} {when} ({owner}: {reason})"))
    };
    policies.exceptions.iter().filter_map(told).collect()
}

/// Rows with aligned columns, as kubectl prints them; cells are cleaned of control characters.
///
/// # Errors
/// The writer's.
pub fn columns(
    out: &mut impl Write,
    head: &[&str],
    rows: impl Iterator<Item = Vec<String>>,
) -> io::Result<()> {
    let mut aligned = TabWriter::new(out).padding(3).minwidth(4).ansi(true);
    writeln!(aligned, "{}", head.join("\t"))?;
    for row in rows {
        writeln!(aligned, "{}", row.join("\t"))?;
    }
    aligned.flush()
}

fn overview(out: &mut impl Write, results: &[ObjectResult], paint: Paint) -> io::Result<()> {
    let rows = results.iter().map(|result| {
        let object = &result.object;
        let source = result.source.as_ref().map_or_else(|| "-".to_owned(), place);
        vec![
            paint.verdict(result.verdict),
            line(&object.kind),
            object_name(object),
            or_dash(result.class.as_deref()),
            or_dash(Some(result.pools.join(",")).as_deref()),
            shown(result).to_string(),
            line(&source),
        ]
    });
    columns(out, &["VERDICT", "KIND", "NAME", "CLASS", "POOLS", "FINDINGS", "SOURCE"], rows)
}

/// `file:line`, and the template that made it where that is known.
fn place(source: &SourcePlace) -> String {
    let template = source.template.as_ref().map_or_else(String::new, |template| format!(" ({template})"));
    format!("{}:{}{template}", source.file, source.line)
}

fn has_details(result: &ObjectResult) -> bool {
    shown(result) > 0 || !result.nodes.is_empty()
}

/// The number of findings that people are shown.
pub(super) fn shown(result: &ObjectResult) -> usize {
    result.findings.iter().filter(|finding| finding.severity != Severity::Audit).count()
}

pub(super) fn details(out: &mut impl Write, result: &ObjectResult, paint: Paint) -> io::Result<()> {
    let class = match (&result.class, &result.recognized_by) {
        (Some(class), Some(by)) => line(&format!(" (class {class}, by {by})")),
        _ => String::new(),
    };
    let name = object_name(&result.object);
    writeln!(out, "{}", paint.bold(&format!("{} {name}{class}", line(&result.object.kind))))?;
    for finding in result.findings.iter().filter(|finding| finding.severity != Severity::Audit) {
        let container =
            finding.container.as_ref().map_or_else(String::new, |name| format!(" (container {name})"));
        let at = match (&result.source, finding.line) {
            (Some(source), Some(at)) => format!("  {}:{at}", source.file),
            _ => String::new(),
        };
        let severity = paint.severity(finding.severity);
        writeln!(
            out,
            "  {severity}  {}  {}",
            finding.rule,
            line(&format!("{}{container}{at}", finding.path))
        )?;
        writeln!(out, "        is {}; should be {}", line(&finding.is), line(&finding.should))?;
        writeln!(out, "        fix: {}", line(&finding.remedy))?;
    }
    nodes(out, result)
}

/// The names that fit, and the others by reason: in a large cluster most nodes say the same.
fn nodes(out: &mut impl Write, result: &ObjectResult) -> io::Result<()> {
    if result.nodes.is_empty() {
        return Ok(());
    }
    let fitting: Vec<&str> =
        result.nodes.iter().filter(|node| node.fit == FitWord::Yes).map(|node| node.name.as_str()).collect();
    writeln!(out, "  fits {} of {}{}", fitting.len(), count(result.nodes.len(), "node"), named(&fitting))?;
    let mut reasons: Vec<&str> = result.nodes.iter().filter_map(|node| node.reason.as_deref()).collect();
    reasons.sort_unstable();
    reasons.dedup();
    for reason in reasons {
        let nodes: Vec<&str> = result
            .nodes
            .iter()
            .filter(|node| node.reason.as_deref() == Some(reason))
            .map(|node| node.name.as_str())
            .collect();
        writeln!(out, "  {}: {}{}", count(nodes.len(), "node"), line(reason), named(&nodes))?;
    }
    Ok(())
}

/// ` (a, b, c and 4 more)`
fn named(nodes: &[&str]) -> String {
    const SHOWN: usize = 5;
    let shown = nodes.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
    match nodes.len() {
        0 => String::new(),
        n if n > SHOWN => line(&format!(" ({shown} and {} more)", n - SHOWN)),
        _ => line(&format!(" ({shown})")),
    }
}

fn write_summary(out: &mut impl Write, results: &[ObjectResult], summary: &Summary) -> io::Result<()> {
    let of = |verdict| results.iter().filter(|result| result.verdict == verdict).count();
    let mut text = format!(
        "{} judged: {} refused, {} with warnings, {} fine",
        count(results.len(), "object"),
        of(VerdictWord::Deny),
        of(VerdictWord::Warn),
        of(VerdictWord::Allow)
    );
    if summary.other_documents > 0 {
        text += &format!("; {} of other kinds", count(summary.other_documents, "document"));
    }
    if summary.unreadable > 0 {
        text += &format!("; {} unreadable", count(summary.unreadable, "document"));
    }
    let findings = || results.iter().flat_map(|result| &result.findings);
    let excepted = findings().filter(|finding| finding.excepted_by.is_some()).count();
    let suppressed = findings().filter(|finding| finding.suppressed.is_some()).count();
    if excepted > 0 {
        text += &format!("; {} excepted", count(excepted, "finding"));
    }
    if suppressed > 0 {
        text += &format!("; {} suppressed by the manifest", count(suppressed, "finding"));
    }
    writeln!(out, "{text}")?;
    for exception in &summary.exceptions {
        writeln!(out, "{}", line(exception))?;
    }
    let mut unjudged: Vec<&str> = results.iter().flat_map(|r| &r.not_judged).map(String::as_str).collect();
    unjudged.sort_unstable();
    unjudged.dedup();
    if !unjudged.is_empty() {
        let want = if summary.cluster {
            "the given cluster does not show what they need"
        } else {
            "give --cluster FILE or --context NAME"
        };
        writeln!(out, "{} not judged ({want}): {}", count(unjudged.len(), "rule"), unjudged.join(", "))?;
    }
    Ok(())
}

fn or_dash(text: Option<&str>) -> String {
    match text {
        None | Some("") => "-".to_owned(),
        Some(text) => line(text),
    }
}

/// ANSI colours, or none.
#[derive(Clone, Copy)]
pub(super) struct Paint {
    /// Whether there are any.
    pub(super) colour: bool,
}

impl Paint {
    pub(super) fn verdict(self, verdict: VerdictWord) -> String {
        match verdict {
            VerdictWord::Deny => self.with("31", "deny"),
            VerdictWord::Warn => self.with("33", "warn"),
            VerdictWord::Allow => self.with("32", "allow"),
        }
    }

    pub(super) fn severity(self, severity: Severity) -> String {
        match severity {
            Severity::Deny => self.with("31", "deny"),
            Severity::Warn => self.with("33", "warn"),
            Severity::Audit => severity.to_string(),
        }
    }

    pub(super) fn good(self, text: &str) -> String {
        self.with("32", text)
    }

    pub(super) fn bad(self, text: &str) -> String {
        self.with("31", text)
    }

    pub(super) fn bold(self, text: &str) -> String {
        self.with("1", text)
    }

    fn with(self, code: &str, text: &str) -> String {
        if self.colour { format!("\u{1b}[{code}m{text}\u{1b}[0m") } else { text.to_owned() }
    }
}
