//! Which policy and which exceptions are in force for an object.

use std::sync::Arc;

use super::{AdmissionPolicy, Exception, NamespaceScope, PolicySet};
use crate::k8s::object::{Labels, Pod};

/// How narrow a scope is; the narrower is the greater. In this order: exact names before wildcards before
/// none, labels before none, longer patterns before shorter.
pub(super) type Specificity = (u8, bool, usize);

impl PolicySet {
    /// The policy in force in a namespace: the most specific one that matches. `labels` are those of the
    /// Namespace object, where it is known.
    #[must_use]
    pub fn policy_for(&self, namespace: &str, labels: Option<&Labels>) -> Option<&Arc<AdmissionPolicy>> {
        self.policies.iter().find(|policy| policy.namespaces.matches(namespace, labels))
    }

    /// Whether the labels of a namespace could bring another policy into force than the one that holds while
    /// they are not known.
    #[must_use]
    pub fn hangs_on_labels(&self, namespace: &str) -> bool {
        let mut more_specific =
            self.policies.iter().take_while(|policy| !policy.namespaces.matches(namespace, None));
        more_specific.any(|policy| policy.namespaces.is_called(namespace))
    }
}

impl NamespaceScope {
    /// Whether a namespace lies in the scope; a scope by labels does not match a namespace that is unknown.
    #[must_use]
    pub fn matches(&self, namespace: &str, labels: Option<&Labels>) -> bool {
        let labelled =
            self.labels.as_ref().is_none_or(|selector| labels.is_some_and(|labels| selector.matches(labels)));
        labelled && self.is_called(namespace)
    }

    /// Whether a namespace lies in the scope by its name.
    fn is_called(&self, namespace: &str) -> bool {
        let named = self.names.is_empty() || self.names.iter().any(|pattern| wildcard(pattern, namespace));
        named && !self.except.iter().any(|pattern| wildcard(pattern, namespace))
    }

    pub(super) fn specificity(&self) -> Specificity {
        let by_name = match self.names.iter().map(|name| name.contains('*')).max() {
            None => 0,
            Some(true) => 1,
            Some(false) => 2,
        };
        let shortest = self.names.iter().map(|name| name.len() - name.matches('*').count()).min();
        (by_name, self.labels.is_some(), shortest.unwrap_or_default())
    }

    /// Whether the two choose the same namespaces, exceptions aside.
    pub(super) fn is_same_choice(&self, other: &Self) -> bool {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names
        };
        sorted(&self.names) == sorted(&other.names) && self.labels == other.labels
    }
}

impl Exception {
    /// Whether it covers a rule on an object at `now` (Unix seconds). Expired means void.
    #[must_use]
    pub fn covers(&self, rule: &str, namespace: &str, name: &str, labels: &Labels, now: i64) -> bool {
        now < self.expires
            && self.rules.contains(rule)
            && self.namespaces.iter().any(|pattern| wildcard(pattern, namespace))
            && (self.names.is_empty() || self.names.iter().any(|pattern| wildcard(pattern, name)))
            && self.labels.as_ref().is_none_or(|selector| selector.matches(labels))
    }
}

/// Seconds before the end of an exception from which on it is told of: two weeks, in which its owner can act.
pub const NOTICE: i64 = 14 * 24 * 3600;

/// How an exception stands at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// It holds.
    Holds,
    /// It holds, and ends within [`NOTICE`]; days that are left, the last one counted.
    Ends(i64),
    /// It is void, since so many days.
    Expired(i64),
}

impl Exception {
    /// How it stands at `now` (Unix seconds).
    #[must_use]
    pub fn term(&self, now: i64) -> Term {
        const DAY: i64 = 24 * 3600;
        let left = self.expires.saturating_sub(now);
        match left {
            ..=0 => Term::Expired(left.saturating_neg() / DAY),
            1..=NOTICE => Term::Ends(left.saturating_add(DAY - 1) / DAY),
            _ => Term::Holds,
        }
    }
}

impl AdmissionPolicy {
    /// What is in force in a namespace that no policy covers: everything is judged and counted, and nothing
    /// is said.
    #[must_use]
    pub fn out_of_scope() -> Self {
        Self {
            name: "out-of-scope".into(),
            namespaces: NamespaceScope::default(),
            action: super::Severity::Audit,
            rules: std::collections::BTreeMap::new(),
            suppressible: std::collections::BTreeSet::new(),
            max_picture_age: 0,
            exempt_service_accounts: std::collections::BTreeSet::new(),
            scheduler_name: None,
            gpu_nodes_only_for_gpu: false,
            template_kinds: Vec::new(),
        }
    }

    /// Whether a Pod's ServiceAccount is among those whose Pods may touch GPUs past the scheduler.
    #[must_use]
    pub fn exempts(&self, namespace: &str, pod: &Pod) -> bool {
        let account = match pod.spec.service_account_name.as_str() {
            "" => "default",
            name => name,
        };
        self.exempt_service_accounts.contains(&format!("{namespace}/{account}"))
    }
}

/// Whether `text` matches a pattern in which `*` stands for any run of characters.
#[must_use]
pub fn wildcard(pattern: &str, text: &str) -> bool {
    let Some((head, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(mut text) = text.strip_prefix(head) else { return false };
    let mut parts: Vec<&str> = rest.split('*').collect();
    // `split` always gives at least one part, the text after the last `*`.
    let tail = parts.pop().unwrap_or_default();
    for part in parts {
        match text.find(part) {
            Some(at) => text = &text[at + part.len()..],
            None => return false,
        }
    }
    text.ends_with(tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_run_of_characters() {
        for (pattern, text, want) in [
            ("team-a", "team-a", true),
            ("team-a", "team-ab", false),
            ("team-*", "team-ab", true),
            ("*", "", true),
            ("*-gpu", "x-gpu", true),
            ("*-gpu", "x-gpux", false),
            ("a*b*c", "a1b2c", true),
            ("a*b*c", "ac", false),
            ("a*a", "a", false),
        ] {
            assert_eq!(wildcard(pattern, text), want, "{pattern} {text}");
        }
    }
}
