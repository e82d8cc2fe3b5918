//! Tests of a policy repository (`policy::raw::PolicyTest`): read, and what was seen compared with what was
//! expected.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, ensure};
use serde_json::Value;

use super::input;
use crate::{
    k8s::yaml,
    policy::raw::{Expectation, PatchPart, PolicyTest},
    report::policy_tests::Difference,
};

/// What came of one object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Seen {
    /// `allow`, `warn` or `deny`.
    pub verdict: String,
    /// Class; empty for none.
    pub class: String,
    /// Candidate pools, in order of preference.
    pub pools: Vec<String>,
    /// Rules of what is shown.
    pub rules: BTreeSet<String>,
    /// Rules of the changes.
    pub changes: BTreeSet<String>,
    /// Operations of the patch.
    pub patch: Vec<Value>,
    /// Nodes that fit; `None` where nobody asked.
    pub nodes: Option<BTreeSet<String>>,
    /// Of every node that was asked its word and the rule that stands against it.
    pub fit: BTreeMap<String, (String, String)>,
    /// What is known of rules, pools and nodes by name, for who wonders about one.
    pub reasons: BTreeMap<String, String>,
}

/// Reads a test. A text of another kind is none.
///
/// # Errors
/// What is wrong with it, beginning with file and line.
pub(super) fn read(file: &str, text: &str) -> anyhow::Result<PolicyTest> {
    let mut documents = yaml::documents(text);
    let document = documents.next().with_context(|| format!("{file} is empty"))?;
    let document = document.map_err(|fault| anyhow::anyhow!("{file}:{fault}"))?;
    ensure!(documents.next().is_none(), "{file} holds several documents; one test is one file");
    let test: PolicyTest = serde_path_to_error::deserialize(&document.value).map_err(|error| {
        let path = error.path().to_string();
        let keys = input::keys(&path);
        let line = document.places().line(keys.iter().map(String::as_str));
        anyhow::anyhow!("{file}:{line}: {path}: {}", error.inner())
    })?;
    ensure!(!test.spec.expect.is_empty(), "{file}: nothing is expected, so nothing is tested");
    Ok(test)
}

/// Where what was seen differs.
pub(super) fn differences(expected: &Expectation, seen: &Seen) -> Vec<Difference> {
    let mut found = Found { seen, differences: Vec::new() };
    if let Some(verdict) = expected.verdict.filter(|verdict| verdict.as_str() != seen.verdict) {
        found.plain("verdict", verdict.as_str(), &seen.verdict);
    }
    if let Some(class) = expected.class.as_ref().filter(|class| **class != seen.class) {
        found.plain("class", &or_none(class), &or_none(&seen.class));
    }
    if let Some(pools) = expected.pools.as_ref().filter(|pools| **pools != seen.pools) {
        found.lists("pools", pools.iter(), seen.pools.iter());
    }
    if let Some(rules) = expected.rules.as_ref().filter(|rules| **rules != seen.rules) {
        found.lists("rules", rules.iter(), seen.rules.iter());
    }
    if let Some(changes) = expected.changes.as_ref().filter(|changes| !changes.is_subset(&seen.changes)) {
        found.plain("changes", &format!("at least {}", list(changes)), &list(&seen.changes));
    }
    for part in
        expected.patch.iter().filter(|part| !seen.patch.iter().any(|operation| holds(part, operation)))
    {
        found.patch(part);
    }
    match (&expected.nodes, &seen.nodes) {
        (Some(wanted), Some(got)) if wanted != got => found.lists("nodes", wanted.iter(), got.iter()),
        (Some(wanted), None) => found.plain("nodes", &list(wanted), "no question, it was refused"),
        _ => {}
    }
    for (node, wanted) in &expected.fit {
        let wanted = wanted.as_str();
        let (word, rule) =
            seen.fit.get(node).cloned().unwrap_or_else(|| ("no such node".into(), String::new()));
        if wanted != word && wanted != rule {
            let got = if rule.is_empty() { word } else { format!("{word} by {rule}") };
            found.plain("fit", &format!("{wanted} on {node}"), &got);
        }
    }
    found.differences
}

struct Found<'a> {
    seen: &'a Seen,
    differences: Vec<Difference>,
}

impl Found<'_> {
    fn plain(&mut self, what: &'static str, expected: &str, got: &str) {
        let (expected, got) = (expected.to_owned(), got.to_owned());
        self.differences.push(Difference { what, expected, got, details: Vec::new() });
    }

    /// With a line for each name that only one of the two has.
    fn lists<'a>(
        &mut self,
        what: &'static str,
        expected: impl Iterator<Item = &'a String> + Clone,
        got: impl Iterator<Item = &'a String> + Clone,
    ) {
        let named = |sign: char, name: &String| match self.seen.reasons.get(name) {
            Some(reason) => format!("{sign} {name}  {reason}"),
            None => format!("{sign} {name}"),
        };
        let missing = expected.clone().filter(|name| !got.clone().any(|other| other == *name));
        let added = got.clone().filter(|name| !expected.clone().any(|other| other == *name));
        let details =
            missing.map(|name| named('-', name)).chain(added.map(|name| named('+', name))).collect();
        self.differences.push(Difference { what, expected: list(expected), got: list(got), details });
    }

    /// With the operations that there are.
    fn patch(&mut self, part: &PatchPart) {
        let op = part.op.as_deref().unwrap_or("any operation");
        let value = part.value.as_ref().map_or_else(String::new, |value| format!(" with {value}"));
        let details = self.seen.patch.iter().map(|operation| format!("+ {operation}")).collect();
        let (expected, got) = (format!("{op} at {}{value}", part.path), "none such".to_owned());
        self.differences.push(Difference { what: "patch", expected, got, details });
    }
}

/// Whether an operation of a patch is what was expected of one.
fn holds(part: &PatchPart, operation: &Value) -> bool {
    let path = operation["path"].as_str().unwrap_or_default();
    part.op.as_ref().is_none_or(|op| operation["op"] == *op.as_str())
        && crate::policy::wildcard(&part.path, path)
        && part.value.as_ref().is_none_or(|value| includes(&operation["value"], value))
}

/// Whether a value is the wanted one; an object may have more fields.
fn includes(value: &Value, wanted: &Value) -> bool {
    match (value, wanted) {
        (Value::Object(value), Value::Object(wanted)) => {
            wanted.iter().all(|(key, wanted)| value.get(key).is_some_and(|value| includes(value, wanted)))
        }
        (Value::Array(values), Value::Array(wanted)) => {
            values.len() == wanted.len() && values.iter().zip(wanted).all(|(v, w)| includes(v, w))
        }
        _ => value == wanted,
    }
}

fn list<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    or_none(&words.into_iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests;
