//! MIG profiles: how they are written, as resource names, as label parts, and in order.
//!
//! The number in a profile's name is not its memory (H200 `1g.18gb` has 16 GiB usable): this file gives
//! the number back only to print it, and nothing may calculate with it.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};

/// A MIG profile such as `1g.10gb`, `1g.5gb+me`, `1g.24gb-me` or `1c.3g.20gb` (MIG user guide, profile
/// names; go-nvlib `mig_profile.go`). The same profile can be another part of another model, so it says
/// little without the model. Ordered by compute slices first, then as written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct MigProfile {
    slices: u8,
    number: u16,
    split: Option<u8>,
    attribute: MigAttribute,
}

/// What a profile's suffix says about media engines and graphics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum MigAttribute {
    /// No suffix.
    #[default]
    Plain,
    /// `+me`: at least one media engine.
    Media,
    /// `+me.all`: all media engines of the card.
    AllMedia,
    /// `-me`: no media engine.
    NoMedia,
    /// `+gfx`: graphics interfaces.
    Graphics,
}

/// Strategy under which the device plugin advertises MIG devices.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum MigStrategy {
    /// Every slice as `nvidia.com/gpu`.
    Single,
    /// Every profile under its own name.
    Mixed,
}

/// A text that is no MIG profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a MIG profile: write it as 1g.10gb, with +me, +me.all, -me or +gfx where the card has it"
)]
pub struct MigProfileError(String);

impl MigProfile {
    /// Compute slices of the GPU instance, the number before `g`.
    #[must_use]
    pub const fn slices(self) -> u8 {
        self.slices
    }

    /// Compute slices of one compute instance where the GPU instance is split (`1c.3g.20gb`). The device
    /// plugin has no resource name for such instances and fails on them (device plugin `rm.go`).
    #[must_use]
    pub const fn split(self) -> Option<u8> {
        self.split
    }

    /// Its suffix.
    #[must_use]
    pub const fn attribute(self) -> MigAttribute {
        self.attribute
    }

    /// As in resource names and label keys: `+` becomes `.`, `-me` stays (device plugin `resources.go`).
    #[must_use]
    pub fn resource_suffix(self) -> String {
        self.to_string().replace('+', ".")
    }

    /// The extended resource under strategy `mixed`: `nvidia.com/mig-1g.5gb.me`.
    #[must_use]
    pub fn resource_name(self) -> String {
        format!("nvidia.com/mig-{}", self.resource_suffix())
    }

    /// Reads what stands after `mig-` in a resource name or label key, or after `-MIG-` in a product label.
    #[must_use]
    pub fn from_resource_suffix(text: &str) -> Option<Self> {
        let written = match text.split_once("gb.") {
            Some((base, attribute)) => format!("{base}gb+{attribute}"),
            None => text.to_owned(),
        };
        // No name or label holds a '+': who wrote one did not write a resource name.
        (!text.contains('+')).then(|| written.parse().ok()).flatten()
    }
}

impl MigAttribute {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Plain => "",
            Self::Media => "+me",
            Self::AllMedia => "+me.all",
            Self::NoMedia => "-me",
            Self::Graphics => "+gfx",
        }
    }

    fn read(text: &str) -> Option<Self> {
        [Self::Plain, Self::Media, Self::AllMedia, Self::NoMedia, Self::Graphics]
            .into_iter()
            .find(|attribute| attribute.as_str() == text)
    }
}

impl MigStrategy {
    /// The word of the label `nvidia.com/mig.strategy`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Single => "single",
            Self::Mixed => "mixed",
        }
    }
}

impl fmt::Display for MigStrategy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Display for MigProfile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let split = self.split.map(|split| format!("{split}c.")).unwrap_or_default();
        f.pad(&format!("{split}{}g.{}gb{}", self.slices, self.number, self.attribute.as_str()))
    }
}

impl FromStr for MigProfile {
    type Err = MigProfileError;

    fn from_str(text: &str) -> Result<Self, MigProfileError> {
        read(text)
            .filter(|profile| profile.to_string() == text)
            .ok_or_else(|| MigProfileError(text.to_owned()))
    }
}

impl TryFrom<String> for MigProfile {
    type Error = MigProfileError;

    fn try_from(text: String) -> Result<Self, MigProfileError> {
        text.parse()
    }
}

impl From<MigProfile> for String {
    fn from(profile: MigProfile) -> Self {
        profile.to_string()
    }
}

/// Reads leniently; the caller holds the result against the text, so that `01g.5gb` is no profile.
fn read(text: &str) -> Option<MigProfile> {
    let (split, rest) = match text.split_once("c.") {
        Some((split, rest)) => (Some(split.parse().ok()?), rest),
        None => (None, text),
    };
    let (slices, rest) = rest.split_once("g.")?;
    let (number, attribute) = rest.split_once("gb")?;
    let slices = slices.parse().ok().filter(|&slices| slices > 0)?;
    Some(MigProfile {
        slices,
        number: number.parse().ok()?,
        split,
        attribute: MigAttribute::read(attribute)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const WRITTEN: [(&str, &str); 8] = [
        ("1g.10gb", "nvidia.com/mig-1g.10gb"),
        ("7g.141gb", "nvidia.com/mig-7g.141gb"),
        ("1g.5gb+me", "nvidia.com/mig-1g.5gb.me"),
        ("1g.24gb+me.all", "nvidia.com/mig-1g.24gb.me.all"),
        ("1g.24gb-me", "nvidia.com/mig-1g.24gb-me"),
        ("2g.48gb+gfx", "nvidia.com/mig-2g.48gb.gfx"),
        ("1c.3g.20gb", "nvidia.com/mig-1c.3g.20gb"),
        ("1g.0gb", "nvidia.com/mig-1g.0gb"),
    ];

    #[test]
    fn a_profile_prints_as_it_was_written_and_comes_back_from_its_resource_name() {
        for (written, resource) in WRITTEN {
            let profile: MigProfile = written.parse().unwrap();
            assert_eq!(profile.to_string(), written);
            assert_eq!(profile.resource_name(), resource);
            let suffix = resource.strip_prefix("nvidia.com/mig-").unwrap();
            assert_eq!(MigProfile::from_resource_suffix(suffix), Some(profile), "{resource}");
        }
    }

    #[test]
    fn what_is_no_profile_is_refused() {
        for text in [
            "",
            "1g",
            "g.5gb",
            "0g.5gb",
            "01g.5gb",
            "1g.5GB",
            "1g.5gb+",
            "1g.5gb+xyz",
            "1g.5gb.me",
            "INVALID",
        ] {
            assert!(text.parse::<MigProfile>().is_err(), "{text:?}");
        }
        for text in ["1g.5gb.", "1g.5gb+me", "1g.5gb.shared", "all-1g.5gb"] {
            assert_eq!(MigProfile::from_resource_suffix(text), None, "{text:?}");
        }
    }

    #[test]
    fn profiles_are_ordered_by_compute_slices_before_the_number() {
        let mut profiles: Vec<MigProfile> =
            ["3g.40gb", "1g.20gb", "2g.20gb", "1g.10gb+me", "1g.10gb", "7g.80gb"]
                .iter()
                .map(|text| text.parse().unwrap())
                .collect();
        profiles.sort();
        let sorted: Vec<String> = profiles.iter().map(ToString::to_string).collect();
        assert_eq!(sorted, ["1g.10gb", "1g.10gb+me", "1g.20gb", "2g.20gb", "3g.40gb", "7g.80gb"]);
    }
}
