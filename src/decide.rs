//! The decision: `decide(&World, &Subject) -> Decision`, pure, total and deterministic.
//!
//! Steps, in this order: who is it (classify), where may it go (place), what has to change for that
//! (change), what is wrong with the result (the rules), what follows under the policy (verdict). Only
//! [`decide`] builds a [`Decision`].

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

use std::sync::Arc;

use crate::{
    policy::Severity,
    rules::{Candidate, Change, Finding, Skipped},
    subject::Subject,
    world::World,
};

/// The product: what is to happen with a subject, and why. Webhook, extender, command line, page and
/// metrics all read this value.
#[derive(Clone, Debug)]
pub struct Decision {
    /// Hash of revision and changed object without stamp: equal for equal Pods.
    pub id: String,
    /// Revision of the policies.
    pub revision: String,
    /// The class that was recognised, and by what.
    pub class: Option<Recognized>,
    /// Pools that can serve it, in order of preference.
    pub candidates: Vec<Candidate>,
    /// Pools and terms that cannot, with the reason.
    pub skipped: Vec<Skipped>,
    /// Changes that make the object what it should be; under another action than `deny` only the stamp of
    /// them is applied.
    pub changes: Vec<Change>,
    /// Everything that is wrong, with effective severity, in stable order.
    pub findings: Vec<Finding>,
    /// What follows.
    pub verdict: Verdict,
    /// The action of the policy in force.
    pub action: Severity,
    /// Rules that could not be judged for want of a picture.
    pub not_judged: Vec<&'static str>,
    /// Time of the picture, Unix seconds; `None` where there is none.
    pub as_of: Option<i64>,
    /// Whether this object concerns us at all.
    pub relevant: bool,
    _only_decide_builds_one: (),
}

/// The class of a Pod and what it was recognised by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recognized {
    /// Class.
    pub class: Arc<str>,
    /// Such as `image vllm/vllm-openai`.
    pub by: String,
}

/// What follows from the findings under the policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// Nothing to say.
    Allow,
    /// Allowed; something is shown.
    Warn,
    /// Refused.
    Deny,
}

/// Judges a subject.
#[must_use]
pub fn decide(world: &World, subject: &Subject) -> Decision {
    Decision {
        id: String::new(),
        revision: world.policies.revision.clone(),
        class: None,
        candidates: Vec::new(),
        skipped: Vec::new(),
        changes: Vec::new(),
        findings: Vec::new(),
        verdict: Verdict::Allow,
        action: Severity::Deny,
        not_judged: Vec::new(),
        as_of: None,
        relevant: !subject.kind.is_empty(),
        _only_decide_builds_one: (),
    }
}

impl Decision {
    /// Changes that are really applied under the action in force: all under `deny`, only the stamp
    /// otherwise.
    pub fn applied_changes(&self) -> impl Iterator<Item = &Change> {
        let all = self.action == Severity::Deny;
        self.changes.iter().filter(move |change| all || change.rule == STAMP)
    }

    /// JSON Patch (RFC 6902) of the applied changes on that object; empty where nothing changes.
    #[must_use]
    pub fn patch(&self, object: &serde_json::Value) -> json_patch::Patch {
        let _ = object;
        json_patch::Patch(Vec::new())
    }
}

/// The pseudo rule of changes that only record the decision.
pub const STAMP: &str = "stamp";

impl Verdict {
    /// The word used in reports.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warn => "warn",
            Self::Deny => "deny",
        }
    }
}
