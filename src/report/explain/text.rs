//! An explanation for people.

use std::io::{self, Write};

use super::{Explanation, PoolStep, TermStep};
use crate::{
    decide::STAMP,
    report::{
        json::{FindingResult, FitWord, SkippedPool},
        table::{Paint, object_name},
        text::line,
    },
};

/// Writes it, with ANSI colours where wanted.
///
/// # Errors
/// The writer's.
pub fn write(out: &mut impl Write, explanation: &Explanation, colour: bool) -> io::Result<()> {
    let paint = Paint { colour };
    let object = &explanation.object;
    let source = explanation.source.as_ref().map_or_else(String::new, |s| format!("  {}:{}", s.file, s.line));
    let name = format!("{} {}{source}", object.kind, object_name(object));
    writeln!(out, "{}", paint.bold(&line(&name)))?;
    let mut decided = format!(
        "under policy {} (action {}), revision {}",
        explanation.policy, explanation.action, explanation.revision
    );
    if !explanation.decision.is_empty() {
        decided += &format!(", decision {}", explanation.decision);
    }
    writeln!(out, "{} {}", paint.verdict(explanation.verdict), line(&decided))?;
    let steps = [
        ("Does it concern us?", relevance(explanation)),
        ("Which class?", class(explanation)),
        ("Which pools, in the order of the class?", pools(explanation)),
        ("What is changed?", changes(explanation)),
        ("What is wrong?", findings(explanation, paint)),
        ("Which nodes can run it now?", nodes(explanation)),
    ];
    // What does not concern us has no further steps.
    let count = if explanation.relevance.is_empty() { 1 } else { steps.len() };
    for (number, (head, lines)) in steps.into_iter().take(count).enumerate() {
        writeln!(out, "\n{}", paint.bold(&format!("{} {head}", number + 1)))?;
        for text in lines {
            writeln!(out, "  {}", text.trim_end())?;
        }
    }
    Ok(())
}

fn relevance(explanation: &Explanation) -> Vec<String> {
    if explanation.relevance.is_empty() {
        return vec!["no: it asks for no GPU and can reach none".to_owned()];
    }
    explanation.relevance.iter().map(|why| line(&format!("yes: {why}"))).collect()
}

fn class(explanation: &Explanation) -> Vec<String> {
    vec![match (&explanation.class, &explanation.recognized_by) {
        (Some(class), Some(by)) => line(&format!("{class}, by {by}")),
        _ => "none is recognised; rules that need no class apply, and it keeps the place that it asks for"
            .to_owned(),
    }]
}

fn pools(explanation: &Explanation) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, TermStep { term, taken, passed }) in explanation.terms.iter().enumerate() {
        lines.push(line(&format!("{}. {term}", index + 1)));
        for PoolStep { pool, resource, evidence, mig } in taken {
            lines.push(line(&format!("   taken   {pool}, by {resource}")));
            lines.extend(evidence.iter().map(|why| line(&format!("           mode: {why}"))));
            lines.extend(mig.iter().map(|why| line(&format!("           MIG:  {why}"))));
        }
        lines.extend(passed.iter().map(|skipped| format!("   passed  {}", reason(skipped))));
        if taken.is_empty() && passed.is_empty() {
            lines.push("   not asked".to_owned());
        }
    }
    lines.extend(explanation.other_pools.iter().map(|skipped| format!("passed  {}", reason(skipped))));
    lines.extend(explanation.otherwise.iter().map(|otherwise| format!("otherwise: {otherwise}")));
    if lines.is_empty() { vec!["none is looked for without a class".to_owned()] } else { lines }
}

fn reason(skipped: &SkippedPool) -> String {
    line(&format!("{}: {} ({})", skipped.what, skipped.reason, skipped.rule))
}

fn changes(explanation: &Explanation) -> Vec<String> {
    let mut lines: Vec<String> = explanation
        .changes
        .iter()
        .filter(|change| change.rule != STAMP)
        .map(|change| line(&format!("{}  {}: {}", change.rule, change.path, change.why)))
        .collect();
    if lines.is_empty() {
        return vec!["nothing".to_owned()];
    }
    if !explanation.changes_apply {
        lines.push(format!("not really: the policy's action is {}", explanation.action));
    }
    lines
}

fn findings(explanation: &Explanation, paint: Paint) -> Vec<String> {
    let mut lines: Vec<String> =
        explanation.findings.iter().flat_map(|finding| finding_lines(explanation, finding, paint)).collect();
    if lines.is_empty() {
        lines.push("nothing".to_owned());
    }
    if !explanation.not_judged.is_empty() {
        lines.push(format!(
            "not judged, because the picture does not show what they need: {}",
            explanation.not_judged.join(", ")
        ));
    }
    lines
}

fn finding_lines(explanation: &Explanation, finding: &FindingResult, paint: Paint) -> Vec<String> {
    let at = match (&explanation.source, finding.line) {
        (Some(source), Some(at)) => format!("  {}:{at}", source.file),
        _ => String::new(),
    };
    let spared = match (&finding.excepted_by, &finding.suppressed) {
        (Some(name), _) => Some(format!("      not shown: exception {name}")),
        (None, Some(reason)) => Some(format!("      not shown: suppressed by the manifest: {reason}")),
        (None, None) => None,
    };
    let head = line(&format!("{}  {}{at}", finding.rule, finding.path));
    let mut lines = vec![
        format!("{}  {head}", paint.severity(finding.severity)),
        line(&format!("      is {}; should be {}", finding.is, finding.should)),
        line(&format!("      fix: {}", finding.remedy)),
    ];
    lines.extend(spared.as_deref().map(line));
    lines
}

fn nodes(explanation: &Explanation) -> Vec<String> {
    if explanation.nodes.is_empty() {
        return vec!["not asked: that needs a single Pod and a cluster".to_owned()];
    }
    let one = |node: &super::NodeResult| {
        let why = match (node.fit, node.score, &node.reason) {
            (FitWord::Yes, Some(score), _) => format!("score {score}"),
            (_, _, Some(reason)) => reason.clone(),
            _ => String::new(),
        };
        line(&format!("{:<6} {}: {why}", node.fit.as_str(), node.name))
    };
    explanation.nodes.iter().map(one).collect()
}
