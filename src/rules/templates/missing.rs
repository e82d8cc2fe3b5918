//! `template-not-found`: an object of a kind that a policy names, and no Pod in it.

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `template-not-found`
pub static TEMPLATE_NOT_FOUND: Rule = Rule {
    id: "template-not-found",
    family: Family::Placement,
    summary: "an object of a kind that a policy names under templateKinds holds a Pod template",
    why: "Where no template is found nothing is judged, and whoever named the kind believes that it is.",
    remedy: "Name the path under templateKinds of the AdmissionPolicy, or take the kind out.",
    severity: Severity::Warn,
    severity_because: "its Pods are judged all the same when they are made",
    applies: Applies::Templates,
    needs: &[],
    sources: &[],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(template) = &case.subject.body else { return };
    let added = case.world.template_kinds.iter();
    let group = case.subject.api_version.rsplit_once('/').map_or("", |(group, _)| group);
    let mut added = added.filter(|row| row.kind == case.subject.kind && row.group == group);
    let Some(row) = added.next().filter(|_| template.groups.is_empty()) else { return };
    let paths: Vec<&str> = row.templates.iter().map(|template| template.path.as_str()).collect();
    let looked = if paths.is_empty() { "anywhere".to_owned() } else { format!("at {}", paths.join(" or ")) };
    findings.under("");
    findings.add(
        rule,
        "spec",
        format!("without a Pod template {looked}: nothing of it was judged"),
        "an object with metadata and spec, or a Pod's spec with containers",
        format!("correct templateKinds of the policy for {}, or take it out", case.subject.kind),
    );
}
