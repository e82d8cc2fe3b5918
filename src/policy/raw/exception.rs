//! `kind: PolicyException`.

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ApiVersion, Metadata, Selector};

/// An exception from rules, for a time, that somebody answers for.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyException {
    /// Group and version of this schema.
    pub api_version: ApiVersion,
    /// Always `PolicyException`.
    pub kind: PolicyExceptionKind,
    /// Name of the exception.
    pub metadata: Metadata,
    /// What is excepted.
    pub spec: PolicyExceptionSpec,
}

/// The value of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PolicyExceptionKind {
    /// The only value.
    PolicyException,
}

/// What is excepted, for whom, why, and until when.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyExceptionSpec {
    /// Rule ids (`sluice explain` lists them).
    #[schemars(extend("examples" = [["rollout-needs-spare-gpu"]]))]
    pub rules: Vec<String>,
    /// Namespaces, `*` as wildcard; at least one.
    #[schemars(extend("examples" = [["team-speech"]]))]
    pub namespaces: Vec<String>,
    /// Names of the objects, `*` as wildcard; empty: all.
    #[serde(default)]
    pub names: Vec<String>,
    /// Labels of the Pod or its template.
    pub labels: Option<Selector>,
    /// Who answers for it.
    #[schemars(extend("examples" = ["team-speech@example.com"]))]
    pub owner: String,
    /// Why it is needed.
    pub reason: String,
    /// When it becomes void: a day (the last on which it holds, UTC) or a time with zone (RFC 3339).
    #[schemars(extend("examples" = ["2027-03-31", "2027-03-31T18:00:00Z"]))]
    pub expires: String,
}
