//! Test cases of a policy repository: one file a case, with a cluster, manifests and what is expected.
//!
//! ```yaml
//! apiVersion: sluice.dev/v1alpha1
//! kind: PolicyTest
//! metadata: {name: llm}
//! spec:
//!   description: an LLM gets whole cards
//!   cluster: ../clusters/four-pools.yaml   # from this file
//!   manifests: [ … ]                       # objects, as they would be applied
//!   expect:                                # one entry for each manifest, in order
//!   - verdict: allow
//!     class: llm
//!     pools: [h100-80gb-exclusive]         # exactly, in order of preference
//!     rules: []                            # of what is shown, exactly
//!     changes: [affinity-added]            # at least
//!     nodes: [h100-whole-1]                # that fit, exactly
//! ```
//! What an entry leaves out is not compared.

use std::collections::BTreeSet;

use anyhow::{Context, ensure};
use serde::Deserialize;
use serde_json::Value;

use crate::k8s::yaml;

/// One case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    /// Its name.
    pub metadata: Metadata,
    /// What it holds.
    pub spec: Spec,
}

/// `metadata` of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Metadata {
    /// Name, unique among the cases.
    pub name: String,
}

/// `spec` of a case.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spec {
    /// What it shows, in one line.
    #[serde(default)]
    pub description: String,
    /// File of the cluster, from the folder of the case.
    pub cluster: String,
    /// Objects, as they would be applied.
    pub manifests: Vec<Value>,
    /// What is expected of each.
    pub expect: Vec<Expectation>,
}

/// What is expected of one object; what is absent is not compared.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Expectation {
    verdict: Option<String>,
    class: Option<String>,
    pools: Option<Vec<String>>,
    rules: Option<BTreeSet<String>>,
    changes: Option<BTreeSet<String>>,
    nodes: Option<BTreeSet<String>>,
}

/// What came of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
    /// Nodes that fit; `None` where nobody asked.
    pub nodes: Option<BTreeSet<String>>,
}

impl Case {
    /// Reads a case.
    ///
    /// # Errors
    /// What is wrong with it, beginning with `file`.
    pub fn read(file: &str, text: &str) -> anyhow::Result<Self> {
        let mut documents = yaml::documents(text);
        let document = documents.next().with_context(|| format!("{file} is empty"))?;
        let document = document.map_err(|fault| anyhow::anyhow!("{file}:{fault}"))?;
        ensure!(documents.next().is_none(), "{file} holds several documents; one case is one file");
        let case: Self = serde_path_to_error::deserialize(&document.value)
            .map_err(|error| anyhow::anyhow!("{file}: {}: {}", error.path(), error.inner()))?;
        let is_test = case.api_version == "sluice.dev/v1alpha1" && case.kind == "PolicyTest";
        ensure!(is_test, "{file} is no PolicyTest of sluice.dev/v1alpha1");
        let (manifests, expected) = (case.spec.manifests.len(), case.spec.expect.len());
        ensure!(manifests == expected, "{file}: {manifests} manifests and {expected} entries under expect");
        Ok(case)
    }
}

impl Expectation {
    /// Where what was seen differs, a line each.
    pub fn differences(&self, seen: &Seen) -> Vec<String> {
        let mut lines = Vec::new();
        let mut differ = |what: &str, wanted: String, got: String| {
            lines.push(format!("{what}: expected {wanted}, got {got}"));
        };
        match &self.verdict {
            Some(verdict) if *verdict != seen.verdict => {
                differ("verdict", verdict.clone(), seen.verdict.clone())
            }
            _ => {}
        }
        match &self.class {
            Some(class) if *class != seen.class => differ("class", class.clone(), or_none(&seen.class)),
            _ => {}
        }
        match &self.pools {
            Some(pools) if *pools != seen.pools => differ("pools", list(pools), list(&seen.pools)),
            _ => {}
        }
        match &self.rules {
            Some(rules) if *rules != seen.rules => differ("rules", list(rules), list(&seen.rules)),
            _ => {}
        }
        match &self.changes {
            Some(changes) if !changes.is_subset(&seen.changes) => {
                differ("changes", format!("at least {}", list(changes)), list(&seen.changes));
            }
            _ => {}
        }
        match (&self.nodes, &seen.nodes) {
            (Some(wanted), Some(got)) if wanted != got => differ("nodes", list(wanted), list(got)),
            (Some(wanted), None) => differ("nodes", list(wanted), "no question, it was refused".to_owned()),
            _ => {}
        }
        lines
    }
}

fn list<'a>(words: impl IntoIterator<Item = &'a String>) -> String {
    or_none(&words.into_iter().map(String::as_str).collect::<Vec<_>>().join(", "))
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "none".to_owned() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CASE: &str = "apiVersion: sluice.dev/v1alpha1\nkind: PolicyTest\nmetadata: {name: a}\n\
                        spec: {cluster: c.yaml, manifests: [{kind: Pod}], expect: [{verdict: allow, nodes: [node-1]}]}\n";

    fn seen() -> Seen {
        Seen { verdict: "allow".into(), nodes: Some(BTreeSet::from(["node-1".into()])), ..Seen::default() }
    }

    #[test]
    fn what_is_expected_and_seen_makes_no_difference_and_what_is_left_out_is_not_compared() {
        let case = Case::read("a.yaml", CASE).expect("a case");
        let seen = Seen { class: "llm".into(), pools: vec!["p".into()], ..seen() };
        assert_eq!(case.spec.expect[0].differences(&seen), Vec::<String>::new());
    }

    #[test]
    fn every_difference_is_told() {
        let words = |words: &[&str]| Some(words.iter().map(|word| (*word).to_owned()).collect());
        let expected = Expectation {
            verdict: Some("deny".into()),
            class: Some("llm".into()),
            pools: Some(vec!["p".into()]),
            rules: words(&["r"]),
            changes: words(&["c"]),
            nodes: words(&["node-2"]),
        };
        assert_eq!(
            expected.differences(&seen()),
            [
                "verdict: expected deny, got allow",
                "class: expected llm, got none",
                "pools: expected p, got none",
                "rules: expected r, got none",
                "changes: expected at least c, got none",
                "nodes: expected node-2, got node-1",
            ]
        );
        let refused = Seen { nodes: None, ..seen() };
        let nodes = Expectation { nodes: words(&["node-2"]), ..Expectation::default() };
        assert_eq!(nodes.differences(&refused), ["nodes: expected node-2, got no question, it was refused"]);
    }

    #[test]
    fn a_case_with_a_misspelt_key_or_a_missing_expectation_is_no_case() {
        let misspelt = Case::read("a.yaml", &CASE.replace("verdict", "verdikt"));
        assert!(misspelt.is_err_and(|error| error.to_string().starts_with("a.yaml: spec.expect[0]")));
        let missing = Case::read("a.yaml", &CASE.replace("{verdict: allow, nodes: [node-1]}", ""));
        assert!(missing.is_err_and(|error| error.to_string().contains("1 manifests and 0 entries")));
    }
}
