//! What a rule says.

use super::Rule;
use crate::policy::Severity;

/// One problem: where, what is, what should be, and the way out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// Rule id.
    pub rule: &'static str,
    /// Severity: the rule's own until the policy is applied, then the effective one.
    pub severity: Severity,
    /// Field path from the object's root.
    pub path: String,
    /// Container that the path lies in, where there is one.
    pub container: Option<String>,
    /// What is.
    pub is: String,
    /// What should be.
    pub should: String,
    /// How to get there.
    pub remedy: String,
    /// Rests on something that the picture does not show: never refuses while the picture is not synced.
    pub on_absence: bool,
    /// The exception that lowered it to `audit`.
    pub excepted_by: Option<std::sync::Arc<str>>,
    /// The reason with which the manifest suppresses it, where the policy lets it: then it is `audit`.
    pub suppressed: Option<String>,
}

/// Collects the findings of one rule.
#[derive(Debug, Default)]
pub struct Findings {
    found: Vec<Finding>,
    prefix: String,
}

impl Finding {
    /// The sentence of a finding: `is X; should be Y; fix: …`.
    #[must_use]
    pub fn message(&self) -> String {
        format!("is {}; should be {}; fix: {}", self.is, self.should, self.remedy)
    }
}

impl Findings {
    /// Paths that follow lie under `prefix` (empty, or ending in a dot).
    pub fn under(&mut self, prefix: &str) {
        prefix.clone_into(&mut self.prefix);
    }

    /// Adds a finding of `rule`; gives it back for [`Finding::in_container`] and the like.
    pub fn add(
        &mut self,
        rule: &Rule,
        path: impl AsRef<str>,
        is: impl Into<String>,
        should: impl Into<String>,
        remedy: impl Into<String>,
    ) -> &mut Finding {
        self.found.push(Finding {
            rule: rule.id,
            severity: rule.severity,
            path: format!("{}{}", self.prefix, path.as_ref()),
            container: None,
            is: is.into(),
            should: should.into(),
            remedy: remedy.into(),
            on_absence: false,
            excepted_by: None,
            suppressed: None,
        });
        let last = self.found.len() - 1;
        &mut self.found[last]
    }

    /// Whether that rule has said nothing yet.
    #[must_use]
    pub fn is_empty_for(&self, rule: &Rule) -> bool {
        !self.found.iter().any(|finding| finding.rule == rule.id)
    }

    /// All of them, in the order in which they were found.
    #[must_use]
    pub fn into_vec(self) -> Vec<Finding> {
        self.found
    }
}

impl Finding {
    /// Names the container.
    pub fn in_container(&mut self, name: &str) -> &mut Self {
        self.container = Some(name.to_owned());
        self
    }

    /// Marks that it rests on something absent from the picture.
    pub fn on_absence(&mut self) -> &mut Self {
        self.on_absence = true;
        self
    }

    /// Lowers the severity, where this instance is less certain than the rule's default.
    pub fn at_most(&mut self, severity: Severity) -> &mut Self {
        self.severity = self.severity.min(severity);
        self
    }
}
