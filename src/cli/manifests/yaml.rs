//! YAML that people review: plain, with expressions as blocks of their own lines.

use super::{ApiRule, Condition, excluded_namespaces};

/// First line of every file made here.
pub(super) fn header(what: &str) -> String {
    let what: String = what.lines().map(|line| format!("# {line}\n")).collect();
    format!("# Generated from the tables of the code by `make generate`.\n{what}")
}

/// Indents every line that is not empty.
pub(super) fn indent(text: &str, by: usize) -> String {
    let pad = " ".repeat(by);
    text.lines()
        .map(|line| if line.is_empty() { "\n".to_owned() } else { format!("{pad}{line}\n") })
        .collect()
}

/// A comment of lines that fit.
pub(super) fn comment(text: &str) -> String {
    text.lines().map(|line| format!("# {line}\n")).collect()
}

/// `- name: …` with `expression: |-`.
pub(super) fn condition(condition: &Condition) -> String {
    format!("- name: {}\n  expression: |-\n{}", condition.name, indent(&condition.expression, 4))
}

/// `namespaceSelector:` that leaves the excluded namespaces out. A name cannot be changed, a label could.
pub(super) fn namespace_selector(own: &str) -> String {
    let names: String = excluded_namespaces(own).iter().map(|name| format!("    - {name}\n")).collect();
    format!(
        "namespaceSelector:\n  matchExpressions:\n  - key: kubernetes.io/metadata.name\n    operator: NotIn\n    values:\n{names}"
    )
}

/// One entry of `rules:` or `resourceRules:`.
pub(super) fn rule(rule: &ApiRule) -> String {
    let list = |words: &[&str]| words.join(", ");
    format!(
        "- apiGroups: [\"{}\"]\n  apiVersions: [{}]\n  operations: [{}]\n  resources: [{}]\n  scope: {}\n",
        rule.group,
        list(rule.versions),
        list(rule.operations),
        list(&rule.resources),
        if rule.namespaced { "Namespaced" } else { "Cluster" },
    )
}
