//! Raw JSON → Subject: one reader for admission requests, files and the extender.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Body, Facts, NodeChange, Subject, Template, templates};
use crate::k8s::object::Meta;

/// What became of an object.
#[derive(Clone, Debug)]
pub enum Reading {
    /// It is of a kind that we judge.
    Subject(Box<Subject>),
    /// It is of a kind that is none of our business.
    NotOurs,
    /// It is of our kind and cannot be read.
    Unreadable(Unreadable),
}

/// Why an object cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {name}: {path}: {what}")]
pub struct Unreadable {
    /// Kind as written.
    pub kind: String,
    /// Name as written.
    pub name: String,
    /// Field path.
    pub path: String,
    /// What is wrong there.
    pub what: String,
}

/// Reads an object. `namespace` is the request's and wins over an empty one in the object.
#[must_use]
pub fn read(object: Arc<Value>, namespace: Option<&str>, facts: Facts) -> Reading {
    let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (word("apiVersion"), word("kind"));
    let body = match body(&api_version, &kind, &object, &facts) {
        Ok(Some(body)) => body,
        Ok(None) => return Reading::NotOurs,
        Err((path, what)) => {
            let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or("?").to_owned();
            return Reading::Unreadable(Unreadable { kind, name, path, what });
        }
    };
    let meta: Meta = object.get("metadata").and_then(|m| typed(m).ok()).unwrap_or_default();
    let namespace = match namespace {
        Some(namespace) if meta.namespace.is_empty() => namespace.to_owned(),
        _ => meta.namespace.clone(),
    };
    let name = meta.display_name();
    Reading::Subject(Box::new(Subject { api_version, kind, namespace, name, raw: object, body, facts }))
}

type Failure = (String, String);

fn body(api_version: &str, kind: &str, object: &Value, facts: &Facts) -> Result<Option<Body>, Failure> {
    Ok(Some(match (api_version, kind) {
        ("v1", "Pod") => Body::Pod(Box::new(typed(object)?)),
        ("policy/v1", "PodDisruptionBudget") => Body::Budget(Box::new(typed(object)?)),
        ("v1", "ResourceQuota") => Body::Quota(Box::new(typed(object)?)),
        ("v1", "LimitRange") => Body::Limits(Box::new(typed(object)?)),
        ("scheduling.k8s.io/v1", "PriorityClass") => Body::Priority(Box::new(typed(object)?)),
        ("v1", "Node") => {
            let old = facts.old.as_deref().map(typed).transpose()?;
            Body::Node(Box::new(NodeChange { new: typed(object)?, old }))
        }
        (
            _,
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration" | "KubeSchedulerConfiguration",
        ) => Body::Installation,
        _ => match templates::find(api_version, kind) {
            Some(row) => Body::Template(Box::new(Template {
                workload: typed(object)?,
                groups: templates::groups(row, object)?,
            })),
            None => return Ok(None),
        },
    }))
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| (error.path().to_string(), error.inner().to_string()))
}
