//! What a fixture file says.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
};

use serde::Deserialize;
use serde_json::Value;
use sluice::k8s::yaml;

use crate::sources;

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Fixture {
    #[serde(skip)]
    pub file: String,
    /// The fixture as it was read, for patches of it.
    #[serde(skip)]
    raw: Value,
    /// What happened, and what is right.
    #[allow(dead_code, reason = "for the reader")]
    about: String,
    /// Where the expectation differs from what one would expect at first, and why.
    #[allow(dead_code, reason = "for the reader")]
    #[serde(default)]
    note: Option<String>,
    /// The rule that the case is about; none where the right answer is that nothing is wrong.
    #[serde(default)]
    pub rule: Option<String>,
    /// Why it cannot be asserted yet.
    #[serde(default)]
    pub pending: Option<String>,
    /// Policies, where the built-in ones do not do.
    #[serde(default)]
    pub policies: Vec<Value>,
    /// The picture; left out: none is known.
    #[serde(default)]
    pub cluster: Option<Vec<Value>>,
    #[serde(default)]
    pub request: Request,
    /// What is judged.
    #[serde(default)]
    pub object: Option<Value>,
    /// What the scheduler asks the extender of a server with this picture, and the answers.
    #[serde(default)]
    pub extender: Vec<Question>,
    /// Files of the project that must look so.
    #[serde(default)]
    pub shipped: Vec<Shipped>,
    #[serde(default)]
    pub expect: Expectation,
    /// JSON Patch of the fixture that makes the object right.
    #[serde(default)]
    pub made_right: Vec<Value>,
    #[serde(default)]
    pub variants: Vec<Variant>,
}

/// Facts of the request.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Request {
    /// `check`, `mutate`, `validate` or `schedule`; `check` where absent.
    #[serde(default)]
    pub stage: Option<String>,
    #[serde(default)]
    pub operation: Option<String>,
    #[serde(default)]
    pub subresource: Option<String>,
    #[serde(default)]
    pub user: Option<String>,
    #[serde(default)]
    pub groups: Vec<String>,
    #[serde(default)]
    pub old: Option<Value>,
}

/// A question of the scheduler, and its answer.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Question {
    /// `filter`, `prioritize` or `preempt`.
    pub verb: String,
    pub ask: Value,
    /// The whole answer; or those of its fields that count.
    pub answer: Value,
}

/// A change of the fixture with what is expected then.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Variant {
    pub about: String,
    pub patch: Vec<Value>,
    pub expect: Expectation,
}

/// What is expected. What is left out is not looked at, except that findings are complete from `warn` on.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Expectation {
    #[serde(default)]
    pub verdict: Option<String>,
    /// Exactly the findings that are shown or refuse, by rule.
    #[serde(default)]
    pub findings: Option<BTreeMap<String, Said>>,
    /// Findings that are counted, among others.
    #[serde(default)]
    pub audit: Vec<String>,
    /// Rules that say nothing, not even to be counted.
    #[serde(default)]
    pub silent: Vec<String>,
    /// Exactly the rules by which something is changed, each with the paths (the stamp left out).
    #[serde(default)]
    pub changes: Option<BTreeMap<String, Vec<String>>>,
    /// What stands at these JSON pointers after the changes; `null`: nothing.
    #[serde(default)]
    pub changed: BTreeMap<String, Value>,
    /// Candidate pools in order of preference.
    #[serde(default)]
    pub pools: Option<Vec<String>>,
    /// `yes`, `busy RULE` or `never RULE` for each node.
    #[serde(default)]
    pub nodes: BTreeMap<String, String>,
    /// Nodes that fit, the best score first; strictly better from each to the next.
    #[serde(default)]
    pub prefers: Vec<String>,
    /// The policies are refused, with each of these words among the faults.
    #[serde(default)]
    pub refused_policies: Vec<String>,
    /// Ids of the doubts about the policies.
    #[serde(default)]
    pub policy_warnings: Vec<String>,
    /// Whether the object concerns us.
    #[serde(default)]
    pub relevant: Option<bool>,
}

/// What a finding says.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Said {
    pub severity: String,
    #[serde(default)]
    pub path: Option<String>,
    /// Words that its sentence must have.
    #[serde(default)]
    pub says: Vec<String>,
}

/// A value in every document of a file of the project.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub struct Shipped {
    pub file: String,
    /// Only documents of this kind.
    pub kind: String,
    /// JSON pointer to a list, every item of which is looked at; the document itself where absent.
    #[serde(default)]
    pub each: Option<String>,
    /// JSON pointer from there.
    pub at: String,
    #[serde(default)]
    pub equals: Option<Value>,
    #[serde(default)]
    pub at_most: Option<i64>,
    #[serde(default)]
    pub contains: Option<String>,
}

/// The part of file names that was asked for.
pub fn chosen() -> Option<String> {
    std::env::var("SLUICE_CASE").ok().filter(|part| !part.is_empty())
}

/// Every fixture, by number.
pub fn all() -> Vec<Fixture> {
    of("cases")
}

/// Every fixture of a folder of `tests/fixtures`, by name.
pub fn of(folder: &str) -> Vec<Fixture> {
    let folder = sources::root().join("tests/fixtures").join(folder);
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut names: Vec<String> =
        entries.map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names.retain(|name| name.ends_with(".yaml") && chosen().is_none_or(|part| name.contains(&part)));
    names.iter().map(|name| read(name, &fs::read_to_string(folder.join(name)).unwrap())).collect()
}

fn read(file: &str, text: &str) -> Fixture {
    let mut documents = yaml::documents(text);
    let document = documents.next().unwrap_or_else(|| panic!("{file} is empty"));
    let raw = document.unwrap_or_else(|e| panic!("{file}: {e}")).value;
    assert!(documents.next().is_none(), "{file}: one document a fixture");
    of_value(file, raw)
}

/// A case out of what a file says.
pub fn of_value(file: &str, raw: Value) -> Fixture {
    let read: Result<Fixture, _> = serde_path_to_error::deserialize(&raw);
    let fixture = read.unwrap_or_else(|e| panic!("{file}: {e}"));
    Fixture { file: file.to_owned(), raw, ..fixture }
}

impl Fixture {
    /// The number at the beginning of its file name.
    pub fn number(&self) -> &str {
        self.file.split('-').next().unwrap_or_default()
    }

    /// The fixture after a JSON Patch of it, with another expectation.
    pub fn changed(&self, patch: &[Value], expect: &Expectation) -> Self {
        let mut raw = self.raw.clone();
        let patch: json_patch::Patch = serde_json::from_value(Value::Array(patch.to_vec()))
            .unwrap_or_else(|e| panic!("{}: {e}", self.file));
        json_patch::patch(&mut raw, &patch).unwrap_or_else(|e| panic!("{}: {e}", self.file));
        Self { expect: expect.clone(), variants: Vec::new(), ..of_value(&self.file, raw) }
    }

    /// Its rule, which has a negative control, and those that some of its variants raise while others raise nothing.
    pub fn rules_and_controls(&self) -> BTreeSet<String> {
        let said = |expect: &Expectation| -> BTreeSet<String> {
            expect.findings.iter().flatten().map(|(rule, _)| rule).chain(&expect.audit).cloned().collect()
        };
        let silent = |variant: &Variant| variant.expect.findings.as_ref().is_some_and(BTreeMap::is_empty);
        let variants = self.variants.iter().filter(|_| self.variants.iter().any(silent));
        variants.flat_map(|variant| said(&variant.expect)).chain(self.rule.clone()).collect()
    }

    /// Whether there is anything that could come true.
    pub fn expects_something(&self) -> bool {
        let expect = &self.expect;
        expect.verdict.is_some()
            || expect.findings.is_some()
            || expect.changes.is_some()
            || !expect.nodes.is_empty()
            || !expect.refused_policies.is_empty()
            || !self.shipped.is_empty()
            || !self.extender.is_empty()
    }
}
