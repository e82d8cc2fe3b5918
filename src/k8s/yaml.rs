//! Manifests as kubectl reads them: YAML, JSON, several documents one after another → JSON values, and back.
//!
//! kubectl hands YAML through `sigs.k8s.io/yaml`, which keeps much of YAML 1.1: `yes` and `on` are
//! booleans, `0755` is octal, `<<` merges, the last of two equal keys wins. A YAML 1.2 reader differs just
//! where a manifest is wrong, so the scalars are resolved here (`scalar`) over a library's event parser.
//! The facts in the tests were taken from kubectl 1.37.2.
//!
//! It reads text and knows nothing of kinds; Lists are not unfolded here.

mod compose;
mod places;
mod scalar;
mod write;

use serde_json::Value;
use serde_saphyr::granit_parser::ScanError;

pub use places::Places;
pub use write::{to_text, to_writer};

/// One document of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Document<'a> {
    /// Position among the documents of the text that hold something, from 1.
    pub index: usize,
    /// Line of the text at which its content begins, from 1.
    pub line: usize,
    /// What it says.
    pub value: Value,
    /// Its own text, for [`Document::places`].
    text: &'a str,
    /// Line of the whole text at which [`Document::text`](Self) begins, from 1.
    first_line: usize,
}

/// Why a document cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {what}")]
pub struct Fault {
    /// As [`Document::index`].
    pub document: usize,
    /// Line of the text, from 1.
    pub line: usize,
    /// Column, in characters, from 1.
    pub column: usize,
    /// What is wrong there.
    pub what: String,
}

/// The documents of a text, one by one; a broken one does not take the next ones with it. Documents
/// without content, and `null`, are left out, as kubectl does.
pub fn documents(text: &str) -> impl Iterator<Item = Result<Document<'_>, Fault>> {
    let mut index = 0;
    chunks(text.strip_prefix('\u{feff}').unwrap_or(text)).flat_map(move |chunk| {
        let read = chunk.read(index + 1);
        index += read.len();
        read
    })
}

impl Document<'_> {
    /// Its own text, and the line of the whole text at which that begins: what [`Places::read`] wants.
    #[must_use]
    pub const fn source(&self) -> (&str, usize) {
        (self.text, self.first_line)
    }

    /// Where everything in it stands. Reads the text once more, so ask only where a place is shown.
    #[must_use]
    pub fn places(&self) -> Places {
        Places::read(self.text, self.first_line)
    }
}

/// The text between two document markers.
#[derive(Clone, Copy)]
struct Chunk<'a> {
    text: &'a str,
    first_line: usize,
}

/// Cuts at lines that begin with `---`, as kubectl does before it parses anything.
fn chunks(text: &str) -> impl Iterator<Item = Chunk<'_>> {
    let (mut rest, mut next_line) = (Some(text), 1);
    std::iter::from_fn(move || {
        let whole = rest?;
        let mut end = 0;
        let first_line = next_line;
        for line in whole.split_inclusive('\n') {
            if end > 0 && is_marker(line) {
                rest = Some(&whole[end..]);
                return Some(Chunk { text: &whole[..end], first_line });
            }
            end += line.len();
            next_line += 1;
        }
        rest = None;
        Some(Chunk { text: whole, first_line })
    })
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

impl<'a> Chunk<'a> {
    fn read(self, index: usize) -> Vec<Result<Document<'a>, Fault>> {
        let Some(line) = self.content_line() else { return Vec::new() };
        if let Some(read) = self.read_json(index) {
            return read;
        }
        let document = |value| Document { index, line, value, text: self.text, first_line: self.first_line };
        match compose::value(self.text) {
            Ok(Value::Null) => Vec::new(),
            Ok(value) => vec![Ok(document(value))],
            Err(wrong) => vec![Err(Fault {
                document: index,
                line: self.first_line + wrong.line.saturating_sub(1),
                column: wrong.column,
                what: wrong.what,
            })],
        }
    }

    /// JSON documents, one after another as `jq` or `kubectl get -o json` print them; `None` where it is
    /// no JSON, which may still be YAML that begins with a brace.
    fn read_json(self, index: usize) -> Option<Vec<Result<Document<'a>, Fault>>> {
        if !self.text.trim_start().starts_with('{') {
            return None;
        }
        let mut stream = serde_json::Deserializer::from_str(self.text).into_iter::<Value>();
        let mut read = Vec::new();
        let (mut start, mut first_line) = (0, self.first_line);
        while let Some(value) = stream.next() {
            let (value, end) = (value.ok()?, stream.byte_offset());
            let text = &self.text[start..end];
            let blank = text.len() - text.trim_start().len();
            let line = first_line + newlines(&text[..blank]);
            read.push(Ok(Document { index: index + read.len(), line, value, text, first_line }));
            first_line += newlines(text);
            start = end;
        }
        Some(read)
    }

    /// Line of the first content, from 1; `None` where there is none.
    fn content_line(self) -> Option<usize> {
        self.text
            .lines()
            .position(|line| {
                let line = if is_marker(line) { &line[3..] } else { line }.trim();
                !line.is_empty() && !line.starts_with('#') && line != "..."
            })
            .map(|offset| self.first_line + offset)
    }
}

fn newlines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

/// What is wrong in a chunk; line and column count from 1 within it.
struct Wrong {
    line: usize,
    column: usize,
    what: String,
}

impl From<ScanError> for Wrong {
    fn from(error: ScanError) -> Self {
        let marker = error.marker();
        Self { line: marker.line(), column: marker.col() + 1, what: error.info().to_owned() }
    }
}

#[cfg(test)]
mod tests;
