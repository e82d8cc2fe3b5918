//! The rules in words: `docs/rules.md` and `sluice explain RULE`, both from `rules::ALL`.

use std::fmt::Write;

use super::text::{line, sentence};
use crate::{
    cluster::Kind,
    rules::{self, Applies, Check, Family, Rule},
};

/// `docs/rules.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Rules\n\n\
         Generated from `src/rules/` by `make generate`.\n\n\
         A rule refuses (`deny`) only where the Pod certainly cannot run as asked, would run on something \
         that it must not, or would harm others; what is probable warns (`warn`), what is worth counting is \
         `audit`. An AdmissionPolicy can set each severity. What needs a picture of the cluster is not judged \
         without one.\n",
    );
    contents(&mut text);
    for family in families() {
        let _ = write!(text, "\n## {}\n", title(family));
        for rule in rules::ALL.iter().filter(|rule| rule.family == family) {
            section(&mut text, rule);
        }
    }
    text
}

/// The text of `sluice explain RULE`.
#[must_use]
pub fn explain(rule: &Rule) -> String {
    let mut text = format!("{}: {}\n\n{}\n", rule.id, rule.summary, sentence(rule.why));
    for (head, body) in facts(rule) {
        let _ = write!(text, "\n{head:<11}{body}");
    }
    text.push('\n');
    text
}

/// Ids that are most like this word, best first, for "did you mean".
#[must_use]
pub fn similar(word: &str) -> Vec<&'static str> {
    const ENOUGH: f64 = 0.7;
    let mut near: Vec<(f64, &str)> = rules::ids()
        .into_iter()
        .map(|id| (if id.contains(word) { 1.0 } else { strsim::jaro_winkler(word, id) }, id))
        .filter(|(likeness, _)| *likeness >= ENOUGH)
        .collect();
    near.sort_by(|a, b| b.0.total_cmp(&a.0));
    near.into_iter().map(|(_, id)| id).take(3).collect()
}

/// The families that have rules, in the catalogue's order.
fn families() -> Vec<Family> {
    let mut families: Vec<Family> = rules::ALL.iter().map(|rule| rule.family).collect();
    families.sort();
    families.dedup();
    families
}

fn contents(text: &mut String) {
    text.push_str("\n| rule | family | severity | holds when |\n|---|---|---|---|\n");
    for family in families() {
        for rule in rules::ALL.iter().filter(|rule| rule.family == family) {
            let summary = rule.summary.replace('|', "\\|");
            let _ = writeln!(
                text,
                "| [{id}](#{id}) | {} | {} | {summary} |",
                title(family),
                rule.severity,
                id = rule.id
            );
        }
    }
}

fn section(text: &mut String, rule: &Rule) {
    let _ = write!(
        text,
        "\n### {}\n\n{}\n\n{}\n\n",
        rule.id,
        sentence(&capitalised(rule.summary)),
        sentence(rule.why)
    );
    for (head, body) in facts(rule) {
        let _ = writeln!(text, "- {head} {body}");
    }
}

fn facts(rule: &Rule) -> Vec<(&'static str, String)> {
    let mut facts = vec![
        ("fix:", sentence(rule.remedy)),
        ("severity:", format!("{}, because {}", rule.severity, sentence(rule.severity_because))),
        ("judges:", format!("{}{}", applies(rule.applies), found(rule.check))),
    ];
    if !rule.needs.is_empty() {
        facts.push(("needs:", format!("a picture of the cluster's {}", needs(rule.needs))));
    }
    if !rule.sources.is_empty() {
        facts.push(("sources:", rule.sources.join("; ")));
    }
    facts.into_iter().map(|(head, body)| (head, line(&body))).collect()
}

const fn applies(applies: Applies) -> &'static str {
    match applies {
        Applies::Pods => "Pods, and the Pods of templates",
        Applies::Templates => "templates: counts and rollout",
        Applies::Budgets => "PodDisruptionBudgets, and templates that one selects",
        Applies::Quotas => "ResourceQuotas",
        Applies::Limits => "LimitRanges",
        Applies::Priorities => "PriorityClasses, and Pods that have one",
        Applies::EphemeralContainers => "debug containers that are added to a Pod",
        Applies::NodeChanges => "changes of Nodes",
        Applies::Nodes => "a Pod on a node",
        Applies::Policies => "policy files",
        Applies::Installation => "webhook and scheduler configurations, authorities",
    }
}

const fn found(check: Check) -> &'static str {
    match check {
        Check::Case(_) => "",
        Check::Placement => ", while a pool is chosen and the Pod is changed",
        Check::Node => ", when the scheduler asks",
        Check::Loader => ", when they are loaded",
    }
}

fn needs(kinds: &[Kind]) -> String {
    kinds.iter().map(|kind| format!("{kind:?}s")).collect::<Vec<_>>().join(", ")
}

pub(super) const fn title(family: Family) -> &'static str {
    match family {
        Family::Resources => "Resources",
        Family::Placement => "Placement",
        Family::Taints => "Taints",
        Family::Mig => "MIG",
        Family::Priority => "Priority",
        Family::ProbesAndRollout => "Probes and rollout",
        Family::Disruption => "Disruption",
        Family::Sharing => "Sharing and memory",
        Family::Parallelism => "Parallelism",
        Family::Bypass => "Bypass",
        Family::Dra => "Dynamic resource allocation",
        Family::Quota => "Quota",
        Family::NodeLifecycle => "Node lifecycle",
        Family::Installation => "Installation",
    }
}

fn capitalised(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
