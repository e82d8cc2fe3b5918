//! Raw JSON → Subject: one reader for admission requests, files and the extender.

use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    Body, Facts, Installation, NodeChange, Subject, Template,
    templates::{self, AddedKind},
};
use crate::k8s::object::{Meta, Workload};

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

/// Reads an object of a kind of the table. `namespace` is the request's and wins over an empty one in the object.
#[must_use]
pub fn read(object: Arc<Value>, namespace: Option<&str>, facts: Facts) -> Reading {
    read_as(object, namespace, facts, Kinds::default())
}

/// Kinds outside the table that hold Pod templates.
#[derive(Clone, Copy, Debug, Default)]
pub struct Kinds<'a> {
    /// Those that policies add.
    pub added: &'a [AddedKind],
    /// Whether documents of all others are searched.
    pub search: bool,
}

/// The same with kinds outside the table.
#[must_use]
pub fn read_as(object: Arc<Value>, namespace: Option<&str>, facts: Facts, kinds: Kinds<'_>) -> Reading {
    let word = |key: &str| object.get(key).and_then(Value::as_str).unwrap_or_default().to_owned();
    let (api_version, kind) = (word("apiVersion"), word("kind"));
    let body = match body(&api_version, &kind, &object, &facts, kinds) {
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

fn body(
    api_version: &str,
    kind: &str,
    object: &Value,
    facts: &Facts,
    kinds: Kinds<'_>,
) -> Result<Option<Body>, Failure> {
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
            "admissionregistration.k8s.io/v1",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => Body::Installation(Box::new(Installation::Webhooks(typed(object)?))),
        (version, "KubeSchedulerConfiguration") if version.starts_with("kubescheduler.config.k8s.io/") => {
            Body::Installation(Box::new(Installation::Scheduler(typed(object)?)))
        }
        ("cert-manager.io/v1", "Certificate") if object.pointer("/spec/isCA") == Some(&Value::Bool(true)) => {
            Body::Installation(Box::new(Installation::Authority(typed(object)?)))
        }
        _ => return Ok(template(api_version, kind, object, kinds)?.map(Box::new).map(Body::Template)),
    }))
}

fn template(
    api_version: &str,
    kind: &str,
    object: &Value,
    kinds: Kinds<'_>,
) -> Result<Option<Template>, Failure> {
    if let Some(row) = templates::find(api_version, kind) {
        // What other projects call by the same names may be of other types.
        let workload = if row.is_core() { typed(object)? } else { others_workload(object) };
        let groups = templates::groups(row, object)?;
        return Ok(Some(Template { workload, groups, owner: row.owner.to_owned() }));
    }
    let added = templates::find_added(kinds.added, api_version, kind);
    let groups = match added {
        Some(row) => templates::added_groups(row, object)?,
        None if kinds.search => templates::search(object)?,
        None => return Ok(None),
    };
    let workload = others_workload(object);
    Ok((added.is_some() || !groups.is_empty()).then(|| Template { workload, groups, owner: kind.to_owned() }))
}

/// Metadata, and of the rest what is of the types that Kubernetes' own kinds have.
fn others_workload(object: &Value) -> Workload {
    typed(object).unwrap_or_else(|_| {
        let metadata = object.get("metadata").and_then(|metadata| typed(metadata).ok());
        Workload { metadata: metadata.unwrap_or_default(), ..Workload::default() }
    })
}

fn typed<T: DeserializeOwned>(value: &Value) -> Result<T, Failure> {
    serde_path_to_error::deserialize(value)
        .map_err(|error| (error.path().to_string(), error.inner().to_string()))
}
