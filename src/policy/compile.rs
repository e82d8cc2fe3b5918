//! From what a file says to what the engine uses: one file a kind. Form is checked before; here it is
//! meaning: units, selectors, expressions, and names of other documents.

mod admission;
mod cel;
mod class;
mod exception;
mod pool;
mod selectors;
mod units;

use std::collections::{BTreeMap, BTreeSet};

use super::{
    error::{Faults, Position, nearest},
    tree::Node,
};
use crate::k8s::object::PriorityClass;

pub(super) use self::{
    admission::compile as admission_policy, class::compile as class, exception::compile as exception,
    pool::compile as pool,
};

/// Names that documents may refer to.
#[derive(Debug, Default)]
pub(super) struct Known<'a> {
    pub pools: BTreeSet<&'a str>,
    pub classes: BTreeSet<&'a str>,
    pub rules: &'a [&'a str],
    pub priorities: BTreeMap<String, PriorityClass>,
}

/// A place within a document, followed beside the raw value that was read from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place<'a> {
    node: Option<&'a Node>,
    at: Position,
}

impl<'a> Place<'a> {
    pub const fn of(node: &'a Node) -> Self {
        Self { node: Some(node), at: node.at }
    }

    /// The value of a key; this very place where there is none.
    pub fn key(self, name: &str) -> Self {
        self.node.and_then(|node| node.get(name)).map_or(Self { node: None, ..self }, Self::of)
    }

    /// An item of a list; this very place where there is none.
    pub fn item(self, index: usize) -> Self {
        self.node.and_then(|node| node.item(index)).map_or(Self { node: None, ..self }, Self::of)
    }

    /// The value's place.
    pub const fn at(self) -> Position {
        self.at
    }

    /// The place of a key itself.
    pub fn name_of(self, key: &str) -> Position {
        self.node.and_then(|node| node.entry(key)).map_or(self.at, |(key, _)| key.at)
    }
}

/// A reference to a name that may not exist.
pub(super) fn check_name<'k>(
    name: &str,
    noun: &str,
    known: impl IntoIterator<Item = &'k str> + Clone,
    at: Position,
    faults: &mut Faults<'_>,
) -> bool {
    if known.clone().into_iter().any(|other| other == name) {
        return true;
    }
    let why = format!("no {noun} of that name is in any file");
    faults.push(at, format!("unknown {noun} `{name}`"), why, nearest(name, known));
    false
}

/// Rule ids, whether they stand in a list or as keys.
fn check_rule(name: &str, known: &Known<'_>, at: Position, faults: &mut Faults<'_>) -> bool {
    if known.rules.contains(&name) {
        return true;
    }
    let suggestion = nearest(name, known.rules.iter().copied());
    let why = "there is no rule with that id; `sluice explain` lists them";
    faults.push(at, format!("unknown rule `{name}`"), why, suggestion);
    false
}

/// Patterns must say something.
fn check_patterns(patterns: &[String], place: Place<'_>, faults: &mut Faults<'_>) {
    for (index, pattern) in patterns.iter().enumerate() {
        if pattern.trim().is_empty() {
            let why = "an empty pattern can match nothing that is meant";
            faults.push(place.item(index).at(), "a pattern is empty".to_owned(), why, None);
        }
    }
}
