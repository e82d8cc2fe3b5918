//! `sluice snapshot`: a live cluster as documents that read back to the same decisions.
//!
//! A snapshot is sent to colleagues and put beside bug reports, so it holds nothing that is secret: no
//! Secrets, no environment values but those that rules read, no argument that names a key or a token.

use kube::{Client, Error, api::ListParams};
use serde_json::{Map, Value, json};

use crate::{
    cluster::{Kind, NODE_ANNOTATIONS, POD_ANNOTATIONS, SNAPSHOT_KIND},
    live::object::{self, in_full, paths},
};

/// Environment variables whose values rules read; of all others only the name is kept.
pub const READ_VARIABLES: &[&str] = &[
    "CUDA_DEVICE_ORDER",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE",
    "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT",
    "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES",
    "NVIDIA_IMEX_CHANNELS",
    "NVIDIA_MIG_CONFIG_DEVICES",
    "NVIDIA_MIG_MONITOR_DEVICES",
    "NVIDIA_VISIBLE_CDI_DEVICES",
    "NVIDIA_VISIBLE_DEVICES",
];

/// Objects in a page of a list.
const PAGE: u32 = 250;

/// What stands in place of a secret value.
const REDACTED: &str = "REDACTED";

/// A snapshot that cannot be taken.
#[derive(Debug, thiserror::Error)]
#[error("{kind} cannot be listed: {}", in_full(.error))]
pub struct SnapshotError {
    /// The kind.
    pub kind: Kind,
    /// Why.
    pub error: Error,
}

/// Lists every kind of the picture and gives the documents, the marker first. Kinds that the server does
/// not have are left out, of the marker too. `taken_at` is an RFC 3339 time.
///
/// # Errors
/// A kind that the server has and does not show.
pub async fn take(client: &Client, taken_at: &str) -> Result<Vec<Value>, SnapshotError> {
    let mut kinds = Vec::new();
    let mut documents = vec![Value::Null];
    for kind in Kind::ALL {
        if let Some(objects) = list(client, kind).await? {
            kinds.push(kind);
            documents.extend(objects);
        }
    }
    if let Some(first) = documents.first_mut() {
        *first = marker(&kinds, taken_at);
    }
    Ok(documents)
}

/// The document with which a snapshot of these kinds begins.
#[must_use]
pub fn marker(kinds: &[Kind], taken_at: &str) -> Value {
    json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": SNAPSHOT_KIND,
        "spec": {
            "takenAt": taken_at,
            "kinds": kinds.iter().map(|kind| kind.as_str()).collect::<Vec<_>>(),
        },
    })
}

/// An object as it stands in a snapshot: what the picture and the rules read of it, and no secret.
#[must_use]
pub fn document(kind: Kind, mut object: Value) -> Value {
    object["apiVersion"] = kind.row().api_version().into();
    object["kind"] = kind.as_str().into();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        prune_metadata(metadata);
    }
    const POD_STATUS: &[&str] = &["phase", "reason", "conditions", "startTime", "resourceClaimStatuses"];
    let template: &[&str] = match kind {
        Kind::Pod => {
            keep(&mut object, &["status"], POD_STATUS);
            &[]
        }
        Kind::Node => {
            keep(&mut object, &["status"], &["allocatable", "capacity", "conditions", "nodeInfo"]);
            keep(&mut object, &["status", "nodeInfo"], &["kubeletVersion", "bootID"]);
            return ordered(object);
        }
        Kind::CronJob => &["spec", "jobTemplate", "spec", "template"],
        kind if kind.is_workload() => &["spec", "template"],
        _ => return ordered(object),
    };
    if let Some(template) = at(&mut object, template) {
        prune_template(template);
    }
    ordered(object)
}

async fn list(client: &Client, kind: Kind) -> Result<Option<Vec<Value>>, SnapshotError> {
    let fault = |error| SnapshotError { kind, error };
    for path in paths(kind) {
        let mut documents = Vec::new();
        let mut page = ListParams { limit: Some(PAGE), ..ListParams::default() };
        loop {
            let list = match object::list(client, &path, &page).await {
                Ok(list) => list,
                Err(Error::Api(status)) if status.code == 404 => break,
                Err(error) => return Err(fault(error)),
            };
            page.continue_token = list.next();
            for object in list.objects() {
                let value = object.value().map_err(|error| fault(Error::SerdeError(error)))?;
                documents.push(document(kind, value));
            }
            if page.continue_token.is_none() {
                return Ok(Some(documents));
            }
        }
    }
    Ok(None)
}

fn prune_metadata(metadata: &mut Map<String, Value>) {
    for key in ["managedFields", "selfLink", "finalizers"] {
        metadata.remove(key);
    }
    if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
        annotations.retain(|key, _| {
            NODE_ANNOTATIONS.contains(&key.as_str()) || POD_ANNOTATIONS.contains(&key.as_str())
        });
        if annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

/// A Pod, or a template of Pods.
fn prune_template(template: &mut Value) {
    if let Some(metadata) = template.get_mut("metadata").and_then(Value::as_object_mut) {
        prune_metadata(metadata);
    }
    if let Some(spec) = template.get_mut("spec") {
        prune_pod(spec);
    }
}

fn prune_pod(spec: &mut Value) {
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let containers = spec.get_mut(list).and_then(Value::as_array_mut);
        containers.into_iter().flatten().for_each(prune_container);
    }
}

fn prune_container(container: &mut Value) {
    let variables = container.get_mut("env").and_then(Value::as_array_mut);
    for variable in variables.into_iter().flatten().filter_map(Value::as_object_mut) {
        let read = variable.get("name").and_then(Value::as_str).is_some_and(|n| READ_VARIABLES.contains(&n));
        if !read && variable.contains_key("value") {
            variable.insert("value".to_owned(), REDACTED.into());
        }
    }
    for list in ["command", "args"] {
        if let Some(words) = container.get_mut(list).and_then(Value::as_array_mut) {
            redact(words);
        }
    }
}

/// Hides what follows a word that names a secret: `--api-key=…`, `--hf-token …`, `PASSWORD=…`. A script
/// that names one anywhere is hidden whole.
fn redact(words: &mut [Value]) {
    let mut hide_next = false;
    for word in words {
        let Some(text) = word.as_str() else { continue };
        let is_flag = text.starts_with('-');
        let hidden = if hide_next && !is_flag {
            Some(REDACTED.to_owned())
        } else if !names_secret(text) {
            None
        } else if text.contains(char::is_whitespace) {
            Some(REDACTED.to_owned())
        } else {
            text.split_once('=').map(|(name, _)| format!("{name}={REDACTED}"))
        };
        hide_next = is_flag && names_secret(text) && !text.contains('=');
        if let Some(hidden) = hidden {
            *word = hidden.into();
        }
    }
}

fn names_secret(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    // `--max-tokens` and `--tokenizer` are engine arguments, and are read.
    let words = text.split(|letter: char| !letter.is_ascii_alphanumeric());
    words.into_iter().any(|word| {
        matches!(
            word,
            "key" | "apikey" | "token" | "password" | "passwd" | "secret" | "credential" | "credentials"
        )
    })
}

/// Keeps only these entries of the object at a path.
fn keep(object: &mut Value, path: &[&str], keys: &[&str]) {
    if let Some(object) = at(object, path).and_then(Value::as_object_mut) {
        object.retain(|key, _| keys.contains(&key.as_str()));
    }
}

fn at<'a>(object: &'a mut Value, path: &[&str]) -> Option<&'a mut Value> {
    path.iter().try_fold(object, |value, key| value.get_mut(key))
}

/// `apiVersion` and `kind` first, as people expect it.
fn ordered(object: Value) -> Value {
    let Value::Object(mut rest) = object else { return object };
    let mut ordered = Map::new();
    for key in ["apiVersion", "kind", "metadata"] {
        if let Some(value) = rest.shift_remove(key) {
            ordered.insert(key.to_owned(), value);
        }
    }
    ordered.extend(rest);
    Value::Object(ordered)
}
