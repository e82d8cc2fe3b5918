//! The decision: `decide(&World, &Subject) -> Decision`, pure, total and deterministic.
//!
//! ```text
//! classify ─► place ─► changes ─► rules on the result ─► verdict under the policy
//! who is it   where    what has   what is wrong          what follows
//!             may it   to change  with it
//! ```
//!
//! Judging comes first, the action is applied afterwards, so that what is counted under `audit` is what
//! `deny` would have refused. Only [`decide`] builds a [`Decision`].

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod changes;
mod classify;
mod evict;
mod fit;
mod identity;
mod judge;
mod patch;
mod place;
mod score;
mod spare;
mod steer;
#[cfg(test)]
mod tests;
mod verdict;

use std::sync::Arc;

use serde_json::Value;

use crate::{
    k8s::object::Pod,
    policy::Severity,
    rules::{Candidate, Change, Finding, Skipped},
    subject::Subject,
    world::World,
};

pub use evict::{Eviction, Protection, evict, violations};
pub use fit::{Ask, Need, Promise, Promised, Reach, fit};
pub use judge::{Concern, relevance};
pub use place::pools_of;

/// The product: what is to happen with a subject, and why. Webhook, extender, command line, page and
/// metrics all read this value.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Decision {
    /// Hash of revision and changed object without stamp: equal for equal Pods.
    pub id: String,
    /// Revision of the policies.
    pub revision: String,
    /// The class that was recognised, and by what; of the first Pod group that has one.
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
    /// Name of the AdmissionPolicy in force.
    pub policy: Arc<str>,
    /// The action of the policy in force.
    pub action: Severity,
    /// Whether another policy could be in force: the Namespace is not in the picture, and its labels choose.
    pub awaits_namespace: bool,
    /// Rules that could not be judged for want of a picture.
    pub not_judged: Vec<&'static str>,
    /// Time of the picture, Unix seconds; `None` where there is none.
    pub as_of: Option<i64>,
    /// Whether this object concerns us at all.
    pub relevant: bool,
    /// What a single Pod needs of a node, for [`fit()`].
    pub need: Option<Need>,
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

/// The pseudo rule of changes that only record the decision.
pub const STAMP: &str = "stamp";

/// Judges a subject.
#[must_use]
pub fn decide(world: &World, subject: &Subject) -> Decision {
    if judge::is_exempt_request(subject) {
        return judge::nothing_to_say(world, subject);
    }
    let mut judged = judge::judge(world, subject);
    judge::spare_what_was_there(world, subject, &mut judged);
    verdict::conclude(world, subject, judged)
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
    pub fn patch(&self, object: &Value) -> json_patch::Patch {
        let mut document = object.clone();
        json_patch::Patch(
            self.applied_changes().flat_map(|change| patch::apply(&mut document, &change.edit)).collect(),
        )
    }

    /// The object with the applied changes.
    #[must_use]
    pub fn applied_to(&self, object: &Value) -> Value {
        let mut document = object.clone();
        for change in self.applied_changes() {
            patch::apply(&mut document, &change.edit);
        }
        document
    }
}

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

impl std::fmt::Display for Verdict {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.as_str())
    }
}

/// A Pod out of raw JSON that was read before and then only edited by us.
fn reread(raw: &Value, otherwise: &Pod) -> Pod {
    serde::Deserialize::deserialize(raw).unwrap_or_else(|_| otherwise.clone())
}
