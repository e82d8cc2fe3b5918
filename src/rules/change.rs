//! What the engine changes on an object: an edit of the raw JSON with its reason.

use serde_json::Value;

/// One change with its reason.
#[derive(Clone, Debug, PartialEq)]
pub struct Change {
    /// Rule id.
    pub rule: &'static str,
    /// Field path for people, from the object's root.
    pub path: String,
    /// Why.
    pub why: String,
    /// What is done.
    pub edit: Edit,
}

/// An edit of raw JSON. Segments are unescaped keys or array indices; missing parents are made.
#[derive(Clone, Debug, PartialEq)]
pub enum Edit {
    /// Sets the value there, whether or not one exists.
    Set(Vec<String>, Value),
    /// Appends to the array there; makes it where it is absent or null.
    Append(Vec<String>, Value),
    /// Removes what is there; nothing where nothing is.
    Remove(Vec<String>),
}

impl Edit {
    /// Where it acts.
    #[must_use]
    pub fn segments(&self) -> &[String] {
        match self {
            Self::Set(path, _) | Self::Append(path, _) | Self::Remove(path) => path,
        }
    }
}
