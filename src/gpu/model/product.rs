//! Product names and patterns over their words.

use std::fmt;

use serde::Deserialize;

use crate::gpu::MigProfile;

/// A product name taken apart. GFD appends `-MIG-<profile>` under strategy `single` and `-SHARED` where
/// shared units are not renamed, and both can stack (device plugin `lm/resource.go`, `lm/mig-strategy.go`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Product<'a> {
    /// The name without these suffixes.
    pub name: &'a str,
    /// The MIG suffix.
    pub mig: Option<MigSuffix>,
    /// Whether there was a `-SHARED`. Its absence proves nothing: renamed shared units have none.
    pub shared: bool,
}

/// What stood after `-MIG-`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MigSuffix {
    /// Every slice of the node has this profile; `None` where it cannot be read.
    Profile(Option<MigProfile>),
    /// `INVALID`: the cards are not all partitioned alike.
    Invalid,
}

impl<'a> Product<'a> {
    /// Takes a product name apart.
    #[must_use]
    pub fn read(product: &'a str) -> Self {
        let (rest, shared) = match product.strip_suffix("-SHARED") {
            Some(rest) => (rest, true),
            None => (product, false),
        };
        match rest.rsplit_once("-MIG-") {
            Some((name, "INVALID")) => Self { name, mig: Some(MigSuffix::Invalid), shared },
            Some((name, profile)) => {
                let profile = MigProfile::from_resource_suffix(profile);
                Self { name, mig: Some(MigSuffix::Profile(profile)), shared }
            }
            None => Self { name: rest, mig: None, shared },
        }
    }
}

/// Words that a product name must have; `*` at a word's end stands for any rest of that word.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(from = "String")]
pub(super) struct Pattern(Vec<String>);

impl Pattern {
    /// Number of words.
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether every word of the pattern is in the name, and every other word of the name is a filler.
    pub(super) fn covers<'a>(
        &self,
        name: &[String],
        fillers: impl Iterator<Item = &'a Self> + Clone,
    ) -> bool {
        let named = self.0.iter().all(|wanted| name.iter().any(|word| is(wanted, word)));
        let is_filler = |word: &String| fillers.clone().any(|filler| filler.0.iter().any(|f| is(f, word)));
        named && name.iter().all(|word| self.0.iter().any(|wanted| is(wanted, word)) || is_filler(word))
    }
}

impl From<String> for Pattern {
    fn from(text: String) -> Self {
        Self(text.split_whitespace().map(str::to_ascii_lowercase).collect())
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0.join(" "))
    }
}

/// The words of a product name, in lower case. Blanks, `-` and `_` part them alike: NVML writes
/// `NVIDIA A100-SXM4-80GB` where GFD writes `NVIDIA-A100-SXM4-80GB`.
pub(super) fn words(name: &str) -> Vec<String> {
    name.split(|c: char| !c.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_ascii_lowercase)
        .collect()
}

fn is(wanted: &str, word: &str) -> bool {
    match wanted.strip_suffix('*') {
        Some(start) => word.starts_with(start),
        None => word == wanted,
    }
}
