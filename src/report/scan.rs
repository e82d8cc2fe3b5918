//! What `sluice scan` prints: everything that runs, judged as `check` judges it, with what enforcing would refuse,
//! drift, and exceptions that end.

use std::io::{self, Write};

use schemars::JsonSchema;
use serde::Serialize;

use super::{
    json::{API_VERSION, ChangeResult, ObjectResult, VerdictWord},
    table::{Paint, columns, details, object_name, shown},
    text::{count, line},
};
use crate::policy::{PolicySet, Term};

/// What a scan found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScanReport {
    /// Always `sluice.dev/v1alpha1`.
    pub api_version: String,
    /// Always `ScanReport`.
    pub kind: String,
    /// Revision of the policies.
    pub revision: String,
    /// One result for each object that concerns us.
    pub results: Vec<ScanResult>,
    /// Every exception and how it stands.
    pub exceptions: Vec<ExceptionState>,
    /// Objects that were looked at and do not concern us.
    pub others: usize,
}

/// What was found out about one object.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScanResult {
    /// What `sluice check` reports of it.
    #[serde(flatten)]
    pub result: ObjectResult,
    /// What admission would say if every policy's action were `deny`.
    pub enforced: VerdictWord,
    /// What admission would change in a running Pod if it were made anew.
    pub drift: Vec<ChangeResult>,
    /// Node of a bound Pod.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Why that node is none that it would be given today.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misplaced: Option<String>,
    /// Name of the AdmissionPolicy in force.
    pub policy: String,
}

/// An exception and how it stands.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ExceptionState {
    /// Its name.
    pub name: String,
    /// Who answers for it.
    pub owner: String,
    /// Why it is needed.
    pub reason: String,
    /// First second at which it is void, Unix time.
    pub expires: i64,
    /// `holds`, `ends` (within two weeks) or `expired`.
    pub state: String,
    /// Findings that it covers now.
    pub covers: usize,
}

impl ScanResult {
    /// Whether there is anything to say of it.
    #[must_use]
    pub fn speaks(&self) -> bool {
        self.result.verdict > VerdictWord::Allow
            || self.enforced > VerdictWord::Allow
            || !self.drift.is_empty()
            || self.misplaced.is_some()
    }
}

impl ScanReport {
    /// A report of these results.
    #[must_use]
    pub fn new(policies: &PolicySet, results: Vec<ScanResult>, others: usize, now: i64) -> Self {
        let covers = |name: &str| {
            let findings = results.iter().flat_map(|scan| &scan.result.findings);
            findings.filter(|finding| finding.excepted_by.as_deref() == Some(name)).count()
        };
        let state = |term| match term {
            Term::Holds => "holds",
            Term::Ends(_) => "ends",
            Term::Expired(_) => "expired",
        };
        let exceptions = policies.exceptions.iter().map(|exception| ExceptionState {
            name: exception.name.to_string(),
            owner: exception.owner.clone(),
            reason: exception.reason.clone(),
            expires: exception.expires,
            state: state(exception.term(now)).to_owned(),
            covers: covers(&exception.name),
        });
        Self {
            api_version: API_VERSION.to_owned(),
            kind: "ScanReport".to_owned(),
            revision: policies.revision.clone(),
            exceptions: exceptions.collect(),
            results,
            others,
        }
    }
}

/// Writes it for people: objects of which there is something to say (or all), their findings and drift, then
/// lines that sum up. `exceptions` are those of [`super::table::exceptions`].
///
/// # Errors
/// The writer's.
pub fn write(
    out: &mut impl Write,
    report: &ScanReport,
    exceptions: &[String],
    all: bool,
    colour: bool,
) -> io::Result<()> {
    let paint = Paint { colour };
    let rows: Vec<&ScanResult> = report.results.iter().filter(|scan| all || scan.speaks()).collect();
    if !rows.is_empty() {
        let cells = rows.iter().map(|scan| row(scan, paint));
        columns(out, &["TODAY", "ENFORCED", "KIND", "NAME", "CLASS", "NODE", "FINDINGS", "DRIFT"], cells)?;
        writeln!(out)?;
    }
    for scan in rows
        .iter()
        .filter(|scan| shown(&scan.result) > 0 || !scan.drift.is_empty() || scan.misplaced.is_some())
    {
        details(out, &scan.result, paint)?;
        for change in &scan.drift {
            writeln!(out, "  drift  {}", line(&format!("{}  {}: {}", change.rule, change.path, change.why)))?;
        }
        if let Some(why) = &scan.misplaced {
            writeln!(out, "  drift  {}", line(why))?;
        }
        writeln!(out)?;
    }
    summary(out, report)?;
    exceptions.iter().try_for_each(|exception| writeln!(out, "{}", line(exception)))
}

fn row(scan: &ScanResult, paint: Paint) -> Vec<String> {
    let object = &scan.result.object;
    let drift = scan.drift.len() + usize::from(scan.misplaced.is_some());
    vec![
        paint.verdict(scan.result.verdict),
        paint.verdict(scan.enforced),
        line(&object.kind),
        object_name(object),
        line(scan.result.class.as_deref().unwrap_or("-")),
        line(scan.node.as_deref().unwrap_or("-")),
        shown(&scan.result).to_string(),
        drift.to_string(),
    ]
}

fn summary(out: &mut impl Write, report: &ScanReport) -> io::Result<()> {
    let counted = |holds: fn(&ScanResult) -> bool| report.results.iter().filter(|scan| holds(scan)).count();
    writeln!(
        out,
        "{} judged: {} would be refused today, {} with warnings; {} if every policy enforced; {} drifted; {} of no \
         concern",
        count(report.results.len(), "object"),
        counted(|scan| scan.result.verdict == VerdictWord::Deny),
        counted(|scan| scan.result.verdict == VerdictWord::Warn),
        counted(|scan| scan.enforced == VerdictWord::Deny),
        counted(|scan| !scan.drift.is_empty() || scan.misplaced.is_some()),
        count(report.others, "object"),
    )
}
