//! Documents: what each file holds, by kind, as raw types.

use serde::de::DeserializeOwned;
use serde_json::Value as Json;
use serde_path_to_error::Segment;

use super::{
    compile::Place,
    error::{Faults, Position, nearest},
    load::{SourceFile, is_policy_file},
    raw::{self, API_VERSION, Kind},
    shape,
    tree::{self, Node, Value},
};
use crate::k8s::{names, object::PriorityClass};

/// One document of a file.
#[derive(Debug)]
pub(super) struct Document {
    pub file: String,
    /// Which of our kinds it says it is; none for a PriorityClass.
    pub kind: Option<Kind>,
    pub name: Option<(String, Position)>,
    pub node: Node,
    /// Nothing where its form is faulty.
    pub raw: Option<Raw>,
}

/// What a document says.
#[derive(Debug)]
pub(super) enum Raw {
    Pool(Box<raw::GpuPool>),
    Class(Box<raw::WorkloadClass>),
    Policy(Box<raw::AdmissionPolicy>),
    Exception(Box<raw::PolicyException>),
    Priority(Box<PriorityClass>),
}

/// Longest name of a policy: it becomes a label value.
const NAME_MAX: usize = names::NAME_MAX;

/// Reads every document of every policy file that concerns us.
pub(super) fn read_all(files: &[SourceFile], all: &mut Faults<'_>) -> Vec<Document> {
    let mut documents = Vec::new();
    for file in files.iter().filter(|file| is_policy_file(&file.path)) {
        let mut faults = Faults::new(&file.path);
        for chunk in tree::chunks(&file.text) {
            if tree::head(chunk).is_some_and(|(version, kind)| is_foreign(&version, &kind)) {
                continue;
            }
            match tree::parse(chunk) {
                Ok(node) => documents.extend(read(node, &file.path, &mut faults)),
                Err((at, why)) => faults.push(at, "bad YAML".to_owned(), why, None),
            }
        }
        all.absorb(faults);
    }
    documents
}

/// An object that is neither ours nor read for its own sake.
fn is_foreign(version: &str, kind: &str) -> bool {
    let named = !version.is_empty() && !kind.is_empty();
    named && group(version) != raw::GROUP && Kind::parse(kind).is_none() && !is_priority_class(version, kind)
}

fn is_priority_class(version: &str, kind: &str) -> bool {
    group(version) == "scheduling.k8s.io" && kind == "PriorityClass"
}

fn group(version: &str) -> &str {
    version.split_once('/').map_or("", |(group, _)| group)
}

/// A document of ours or a PriorityClass; nothing for other objects and for what has no recognisable kind.
fn read(node: Node, file: &str, faults: &mut Faults<'_>) -> Option<Document> {
    let version = node.get("apiVersion").and_then(Node::text).unwrap_or_default();
    let kind = node.get("kind").and_then(Node::text).unwrap_or_default();
    let document = |kind, name, raw, node| Some(Document { file: file.to_owned(), kind, name, node, raw });
    if is_priority_class(version, kind) {
        let raw = priority_class(&node, faults).map(|class| Raw::Priority(Box::new(class)));
        return document(None, None, raw, node);
    }
    let kind = ours(&node, version, kind, faults)?;
    let name = name(&node, faults);
    let raw = shape::check(&node, kind, faults).and_then(|json| into_raw(json, kind, &node, faults));
    document(Some(kind), name, raw, node)
}

/// Which of our kinds a document means to be, with faults where it does not quite say so.
fn ours(node: &Node, version: &str, kind: &str, faults: &mut Faults<'_>) -> Option<Kind> {
    if !matches!(node.value, Value::Map(_)) {
        let what = format!("the document is {}", node.value.noun());
        faults.push(node.at, what, "a policy is a mapping with apiVersion and kind", None);
        return None;
    }
    let in_group = group(version) == raw::GROUP;
    match Kind::parse(kind) {
        Some(kind) => Some(kind),
        None if in_group => {
            let at = node.get("kind").map_or(node.at, |kind| kind.at);
            let what = if kind.is_empty() { "no kind".to_owned() } else { format!("unknown kind `{kind}`") };
            let why = format!("{API_VERSION} has {}", Kind::ALL.map(Kind::as_str).join(", "));
            faults.push(at, what, why, nearest(kind, Kind::ALL.map(Kind::as_str)));
            None
        }
        None if version.is_empty() || kind.is_empty() => {
            let missing = if version.is_empty() { "apiVersion" } else { "kind" };
            let why = "every object of a policy directory says what it is";
            faults.push(node.at, format!("no {missing}"), why, None);
            None
        }
        None => None,
    }
}

fn name(node: &Node, faults: &mut Faults<'_>) -> Option<(String, Position)> {
    let name = node.get("metadata")?.get("name")?;
    let text = name.text()?;
    let ends = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let allowed = text.chars().all(|c| ends(c) || c == '-') && text.starts_with(ends) && text.ends_with(ends);
    if !allowed || text.len() > NAME_MAX {
        let why = format!(
            "a name has lower-case letters, digits and `-`, begins and ends with a letter or digit, and at most {NAME_MAX} characters"
        );
        let better: String = text.to_lowercase().chars().map(|c| if ends(c) { c } else { '-' }).collect();
        let better = better.trim_matches('-').to_owned();
        let suggestion = (!better.is_empty() && better.len() <= NAME_MAX).then(|| format!("`{better}`"));
        faults.push(name.at, format!("bad name `{text}`"), why, suggestion);
    }
    Some((text.to_owned(), name.at))
}

fn into_raw(json: Json, kind: Kind, node: &Node, faults: &mut Faults<'_>) -> Option<Raw> {
    match kind {
        Kind::GpuPool => typed(json, node, faults).map(|raw| Raw::Pool(Box::new(raw))),
        Kind::WorkloadClass => typed(json, node, faults).map(|raw| Raw::Class(Box::new(raw))),
        Kind::AdmissionPolicy => typed(json, node, faults).map(|raw| Raw::Policy(Box::new(raw))),
        Kind::PolicyException => typed(json, node, faults).map(|raw| Raw::Exception(Box::new(raw))),
    }
}

/// The schema is made from the types, so what passed it is read; should the two ever differ, the fault is
/// told instead of the document being dropped.
fn typed<T: DeserializeOwned>(json: Json, node: &Node, faults: &mut Faults<'_>) -> Option<T> {
    match serde_path_to_error::deserialize(json) {
        Ok(raw) => Some(raw),
        Err(error) => {
            let place = error.path().iter().fold(Place::of(node), |place, step| match step {
                Segment::Map { key } => place.key(key),
                Segment::Seq { index } => place.item(*index),
                Segment::Enum { .. } | Segment::Unknown => place,
            });
            faults.push(place.at(), format!("bad {}", error.path()), error.inner().to_string(), None);
            None
        }
    }
}

fn priority_class(node: &Node, faults: &mut Faults<'_>) -> Option<PriorityClass> {
    typed(node.to_json(), node, faults)
}
