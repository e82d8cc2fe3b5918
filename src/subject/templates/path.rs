//! Paths into objects, as findings write them: `spec.tasks[0].template`, `metadata.labels["a.b/c"]`; and with
//! `[]` for every entry of a list or map.

use serde_json::Value;

/// One entry of a list or map that a path went through.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// Index in a list.
    Index(usize),
    /// Key of a map.
    Key(String),
}

/// What a path with `[]` led to.
#[derive(Clone, Debug)]
pub(super) struct Found<'a> {
    /// The path without `[]`.
    pub place: String,
    /// The entries that were taken at each `[]`.
    pub entries: Vec<Place>,
    /// What is there.
    pub value: &'a Value,
    /// What holds it; the value itself at the root.
    pub parent: &'a Value,
}

/// The keys of a path without `[]`: `a.b[0]["c.d/e"]` is a, b, 0, c.d/e.
#[must_use]
pub fn keys(path: &str) -> Vec<String> {
    segments(path).into_iter().map(str::to_owned).collect()
}

/// The value at a path without `[]`; what is null is nothing.
#[must_use]
pub fn at<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    one(object, path, &[])
}

/// Everything that a path leads to; what is absent or null is nothing.
pub(super) fn walk<'a>(object: &'a Value, path: &str) -> Vec<Found<'a>> {
    let start = Found { place: String::new(), entries: Vec::new(), value: object, parent: object };
    segments(path)
        .into_iter()
        .fold(vec![start], |found, segment| found.iter().flat_map(|found| step(found, segment)).collect())
}

/// The one value at a path, its `[]` being the given entries.
pub(super) fn one<'a>(object: &'a Value, path: &str, entries: &[Place]) -> Option<&'a Value> {
    if path.is_empty() {
        return None;
    }
    let mut entries = entries.iter();
    let found = segments(path).into_iter().try_fold(object, |value, segment| match segment {
        EACH => match entries.next()? {
            Place::Index(index) => value.get(index),
            Place::Key(key) => value.get(key),
        },
        key => child(value, key),
    });
    found.filter(|value| !value.is_null())
}

/// A path with the given entries in place of its `[]`.
pub(super) fn with_entries(path: &str, entries: &[Place]) -> String {
    let mut entries = entries.iter();
    let mut parts = path.split(EACH);
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| match entries.next() {
        Some(entry) => format!("{text}{}{part}", entry.in_words()),
        None => format!("{text}{part}"),
    })
}

impl Place {
    fn in_words(&self) -> String {
        match self {
            Self::Index(index) => format!("[{index}]"),
            Self::Key(key) => format!(".{key}"),
        }
    }
}

/// Every entry.
const EACH: &str = "[]";

fn step<'a>(found: &Found<'a>, segment: &str) -> Vec<Found<'a>> {
    let value = found.value;
    let into = |next: &'a Value, words: &str, entry: Option<Place>| Found {
        place: format!("{}{words}", found.place).trim_start_matches('.').to_owned(),
        entries: found.entries.iter().cloned().chain(entry).collect(),
        value: next,
        parent: value,
    };
    let entries: Vec<(Place, &'a Value)> = match (segment, value) {
        (EACH, Value::Array(items)) => {
            items.iter().enumerate().map(|(index, next)| (Place::Index(index), next)).collect()
        }
        (EACH, Value::Object(map)) => map.iter().map(|(key, next)| (Place::Key(key.clone()), next)).collect(),
        (EACH, _) => Vec::new(),
        (key, _) => {
            let words = if value.is_array() { format!("[{key}]") } else { format!(".{key}") };
            let next = child(value, key).filter(|next| !next.is_null());
            return next.map(|next| into(next, &words, None)).into_iter().collect();
        }
    };
    let there = entries.into_iter().filter(|(_, next)| !next.is_null());
    there.map(|(entry, next)| into(next, &entry.in_words(), Some(entry))).collect()
}

fn child<'a>(value: &'a Value, key: &str) -> Option<&'a Value> {
    match value {
        Value::Array(items) => items.get(key.parse::<usize>().ok()?),
        other => other.get(key),
    }
}

fn segments(path: &str) -> Vec<&str> {
    let mut segments = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = if let Some(inner) = rest.strip_prefix("[\"") {
            let (key, after) = inner.split_once("\"]").unwrap_or((inner, ""));
            segments.push(key);
            after
        } else if let Some(after) = rest.strip_prefix(EACH) {
            segments.push(EACH);
            after
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (index, after) = inner.split_once(']').unwrap_or((inner, ""));
            segments.push(index.trim_matches('\''));
            after
        } else {
            let rest = rest.strip_prefix('.').unwrap_or(rest);
            let end = rest.find(['.', '[']).unwrap_or(rest.len());
            segments.push(&rest[..end]);
            &rest[end..]
        };
    }
    segments
}
