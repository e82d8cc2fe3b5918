//! Which class a Pod belongs to, and by what it shows.
//!
//! Every way in which a class can be recognised is put into one index, by what a Pod shows (image
//! repository, first word of arguments, owner kind), so that a Pod costs about the same with four classes
//! and with a hundred. Nothing is guessed here: all classes that recognise the Pod are named with the
//! strength of what they saw, and the engine says whether that is an answer.

mod image;
mod index;
mod words;

use std::sync::{Arc, LazyLock, OnceLock};

use serde_json::Value;

use super::{raw::GROUP, set::PolicySet};
use crate::k8s::object::Pod;
use index::Index;

pub use image::repository;

/// A Pod, with what is known about it from elsewhere.
#[derive(Clone, Copy, Debug)]
pub struct Seen<'a> {
    /// The Pod.
    pub pod: &'a Pod,
    /// The same Pod as JSON, for CEL; without it no CEL expression recognises anything.
    pub raw: Option<&'a Value>,
    /// Kind of the controlling owner: the workload that holds the template, or the Pod's own controller.
    pub owner: Option<&'a str>,
    /// Value of the label `sluice.dev/class`.
    pub class_label: Option<&'a str>,
}

/// By what a class was recognised; the strongest is the greatest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Strength {
    /// Image.
    Image,
    /// The program that is started.
    Program,
    /// Arguments.
    Arguments,
    /// Kind of the owner. An engine in a Job computes to an end: no probe, drain or start-up of a server is its.
    Owner,
    /// Labels that a platform sets.
    Labels,
    /// A CEL expression.
    Cel,
    /// The label `sluice.dev/class`.
    ClassLabel,
}

/// A class that recognises a Pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Match {
    /// Class.
    pub class: Arc<str>,
    /// What was seen, such as `image vllm/vllm-openai`.
    pub by: String,
    /// How much that says.
    pub strength: Strength,
}

/// Every class that recognises a Pod.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Recognition {
    /// At most one match for each class, its strongest; strongest first, then by name of the class.
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

/// The index of a set, made when it is first asked for; a copy of a set keeps it.
#[derive(Clone, Debug, Default)]
pub struct RecognitionIndex(OnceLock<Arc<Index>>);

/// The environment of expressions: the standard one.
static ENVIRONMENT: LazyLock<Arc<cel::Env>> = LazyLock::new(|| Arc::new(cel::Env::stdlib()));

/// Every class that recognises the Pod. A label `sluice.dev/class` with a known class is the only answer;
/// one with an unknown class is passed over here, and a finding of the engine. Hints count only where
/// nothing else recognises the Pod.
#[must_use]
pub fn recognize(set: &PolicySet, seen: &Seen<'_>) -> Recognition {
    if let Some(class) = seen.class_label.and_then(|name| set.class(name)) {
        let by = format!("label {GROUP}/class");
        return Recognition {
            matches: vec![Match { class: class.name.clone(), by, strength: Strength::ClassLabel }],
        };
    }
    let index = set.recognizers();
    let found = index.recognize(set, seen, index::Rank::Sign);
    if found.matches.is_empty() { index.recognize(set, seen, index::Rank::Hint) } else { found }
}

impl PolicySet {
    /// The index of recognisers.
    pub(super) fn recognizers(&self) -> &Index {
        self.index.0.get_or_init(|| Arc::new(Index::new(&self.classes)))
    }
}

impl Recognition {
    /// What it comes to.
    #[must_use]
    pub fn answer(&self) -> Answer<'_> {
        let Some(first) = self.matches.first() else { return Answer::Unknown };
        match self.matches.iter().take_while(|other| other.strength == first.strength).count() {
            1 => Answer::One(first),
            several => Answer::Ambiguous(&self.matches[..several]),
        }
    }
}

#[cfg(test)]
mod tests;
