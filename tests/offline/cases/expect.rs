//! What was expected against what was said.

use std::{collections::BTreeMap, fs};

use serde_json::Value;
use sluice::{
    decide::{Decision, STAMP},
    k8s::yaml,
    policy::Severity,
    rules::Fit,
};

use super::{
    fixture::{Expectation, Fixture, Said, Shipped},
    setting::{Outcome, in_words},
};
use crate::sources;

/// Sentences on everything that is not as expected.
pub fn differences(fixture: &Fixture, outcome: &Outcome) -> Vec<String> {
    let expect = &fixture.expect;
    let mut wrong = policies(expect, outcome);
    wrong.extend(fixture.shipped.iter().flat_map(shipped));
    if let Some(decision) = &outcome.decision {
        wrong.extend(decided(expect, decision));
    } else if expect.verdict.is_some() {
        wrong.push("nothing was judged".to_owned());
    }
    for (pointer, want) in &expect.changed {
        let is =
            outcome.changed.as_ref().and_then(|changed| changed.pointer(pointer)).unwrap_or(&Value::Null);
        if is != want {
            wrong.push(format!("at {pointer} is {is}, expected {want}"));
        }
    }
    for (node, want) in &expect.nodes {
        let is = outcome.nodes.get(node).map_or_else(|| "no such node".to_owned(), in_words);
        if is != *want {
            wrong.push(format!("node {node} is {is}, expected {want}"));
        }
    }
    wrong.extend(preference(expect, outcome));
    wrong.extend(outcome.unlike.iter().cloned());
    wrong
}

fn decided(expect: &Expectation, decision: &Decision) -> Vec<String> {
    let mut wrong = Vec::new();
    if let Some(want) = expect.verdict.as_deref().filter(|want| *want != decision.verdict.as_str()) {
        wrong.push(format!("verdict is {}, expected {want}", decision.verdict));
    }
    if let Some(want) = expect.relevant.filter(|want| *want != decision.relevant) {
        wrong.push(format!("relevant is {}, expected {want}", decision.relevant));
    }
    if let Some(want) = &expect.findings {
        wrong.extend(findings(want, decision));
    }
    for rule in &expect.audit {
        if !decision.findings.iter().any(|f| f.rule == rule && f.severity == Severity::Audit) {
            wrong.push(format!("{rule} is not counted"));
        }
    }
    for rule in &expect.silent {
        if decision.findings.iter().any(|finding| finding.rule == rule) {
            wrong.push(format!("{rule} speaks"));
        }
    }
    if let Some(want) = &expect.changes {
        let mut is: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for change in decision.changes.iter().filter(|change| change.rule != STAMP) {
            is.entry(change.rule.to_owned()).or_default().push(change.path.clone());
        }
        if is != *want {
            wrong.push(format!("changes are {is:?}, expected {want:?}"));
        }
    }
    let pools: Vec<&str> = decision.candidates.iter().map(|candidate| &*candidate.pool).collect();
    if let Some(want) = expect.pools.as_ref().filter(|want| **want != pools) {
        wrong.push(format!("pools are {pools:?}, expected {want:?}"));
    }
    wrong
}

fn findings(want: &BTreeMap<String, Said>, decision: &Decision) -> Vec<String> {
    let shown = decision.findings.iter().filter(|finding| finding.severity > Severity::Audit);
    let mut wrong: Vec<String> = shown
        .filter(|finding| !want.contains_key(finding.rule))
        .map(|finding| format!("{} was not expected", finding.rule))
        .collect();
    for (rule, said) in want {
        let fits = |finding: &&sluice::rules::Finding| {
            let message = finding.message();
            finding.rule == rule
                && finding.severity.to_string() == said.severity
                && said.path.as_ref().is_none_or(|path| *path == finding.path)
                && said.says.iter().all(|words| message.contains(words))
        };
        if !decision.findings.iter().any(|finding| fits(&finding)) {
            wrong.push(format!("expected {rule}: {said:?}"));
        }
    }
    wrong
}

fn policies(expect: &Expectation, outcome: &Outcome) -> Vec<String> {
    let mut wrong = Vec::new();
    if expect.refused_policies.is_empty() && !outcome.faults.is_empty() {
        wrong.push("the policies are refused".to_owned());
    }
    for words in &expect.refused_policies {
        if !outcome.faults.iter().any(|fault| fault.contains(words)) {
            wrong.push(format!("no fault of the policies says `{words}`"));
        }
    }
    for id in expect.policy_warnings.iter().filter(|id| !outcome.doubts.contains(id)) {
        wrong.push(format!("no doubt {id} about the policies"));
    }
    wrong
}

fn preference(expect: &Expectation, outcome: &Outcome) -> Vec<String> {
    let points = |node: &String| match outcome.nodes.get(node) {
        Some(Fit::Yes(score)) => Some(*score),
        _ => None,
    };
    let pairs = expect.prefers.iter().zip(expect.prefers.iter().skip(1));
    pairs
        .filter(|(better, worse)| points(better).is_none() || points(better) <= points(worse))
        .map(|(better, worse)| {
            format!("{better} ({:?}) is not preferred to {worse} ({:?})", points(better), points(worse))
        })
        .collect()
}

/// What a file of the project must look like.
fn shipped(want: &Shipped) -> Vec<String> {
    let path = sources::root().join(&want.file);
    let Ok(text) = fs::read_to_string(&path) else { return vec![format!("{} is not there", want.file)] };
    let mut wrong = Vec::new();
    let mut seen = 0;
    for document in yaml::documents(&text).map(|document| document.unwrap().value) {
        if document["kind"] != want.kind.as_str() {
            continue;
        }
        let items: Vec<&Value> = match &want.each {
            Some(list) => document.pointer(list).and_then(Value::as_array).into_iter().flatten().collect(),
            None => vec![&document],
        };
        for item in items {
            seen += 1;
            let is = item.pointer(&want.at).unwrap_or(&Value::Null);
            let equal = want.equals.as_ref().is_none_or(|equals| equals == is);
            let small = want.at_most.is_none_or(|most| is.as_i64().is_some_and(|is| is <= most));
            let has = want.contains.as_ref().is_none_or(|words| is.to_string().contains(words));
            if !equal || !small || !has {
                wrong
                    .push(format!("{}: {} at {} of {} is {is}", want.file, want.kind, want.at, item["name"]));
            }
        }
    }
    if seen == 0 {
        wrong.push(format!("{}: no {} was looked at", want.file, want.kind));
    }
    wrong
}
