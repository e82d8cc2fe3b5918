//! From JSON to the lean types, with an error that says where an object cannot be read.

use std::fmt;

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    cluster::{Key, Kind},
    k8s::object::{Labels, Meta, QuantityText, ResourceList},
    k8s::quantity::Quantity,
};

/// An object that the picture cannot take in. The picture is unchanged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReadError {
    /// Kind as the object names it.
    pub kind: String,
    /// Namespace and name, as far as they can be read: `ns/name`.
    pub object: String,
    /// Field path; empty for the object itself.
    pub path: String,
    /// What is wrong there.
    pub problem: String,
}

impl fmt::Display for ReadError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, object, path, problem } = self;
        let kind = if kind.is_empty() { "object" } else { kind };
        write!(f, "{kind} {object}: ")?;
        if !path.is_empty() {
            write!(f, "{path}: ")?;
        }
        f.write_str(problem)
    }
}

impl std::error::Error for ReadError {}

/// Reads an object of that kind.
pub(super) fn read<T: DeserializeOwned>(kind: Kind, object: &Value) -> Result<T, ReadError> {
    // The path costs time, so it is only looked for where reading failed.
    T::deserialize(object).or_else(|_| {
        serde_path_to_error::deserialize(object).map_err(|error| {
            let path = error.path().to_string();
            fault(kind.as_str(), object, &path, error.into_inner().to_string())
        })
    })
}

/// Reads a part of an object that stands at `path`.
pub(super) fn read_part<T: DeserializeOwned>(
    kind: Kind,
    object: &Value,
    part: &Value,
    path: &str,
) -> Result<T, ReadError> {
    serde_path_to_error::deserialize(part).map_err(|error| {
        let path = format!("{path}.{}", error.path());
        fault(kind.as_str(), object, &path, error.into_inner().to_string())
    })
}

/// An error about an object.
pub(super) fn fault(kind: &str, object: &Value, path: &str, problem: impl Into<String>) -> ReadError {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    let name = match (text("namespace"), text("name")) {
        ("", "") => "without a name".to_owned(),
        ("", name) => name.to_owned(),
        (namespace, name) => format!("{namespace}/{name}"),
    };
    ReadError { kind: kind.to_owned(), object: name, path: path.to_owned(), problem: problem.into() }
}

/// Where the object stands in the picture.
pub(super) fn key(kind: Kind, object: &Value) -> Result<Key, ReadError> {
    let text = |key: &str| object["metadata"][key].as_str().unwrap_or_default();
    let name = text("name");
    if name.is_empty() {
        return Err(fault(kind.as_str(), object, "metadata.name", "is missing"));
    }
    // kubectl and the API server put objects that name no namespace into `default`.
    let namespace = match text("namespace") {
        _ if !kind.row().namespaced => "",
        "" => "default",
        namespace => namespace,
    };
    Ok(Key::new(namespace, name))
}

/// The quantities of a list as amounts; `path` leads to the list.
pub(super) fn quantities<'a>(
    list: &'a ResourceList,
    mut wanted: impl FnMut(&str) -> bool + 'a,
) -> impl Iterator<Item = Result<(&'a str, Quantity), (&'a str, String)>> {
    list.iter().filter(move |(name, _)| wanted(name)).map(|(name, text): (&String, &QuantityText)| {
        Quantity::try_from(text)
            .map(|amount| (name.as_str(), amount))
            .map_err(|error| (name.as_str(), error.to_string()))
    })
}

/// Metadata without what nobody reads: only the annotations of `keep` stay.
pub(super) fn prune(meta: &mut Meta, keep: &[&str]) {
    meta.annotations = kept(&meta.annotations, keep);
    meta.generate_name = String::new();
}

/// The entries of `labels` whose keys stand in `keep`.
pub(super) fn kept(labels: &Labels, keep: &[&str]) -> Labels {
    keep.iter()
        .filter_map(|key| labels.get_key_value(*key))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
