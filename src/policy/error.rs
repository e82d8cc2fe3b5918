//! What is wrong with a policy file, and where. The same text in the command line, the log and `/readyz`.

use std::fmt;

/// A place in a file; both numbers count from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: u64,
}

/// A fault that keeps a revision from being used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyError {
    /// File, as the loader was told.
    pub file: String,
    /// Line, from 1.
    pub line: u64,
    /// Column, from 1.
    pub column: u64,
    /// What is wrong.
    pub what: String,
    /// Why it is wrong.
    pub why: String,
    /// What was probably meant.
    pub suggestion: Option<String>,
}

/// A doubt that does not keep a revision from being used.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PolicyWarning {
    /// Stable id, such as `autoscaler-unaware-of-sharing`.
    pub id: &'static str,
    /// Place and text.
    pub at: PolicyError,
}

/// The faults of one file while it is read.
#[derive(Debug)]
pub(super) struct Faults<'a> {
    file: &'a str,
    found: Vec<PolicyError>,
    doubts: Vec<PolicyWarning>,
}

impl<'a> Faults<'a> {
    pub const fn new(file: &'a str) -> Self {
        Self { file, found: Vec::new(), doubts: Vec::new() }
    }

    pub const fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Notes a fault.
    pub fn push(&mut self, at: Position, what: String, why: impl Into<String>, suggestion: Option<String>) {
        let error = self.error(at, what, why.into(), suggestion);
        self.found.push(error);
    }

    /// Notes a doubt.
    pub fn doubt(&mut self, id: &'static str, at: Position, what: String, why: impl Into<String>) {
        let at = self.error(at, what, why.into(), None);
        self.doubts.push(PolicyWarning { id, at });
    }

    /// Adds what was found elsewhere.
    pub fn absorb(&mut self, other: Faults<'_>) {
        self.found.extend(other.found);
        self.doubts.extend(other.doubts);
    }

    /// What was found and what is doubtful, each in the order of files and lines.
    pub fn finish(mut self) -> (Vec<PolicyError>, Vec<PolicyWarning>) {
        self.found.sort();
        self.found.dedup();
        self.doubts.sort_by(|a, b| a.at.cmp(&b.at));
        (self.found, self.doubts)
    }

    fn error(&self, at: Position, what: String, why: String, suggestion: Option<String>) -> PolicyError {
        PolicyError { file: self.file.to_owned(), line: at.line, column: at.column, what, why, suggestion }
    }
}

impl Position {
    /// The beginning of a file.
    pub const START: Self = Self { line: 1, column: 1 };
}

impl fmt::Display for PolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: {}, {}", self.file, self.line, self.column, self.what, self.why)?;
        match &self.suggestion {
            Some(suggestion) => write!(f, ", did you mean {suggestion}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PolicyError {}

impl fmt::Display for PolicyWarning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.at, self.id)
    }
}

/// The candidate nearest to what was written, where one is near enough to be meant.
pub(super) fn nearest<'a>(written: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<String> {
    let folded = written.to_lowercase();
    candidates
        .into_iter()
        .map(|candidate| {
            (strsim::normalized_damerau_levenshtein(&folded, &candidate.to_lowercase()), candidate)
        })
        .filter(|(likeness, _)| *likeness >= 0.6)
        .max_by(|a, b| a.0.total_cmp(&b.0))
        .map(|(_, candidate)| format!("`{candidate}`"))
}
