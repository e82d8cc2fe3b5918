//! `priority-fields-mismatch`: a priority or preemption policy beside a class that says something else.

use crate::{
    cluster::Kind,
    k8s::priority::{self, Mismatch},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `priority-fields-mismatch`
pub static PRIORITY_FIELDS_MISMATCH: Rule = Rule {
    id: "priority-fields-mismatch",
    family: Family::Priority,
    summary: "priority and preemptionPolicy of a Pod are those of its PriorityClass, or absent",
    why: "The Priority plugin fills both in from the class and refuses a Pod that has another value or policy. A template with one is accepted, its Pods never are.",
    remedy: "Remove the field, or name a class that has it.",
    severity: Severity::Deny,
    severity_because: "the API server refuses every such Pod; asserted only from a synced picture of the PriorityClasses",
    applies: Applies::Templates,
    needs: &[Kind::PriorityClass],
    sources: &["Kubernetes plugin/pkg/admission/priority/admission.go"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    // About a Pod of its own the API server answers at once; about a template nobody does.
    if !matches!(case.subject.body, Body::Template(_)) {
        return;
    }
    for pod in &case.pods {
        let spec = &pod.written.spec;
        let classes = case.world.cluster.priority_classes().map(|class| &**class);
        let Ok(resolved) = priority::resolve(&spec.priority_class_name, classes) else { continue };
        findings.under(&pod.prefix);
        let class = match resolved.class.as_str() {
            "" => "a Pod without a PriorityClass".to_owned(),
            name => format!("PriorityClass {name}"),
        };
        for mismatch in priority::mismatches(spec, &resolved) {
            let (field, is, should) = match mismatch {
                Mismatch::Value { is, should } => ("priority", is.to_string(), should.to_string()),
                Mismatch::PreemptionPolicy { is, should } => ("preemptionPolicy", is, should),
            };
            findings
                .add(
                    rule,
                    format!("spec.{field}"),
                    format!("{is}, which the API server refuses beside {class}"),
                    format!("{should}, or absent"),
                    format!("remove {field}"),
                )
                .on_absence();
        }
    }
}
