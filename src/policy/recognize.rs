//! Which class a Pod belongs to, and by what it shows. So far only the label speaks.

use std::sync::Arc;

use serde_json::Value;

use super::PolicySet;
use crate::k8s::object::Pod;

/// A Pod, with what is known about it from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The Pod.
    pub pod: &'a Pod,
    /// The same Pod as JSON, for CEL.
    pub raw: Option<&'a Value>,
    /// Kind of the controlling owner.
    pub owner: Option<&'a str>,
    /// Value of the label `sluice.dev/class`.
    pub class_label: Option<&'a str>,
}

/// A class that recognises a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Class.
    pub class: Arc<str>,
    /// What was seen.
    pub by: String,
}

/// Every class that recognises a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognition {
    /// Strongest first.
    pub matches: Vec<Match>,
}

/// What a [`Recognition`] comes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer<'a> {
    /// One class has the strongest sign.
    One(&'a Match),
    /// Several classes have equally strong signs.
    Ambiguous(&'a [Match]),
    /// Nothing recognises it.
    Unknown,
}

/// Every class that recognises the Pod.
#[must_use]
pub fn recognize(set: &PolicySet, seen: &Seen<'_>) -> Recognition {
    let class = seen.class_label.and_then(|name| set.class(name));
    let found = |class: &Arc<super::Class>| Match {
        class: class.name.clone(),
        by: "label sluice.dev/class".to_owned(),
    };
    Recognition { matches: class.map(found).into_iter().collect() }
}

impl Recognition {
    /// What it comes to.
    #[must_use]
    pub fn answer(&self) -> Answer<'_> {
        match self.matches.as_slice() {
            [] => Answer::Unknown,
            [one] => Answer::One(one),
            several => Answer::Ambiguous(several),
        }
    }
}
