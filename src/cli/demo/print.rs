//! What the demo prints of a story.

use std::io::{self, Write};

use super::story::Story;
use crate::{
    decide::STAMP,
    report::json::{FitWord, NodeResult},
};

/// One story: who it is, where it may go and why, what was changed, which nodes fit; or the refusal in full.
pub(super) fn story(out: &mut impl Write, name: &str, description: &str, story: &Story) -> io::Result<()> {
    writeln!(out, "\n── {name}: {description}")?;
    writeln!(out, "Pod      {}/{}", story.subject.namespace, story.subject.name)?;
    if let Some(recognized) = &story.decision.class {
        writeln!(out, "class    {}, by {}", recognized.class, recognized.by)?;
    }
    if let Some(refusal) = &story.refusal {
        return indented(out, "refused", refusal.lines());
    }
    indented(out, "pools", pools(story).iter().map(String::as_str))?;
    indented(out, "changed", changes(story).iter().map(String::as_str))?;
    indented(out, "warned", story.warnings.iter().map(String::as_str))?;
    indented(out, "nodes", nodes(&story.nodes).iter().map(String::as_str))
}

fn indented<'a>(out: &mut impl Write, head: &str, lines: impl Iterator<Item = &'a str>) -> io::Result<()> {
    for (index, line) in lines.enumerate() {
        writeln!(out, "{:<9}{line}", if index == 0 { head } else { "" })?;
    }
    Ok(())
}

fn pools(story: &Story) -> Vec<String> {
    let mut lines: Vec<String> = story
        .decision
        .candidates
        .iter()
        .map(|candidate| {
            format!(
                "{}, by {}; choice {} of the class",
                candidate.pool,
                candidate.resource,
                candidate.rank + 1
            )
        })
        .collect();
    lines.extend(
        story
            .decision
            .skipped
            .iter()
            .map(|skipped| format!("not {}: {} ({})", skipped.what, skipped.reason, skipped.rule)),
    );
    lines
}

/// The changes, those of one rule with one reason together.
fn changes(story: &Story) -> Vec<String> {
    let mut lines: Vec<(&str, &str, Vec<&str>)> = Vec::new();
    for change in story.decision.applied_changes().filter(|change| change.rule != STAMP) {
        match lines.iter_mut().find(|(rule, why, _)| *rule == change.rule && *why == change.why) {
            Some((_, _, paths)) => paths.push(&change.path),
            None => lines.push((change.rule, &change.why, vec![&change.path])),
        }
    }
    lines.iter().map(|(rule, why, paths)| format!("{rule}: {why} ({})", paths.join(", "))).collect()
}

/// Nodes that fit with their scores, then the others by reason.
fn nodes(nodes: &[NodeResult]) -> Vec<String> {
    let fitting: Vec<String> = nodes
        .iter()
        .filter(|node| node.fit == FitWord::Yes)
        .map(|node| match node.score {
            Some(score) => format!("{} (score {score})", node.name),
            None => node.name.clone(),
        })
        .collect();
    let mut lines = vec![match fitting.as_slice() {
        [] => "none fits".to_owned(),
        names => format!("fit: {}", names.join(", ")),
    }];
    let mut reasons: Vec<(&str, FitWord)> =
        nodes.iter().filter_map(|node| Some((node.reason.as_deref()?, node.fit))).collect();
    reasons.dedup();
    let mut told: Vec<(&str, FitWord)> = Vec::new();
    for reason in reasons {
        if !told.contains(&reason) {
            told.push(reason);
        }
    }
    for (reason, fit) in told {
        let names: Vec<&str> = nodes
            .iter()
            .filter(|node| node.reason.as_deref() == Some(reason) && node.fit == fit)
            .map(|node| node.name.as_str())
            .collect();
        let word = if fit == FitWord::Busy { "busy" } else { "never" };
        lines.push(format!("{word}: {}: {reason}", names.join(", ")));
    }
    lines
}
