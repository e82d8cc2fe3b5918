//! `kind: PolicyTest`: a test of a policy repository, run by `sluice test`. The loader of policies passes it
//! over, because it stands below a folder `tests`.

use std::collections::{BTreeMap, BTreeSet};

use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::{ApiVersion, Metadata};

/// A test of policies: a cluster, manifests, and what is expected of each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyTest {
    /// Group and version of this schema.
    pub api_version: ApiVersion,
    /// Always `PolicyTest`.
    pub kind: PolicyTestKind,
    /// Name of the test, unique in the repository.
    pub metadata: Metadata,
    /// What is tested.
    pub spec: PolicyTestSpec,
}

/// The value of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum PolicyTestKind {
    /// The only value.
    PolicyTest,
}

/// A cluster, manifests, and what is expected of each. Paths begin at the folder of this file.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PolicyTestSpec {
    /// What it shows, in one line.
    #[serde(default)]
    pub description: String,
    /// Folder of the policies, or `built-in`; left out: those of the run.
    #[schemars(extend("examples" = ["built-in"]))]
    pub policies: Option<String>,
    /// File of the cluster: what `sluice snapshot` or `kubectl get nodes -o yaml` prints; left out: nothing is
    /// known of the cluster, as in `sluice check` without one.
    #[schemars(extend("examples" = ["../clusters/four-pools.yaml"]))]
    pub cluster: Option<String>,
    /// Kubernetes objects that the cluster holds beside those of the file.
    #[serde(default)]
    pub objects: Vec<Value>,
    /// Namespace of manifests that name none; left out: `default`.
    pub namespace: Option<String>,
    /// The time at which is judged, RFC 3339: exceptions end by it. Left out: the time of the run.
    #[schemars(extend("examples" = ["2027-03-01T00:00:00Z"]))]
    pub now: Option<String>,
    /// Manifests, as they would be applied.
    #[serde(default)]
    pub manifests: Vec<Value>,
    /// Files and folders of manifests; they follow those of `manifests`.
    #[serde(default)]
    #[schemars(extend("examples" = [["../../deploy/chat.yaml"]]))]
    pub files: Vec<String>,
    /// What is expected of each: in the order of the manifests, or of the one that `object` names.
    pub expect: Vec<Expectation>,
}

/// What is expected of one object; what is left out is not compared.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// The object, `Kind/name`; left out: the manifest at the place of this entry.
    #[schemars(extend("examples" = ["Deployment/chat"]))]
    pub object: Option<String>,
    /// What admission says.
    pub verdict: Option<ExpectedVerdict>,
    /// The class; empty: none.
    pub class: Option<String>,
    /// The pools that can serve it, exactly, in order of preference.
    pub pools: Option<Vec<String>>,
    /// The rules of what is shown (refused or warned about), exactly.
    pub rules: Option<BTreeSet<String>>,
    /// Rules by which something is changed, at least.
    pub changes: Option<BTreeSet<String>>,
    /// Parts of the patch, at least.
    #[serde(default)]
    pub patch: Vec<PatchPart>,
    /// The nodes on which it fits, exactly.
    pub nodes: Option<BTreeSet<String>>,
    /// Single nodes: `yes`, `busy`, `never`, or the rule that stands against it.
    #[serde(default)]
    #[schemars(extend("examples" = [{"l4-1": "never", "h100-1": "yes"}]))]
    pub fit: BTreeMap<String, ExpectedFit>,
}

/// Whether it fits on a node.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum ExpectedFit {
    /// `yes`, `busy`, `never`, or the rule that stands against it.
    Word(String),
    /// What YAML of Kubernetes' kind makes of an unquoted `yes`.
    Bool(bool),
}

/// What admission says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ExpectedVerdict {
    /// Nothing to say.
    Allow,
    /// Allowed with something to say.
    Warn,
    /// Refused.
    Deny,
}

/// An operation of the patch (RFC 6902), as far as it matters.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchPart {
    /// `add`, `replace` or `remove`; left out: any.
    pub op: Option<String>,
    /// JSON Pointer (RFC 6901), `*` as wildcard.
    #[schemars(extend("examples" = ["/spec/priorityClassName"]))]
    pub path: String,
    /// The value; of objects, the fields that are given.
    pub value: Option<Value>,
}

impl ExpectedFit {
    /// The word.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::Word(word) => word,
            Self::Bool(true) => "yes",
            Self::Bool(false) => "no",
        }
    }
}

impl ExpectedVerdict {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Deny => "deny",
        }
    }
}
