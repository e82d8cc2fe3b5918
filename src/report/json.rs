//! The report of `sluice check`: a stable contract with the programs that read it. Its JSON Schema is
//! `docs/check-report.schema.json`; fields are added, never renamed or removed within an API version.

mod stream;

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::{
    decide::{Decision, Verdict},
    policy::Severity,
    rules::{Change, Finding, Fit, Score, Skipped},
    subject::Subject,
};

pub use stream::{write, write_yaml};

/// API version of the report.
pub const API_VERSION: &str = "sluice.dev/v1alpha1";
/// Kind of the report.
pub const KIND: &str = "CheckReport";

/// What `sluice check` found.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CheckReport {
    /// Always `sluice.dev/v1alpha1`.
    pub api_version: String,
    /// Always `CheckReport`.
    pub kind: String,
    /// Revision of the policies: a git commit, a hash of their content, or `built-in`.
    pub revision: String,
    /// One result for each object that can be judged, in the order of the input.
    pub results: Vec<ObjectResult>,
}

/// What was found out about one object.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectResult {
    /// Which object.
    pub object: ObjectReference,
    /// Where it stands; absent for objects that come from no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePlace>,
    /// The class that was recognised; null for none.
    pub class: Option<String>,
    /// What the class was recognised by, such as `image vllm/vllm-openai`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognized_by: Option<String>,
    /// Pools that can serve it, in order of preference.
    pub pools: Vec<String>,
    /// Pools, and terms of the class, that cannot serve it.
    pub skipped: Vec<SkippedPool>,
    /// What admission would say.
    pub verdict: VerdictWord,
    /// Everything that is wrong, in stable order.
    pub findings: Vec<FindingResult>,
    /// What the engine changes, with the reason of each change.
    pub changes: Vec<ChangeResult>,
    /// The JSON Patch (RFC 6902) of the mutating webhook; empty where it changes nothing.
    #[schemars(with = "Vec<PatchOperation>")]
    pub patch: Vec<Value>,
    /// Ids of rules that could not be judged for want of a picture of the cluster.
    pub not_judged: Vec<String>,
    /// Nodes of the given cluster and whether it can run there; empty without a cluster.
    pub nodes: Vec<NodeResult>,
    /// Id of the decision: equal for equal Pods under the same policies.
    pub decision: String,
}

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ObjectReference {
    /// Its `apiVersion`.
    pub api_version: String,
    /// Its `kind`.
    pub kind: String,
    /// Its namespace; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Its name, or `generateName` followed by `*`.
    pub name: String,
}

/// Where an object stands.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SourcePlace {
    /// File as it was named; `-` for standard input.
    pub file: String,
    /// Position among the documents of the file that hold something, from 1.
    pub document: usize,
    /// Line at which the object begins, from 1.
    pub line: usize,
    /// The template that made it, where the document says so as `helm template` does (`# Source: …`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<String>,
}

/// What admission would say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VerdictWord {
    /// Nothing to say.
    Allow,
    /// Allowed with something to say.
    Warn,
    /// Refused.
    Deny,
}

/// One problem.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct FindingResult {
    /// Rule id; `sluice explain RULE` tells more.
    pub rule: String,
    /// Effective severity.
    pub severity: Severity,
    /// Field path from the object's root.
    pub path: String,
    /// Container that the path lies in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Line of the file at which the field stands, from 1; absent for objects that come from no file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The PolicyException that lowers it to `audit`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub excepted_by: Option<String>,
    /// The reason with which the manifest suppresses it, where the policy lets it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suppressed: Option<String>,
    /// What is.
    pub is: String,
    /// What should be.
    pub should: String,
    /// How to get there.
    pub remedy: String,
    /// All three in one sentence.
    pub message: String,
}

/// One change of the engine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ChangeResult {
    /// Rule id, or `stamp` for the record of the decision itself.
    pub rule: String,
    /// Field path from the object's root.
    pub path: String,
    /// Why.
    pub why: String,
}

/// A pool or term that cannot serve the object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SkippedPool {
    /// Name of the pool, or the term of the class in words.
    pub what: String,
    /// Rule whose condition fails.
    pub rule: String,
    /// Why.
    pub reason: String,
}

/// A node of the given cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct NodeResult {
    /// Name.
    pub name: String,
    /// Whether the Pod can run there.
    pub fit: FitWord,
    /// Rule that stands against it, where it does not fit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// Why, as the scheduler is told.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// How well it fits beside the others, 0 to 10.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub score: Option<i64>,
    /// What the score is made of, each part from 0 to 10.
    #[serde(rename = "scoreParts", skip_serializing_if = "Option::is_none")]
    pub score_parts: Option<ScoreParts>,
}

/// The parts of a score, the most important first; each from 0 to 10, more is better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ScoreParts {
    /// The class's own order of pools.
    pub preference: u32,
    /// Cheaper pools, among equally preferred ones.
    pub cost: u32,
    /// Tenants that do not disturb it.
    pub company: u32,
    /// Little of a slice that stays unused.
    pub remnant: u32,
    /// Packed or spread, as the class wants.
    pub packing: u32,
    /// Free GPU memory.
    pub free_memory: u32,
}

/// Whether a Pod can run on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum FitWord {
    /// Now.
    Yes,
    /// Once there is room.
    Busy,
    /// Not while the node is what it is.
    Never,
}

/// Shape of a patch operation, for the schema alone: the patch itself is already JSON.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "only its schema is used")]
struct PatchOperation {
    /// `add`, `replace`, `remove`, `test`, `move` or `copy`.
    op: String,
    /// JSON Pointer (RFC 6901).
    path: String,
    /// JSON Pointer of the origin of `move` and `copy`.
    from: Option<String>,
    /// New value.
    value: Option<Value>,
}

/// The JSON Schema of the report.
#[must_use]
pub fn schema() -> Value {
    schemars::schema_for!(CheckReport).into()
}

impl ObjectResult {
    /// The result of one object; `nodes` and the lines of findings are for the caller to add.
    #[must_use]
    pub fn new(subject: &Subject, decision: &Decision) -> Self {
        Self {
            object: ObjectReference {
                api_version: subject.api_version.clone(),
                kind: subject.kind.clone(),
                namespace: subject.namespace.clone(),
                name: subject.name.clone(),
            },
            source: None,
            class: decision.class.as_ref().map(|recognized| recognized.class.to_string()),
            recognized_by: decision.class.as_ref().map(|recognized| recognized.by.clone()),
            pools: decision.candidates.iter().map(|candidate| candidate.pool.to_string()).collect(),
            skipped: decision.skipped.iter().map(SkippedPool::from).collect(),
            verdict: decision.verdict.into(),
            findings: decision.findings.iter().map(FindingResult::from).collect(),
            changes: decision.changes.iter().map(ChangeResult::from).collect(),
            patch: operations(decision, &subject.raw),
            not_judged: decision.not_judged.iter().map(|&rule| rule.to_owned()).collect(),
            nodes: Vec::new(),
            decision: decision.id.clone(),
        }
    }
}

impl NodeResult {
    /// What was found out about the nodes of a question. Points compare the nodes that fit with each other.
    #[must_use]
    pub fn all(fits: &[(&str, Fit)]) -> Vec<Self> {
        let yes = |fit: &Fit| if let Fit::Yes(score) = fit { Some(*score) } else { None };
        let scores: Vec<Score> = fits.iter().filter_map(|(_, fit)| yes(fit)).collect();
        let mut points = Score::points(&scores).into_iter();
        let result = |(name, fit): &(&str, Fit)| {
            let (word, rule) = match fit {
                Fit::Yes(_) => (FitWord::Yes, None),
                Fit::Busy(rule) => (FitWord::Busy, Some(rule)),
                Fit::Never(rule) => (FitWord::Never, Some(rule)),
            };
            let score = yes(fit);
            Self {
                name: (*name).to_owned(),
                fit: word,
                rule: rule.map(|rule| rule.id.to_owned()),
                reason: rule.map(|rule| super::filter_reason(rule)),
                score: score.and_then(|_| points.next()),
                score_parts: score.map(ScoreParts::from),
            }
        };
        fits.iter().map(result).collect()
    }
}

impl From<Score> for ScoreParts {
    fn from(score: Score) -> Self {
        let [preference, cost, company, remnant, packing, free_memory] =
            score.parts().map(|(_, part)| u32::from(part));
        Self { preference, cost, company, remnant, packing, free_memory }
    }
}

impl FitWord {
    /// The word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Yes => "yes",
            Self::Busy => "busy",
            Self::Never => "never",
        }
    }
}

impl VerdictWord {
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

impl From<Verdict> for VerdictWord {
    fn from(verdict: Verdict) -> Self {
        match verdict {
            Verdict::Allow => Self::Allow,
            Verdict::Warn => Self::Warn,
            Verdict::Deny => Self::Deny,
        }
    }
}

impl From<&Finding> for FindingResult {
    fn from(finding: &Finding) -> Self {
        Self {
            rule: finding.rule.to_owned(),
            severity: finding.severity,
            path: finding.path.clone(),
            container: finding.container.clone(),
            line: None,
            excepted_by: finding.excepted_by.as_ref().map(ToString::to_string),
            suppressed: finding.suppressed.clone(),
            is: finding.is.clone(),
            should: finding.should.clone(),
            remedy: finding.remedy.clone(),
            message: finding.message(),
        }
    }
}

impl From<&Change> for ChangeResult {
    fn from(change: &Change) -> Self {
        Self { rule: change.rule.to_owned(), path: change.path.clone(), why: change.why.clone() }
    }
}

impl From<&Skipped> for SkippedPool {
    fn from(skipped: &Skipped) -> Self {
        Self { what: skipped.what.clone(), rule: skipped.rule.to_owned(), reason: skipped.reason.clone() }
    }
}

fn operations(decision: &Decision, raw: &Value) -> Vec<Value> {
    match serde_json::to_value(decision.patch(raw)) {
        Ok(Value::Array(operations)) => operations,
        _ => Vec::new(),
    }
}
