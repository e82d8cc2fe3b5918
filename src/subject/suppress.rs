//! Suppressions that a manifest writes itself: an annotation with a rule and a reason each. Whether one is
//! honoured the policy says (`AdmissionPolicy.suppressible`).

use super::{Body, Subject};

/// The annotation: `RULE: reason`, several on lines of their own or separated by `;`.
pub const SUPPRESS: &str = "sluice.dev/suppress";

/// One entry of the annotation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Suppression {
    /// Path prefix of the object that says it: empty for the whole, else that of a Pod template.
    pub prefix: String,
    /// Rule id, as written.
    pub rule: String,
    /// Why; empty where nothing is said.
    pub reason: String,
}

/// Every entry of a subject: of its own annotation, and of those of its Pod templates.
#[must_use]
pub fn suppressions(subject: &Subject) -> Vec<Suppression> {
    let own = subject.raw.pointer("/metadata/annotations").and_then(|all| all.get(SUPPRESS)?.as_str());
    let mut found = entries("", own);
    if let Body::Template(_) = subject.body {
        for (prefix, pod, _) in subject.pods() {
            found.extend(entries(&prefix, pod.metadata.annotations.get(SUPPRESS).map(String::as_str)));
        }
    }
    found
}

impl Suppression {
    /// Whether it speaks of what a rule found at that path.
    #[must_use]
    pub fn covers(&self, rule: &str, path: &str) -> bool {
        self.rule == rule && path.starts_with(&self.prefix)
    }
}

fn entries(prefix: &str, text: Option<&str>) -> Vec<Suppression> {
    let parts = text.unwrap_or_default().split(['\n', ';']).map(str::trim).filter(|part| !part.is_empty());
    parts
        .map(|part| {
            let (rule, reason) = part.split_once(':').unwrap_or((part, ""));
            Suppression {
                prefix: prefix.to_owned(),
                rule: rule.trim().to_owned(),
                reason: reason.trim().to_owned(),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::subject::{Facts, Reading, Stage, read};

    #[test]
    fn entries_stand_on_lines_or_between_semicolons_and_keep_colons_of_their_reason() {
        let read = entries("", Some("a: one: two; b:\n\n c "));
        let read: Vec<(&str, &str)> = read.iter().map(|one| (&*one.rule, &*one.reason)).collect();
        assert_eq!(read, [("a", "one: two"), ("b", ""), ("c", "")]);
    }

    #[test]
    fn a_template_speaks_for_its_own_part_and_the_object_for_all() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "annotations": {SUPPRESS: "x: whole"}},
            "spec": {"template": {"metadata": {"annotations": {SUPPRESS: "y: part"}}, "spec": {}}}});
        let Reading::Subject(subject) = read(Arc::new(object), None, Facts::new(Stage::Check)) else {
            panic!("a Deployment");
        };
        let found = suppressions(&subject);
        assert!(found[0].covers("x", "spec.replicas") && found[0].covers("x", "spec.template.spec"));
        assert!(!found[1].covers("y", "spec.replicas") && found[1].covers("y", "spec.template.spec"));
    }
}
