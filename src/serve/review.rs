//! `admission.k8s.io/v1`: the AdmissionReview that comes and the one that goes.
//!
//! Only what is used is typed; the objects stay raw JSON, so that fields of a newer API survive.

use std::{collections::BTreeMap, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::gate::Failure;
use crate::subject::{Facts, Operation, Stage};

const API_VERSION: &str = "admission.k8s.io/v1";
const KIND: &str = "AdmissionReview";

/// What the API server asks.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionRequest {
    pub(super) uid: String,
    #[serde(default)]
    pub(super) kind: ObjectKind,
    pub(super) operation: String,
    pub(super) sub_resource: Option<String>,
    pub(super) namespace: Option<String>,
    user_info: Option<UserInfo>,
    object: Option<Value>,
    old_object: Option<Value>,
    dry_run: Option<bool>,
}

/// Kind of the object, as the API server names it.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ObjectKind {
    #[serde(default)]
    pub(super) kind: String,
}

#[derive(Debug, Default, Deserialize)]
struct UserInfo {
    #[serde(default)]
    username: String,
    #[serde(default)]
    groups: Option<Vec<String>>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Asked {
    #[serde(default)]
    api_version: String,
    #[serde(default)]
    kind: String,
    request: Option<AdmissionRequest>,
}

/// What we answer.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct AdmissionResponse {
    pub(super) uid: String,
    pub(super) allowed: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) status: Option<Status>,
    /// Base64 of the JSON Patch; never without `patch_type`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) patch_type: Option<&'static str>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub(super) audit_annotations: BTreeMap<&'static str, String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(super) warnings: Vec<String>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Answered<'a> {
    api_version: &'static str,
    kind: &'static str,
    response: &'a AdmissionResponse,
}

/// `metav1.Status`.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Status {
    api_version: &'static str,
    kind: &'static str,
    status: &'static str,
    code: u16,
    reason: &'static str,
    message: String,
}

impl AdmissionRequest {
    /// Reads a request, or says what is wrong with it in a way that helps its writer.
    pub(super) fn parse(body: &[u8]) -> Result<Self, Failure> {
        let asked: Asked = serde_json::from_slice(body).map_err(|_| Failure::Malformed(complaint(body)))?;
        if asked.kind != KIND || asked.api_version != API_VERSION {
            return Err(Failure::Malformed(format!(
                "expected apiVersion {API_VERSION} and kind {KIND}, got {:?} and {:?}; list v1 in the \
                 webhook's admissionReviewVersions",
                asked.api_version, asked.kind
            )));
        }
        let request = asked.request.ok_or_else(|| Failure::Malformed("request is missing".to_owned()))?;
        if request.uid.is_empty() {
            return Err(Failure::Malformed("request.uid is empty".to_owned()));
        }
        Ok(request)
    }

    /// The operation.
    pub(super) fn operation(&self) -> Result<Operation, Failure> {
        Operation::parse(&self.operation).ok_or_else(|| {
            Failure::Malformed(format!(
                "request.operation is {:?}; should be CREATE, UPDATE, DELETE or CONNECT",
                self.operation
            ))
        })
    }

    /// The object and the facts of the request at `now` (Unix seconds); leaves the rest in place.
    pub(super) fn take(
        &mut self,
        stage: Stage,
        operation: Operation,
        now: i64,
    ) -> Option<(Arc<Value>, Facts)> {
        let user = self.user_info.take().unwrap_or_default();
        let facts = Facts {
            operation,
            subresource: self.sub_resource.clone().filter(|name| !name.is_empty()),
            old: self.old_object.take().map(Arc::new),
            user: user.username,
            groups: user.groups.unwrap_or_default(),
            dry_run: self.dry_run.unwrap_or(false),
            now,
            ..Facts::new(stage)
        };
        Some((Arc::new(self.object.take()?), facts))
    }
}

impl AdmissionResponse {
    /// Allowed, with nothing to say.
    pub(super) fn allowed(uid: String) -> Self {
        Self { uid, allowed: true, ..Self::default() }
    }

    /// Refused with that text.
    pub(super) fn refused(uid: String, code: u16, reason: &'static str, message: String) -> Self {
        Self { uid, status: Some(Status::failure(code, reason, message)), ..Self::default() }
    }

    /// The AdmissionReview as JSON.
    pub(super) fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        serde_json::to_vec(&Answered { api_version: API_VERSION, kind: KIND, response: self })
    }
}

impl Status {
    pub(super) fn failure(code: u16, reason: &'static str, message: String) -> Self {
        Self { api_version: "v1", kind: "Status", status: "Failure", code, reason, message }
    }
}

/// What is wrong with a body that was not read: reads it again, keeping track of the path.
fn complaint(body: &[u8]) -> String {
    let reader = &mut serde_json::Deserializer::from_slice(body);
    match serde_path_to_error::deserialize::<_, Asked>(reader) {
        Err(error) if error.inner().is_data() => {
            format!("not an AdmissionReview: {}: {}", error.path(), error.inner())
        }
        Err(error) => format!("not JSON: {}", error.inner()),
        Ok(_) => "not JSON: more follows after its end".to_owned(),
    }
}
