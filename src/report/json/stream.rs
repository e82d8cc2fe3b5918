//! The report of `check` while it is made: a result is written as soon as it is there.

use std::{cell::RefCell, io};

use serde::{Serialize, Serializer, ser::SerializeSeq};

use super::{API_VERSION, KIND, ObjectResult};
use crate::k8s::yaml;

/// Writes the report as indented JSON, each result as it comes.
///
/// # Errors
/// The writer's.
pub fn write(
    out: impl io::Write,
    revision: &str,
    results: impl Iterator<Item = ObjectResult>,
) -> io::Result<()> {
    let mut out = out;
    serde_json::to_writer_pretty(&mut out, &Stream::new(revision, results))?;
    writeln!(out)
}

/// Writes the report as YAML, each result as it comes.
///
/// # Errors
/// The writer's.
pub fn write_yaml(
    out: impl io::Write,
    revision: &str,
    results: impl Iterator<Item = ObjectResult>,
) -> io::Result<()> {
    let mut out = out;
    yaml::to_writer(&mut out, &Stream::new(revision, results))
}

/// A report whose results are made while it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Stream<'a, I: Iterator<Item = ObjectResult>> {
    api_version: &'static str,
    kind: &'static str,
    revision: &'a str,
    #[serde(serialize_with = "drain")]
    results: RefCell<I>,
}

impl<'a, I: Iterator<Item = ObjectResult>> Stream<'a, I> {
    fn new(revision: &'a str, results: I) -> Self {
        Self { api_version: API_VERSION, kind: KIND, revision, results: RefCell::new(results) }
    }
}

fn drain<I, S>(results: &RefCell<I>, serializer: S) -> Result<S::Ok, S::Error>
where
    I: Iterator<Item = ObjectResult>,
    S: Serializer,
{
    let mut sequence = serializer.serialize_seq(None)?;
    for result in results.borrow_mut().by_ref() {
        sequence.serialize_element(&result)?;
    }
    sequence.end()
}
