//! The table of GPU models (`models.yaml`) and how product names are matched with it and with policies.
//!
//! The table is a veto and an explanation. It never proves that a node does something; a product that it
//! does not name is unknown, and nothing is assumed of it.

mod product;

use std::{collections::BTreeMap, fmt, sync::LazyLock};

use serde::Deserialize;

use super::{Mebibytes, MigProfile, version::parse_version};

pub use product::{MigSuffix, Product};
use product::{Pattern, words};

/// The name of a model of the table, such as `H100-80GB`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ModelName(&'static str);

/// One GPU model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Model {
    name: String,
    products: Vec<Pattern>,
    #[serde(default)]
    aliases: Vec<String>,
    #[serde(default)]
    extra: Vec<Pattern>,
    /// Architecture as GFD's label `nvidia.com/gpu.family` names it.
    pub architecture: String,
    /// Compute capability, (major, minor); no test for MIG.
    #[serde(default)]
    pub compute_capability: Option<(u32, u32)>,
    /// Memory as sold, in decimal GB.
    #[serde(default)]
    pub memory_gb: Option<u32>,
    /// MIG.
    pub mig: ModelMig,
}

/// What the table says of a model's MIG.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ModelMig {
    /// It has none: a veto over every other source.
    None,
    /// Nobody could tell; NVML decides.
    Unknown,
    /// It has.
    Capable(MigTable),
}

/// MIG of one model.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigTable {
    /// Slices that instances are made of.
    pub slots: Slots,
    #[serde(default)]
    min_driver: Option<String>,
    /// Profiles; the same name is another part on another model.
    #[serde(default)]
    pub profiles: BTreeMap<MigProfile, ProfileFacts>,
    /// Whether a profile that is not listed does not exist.
    #[serde(default = "yes")]
    pub complete: bool,
}

/// Slices of one card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Slots {
    /// Compute slices.
    pub compute: u8,
    /// Memory slices.
    pub memory: u8,
}

/// What is known of one profile of one model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProfileFacts {
    /// Most instances on one card.
    pub max: u32,
    /// Usable memory where somebody has measured it; `None`: ask NVML or the labels.
    #[serde(default)]
    pub usable_mib: Option<Mebibytes>,
}

/// Every model, in the table's order.
#[must_use]
pub fn models() -> &'static [Model] {
    &TABLE.models
}

/// The edition of the table, for messages and reports.
#[must_use]
pub fn edition() -> &'static str {
    &TABLE.edition
}

/// The model of a product name as GFD, NVML, DRA or a cloud writes it, with or without the suffixes for
/// sharing and MIG. `None`: unknown, assume nothing.
#[must_use]
pub fn lookup(product: &str) -> Option<&'static Model> {
    let name = words(Product::read(product).name);
    let alias = |model: &&Model| model.aliases.iter().any(|alias| words(alias) == name);
    if let Some(model) = TABLE.models.iter().find(alias) {
        return Some(model);
    }
    let mut best: Option<(usize, &Model)> = None;
    for model in &TABLE.models {
        let fillers = TABLE.fillers.iter().chain(&model.extra);
        let matching = model.products.iter().filter(|pattern| pattern.covers(&name, fillers.clone()));
        let longest = matching.map(Pattern::len).max().unwrap_or(0);
        if longest > best.map_or(0, |(words, _)| words) {
            best = Some((longest, model));
        }
    }
    best.map(|(_, model)| model)
}

/// Whether a pattern of a policy (`H100`, `NVIDIA-L4`, `A100-SXM4-80GB`) means this product: its words
/// stand in a row in the product's name, or in the name of its model in the table. Case does not matter,
/// and a word is a whole word: `L4` is not `L40S`.
#[must_use]
pub fn model_matches(pattern: &str, product: &str) -> bool {
    let pattern = words(pattern);
    let stands_in = |name: &str| {
        let name = words(name);
        !pattern.is_empty() && name.windows(pattern.len()).any(|row| *row == *pattern)
    };
    stands_in(Product::read(product).name) || lookup(product).is_some_and(|model| stands_in(&model.name))
}

/// Whether two sources name the same product: equal words but for the maker's name, or the same model.
pub(crate) fn same_product(one: &str, other: &str) -> bool {
    let [a, b] = [one, other].map(|name| {
        let mut words = words(name);
        words.retain(|word| word != "nvidia");
        words
    });
    a == b || lookup(one).is_some_and(|model| lookup(other).is_some_and(|other| model.name == other.name))
}

impl Model {
    /// Its name.
    #[must_use]
    pub fn name(&'static self) -> ModelName {
        ModelName(&self.name)
    }

    /// Memory that a whole card of this model has at the least: as sold, less 2 % for firmware and ECC.
    #[must_use]
    pub fn memory_at_least(&self) -> Option<Mebibytes> {
        self.memory_gb.map(|gb| Mebibytes(u64::from(gb) * 980_000_000 / (1 << 20)))
    }

    /// Memory that a slice of this profile has at the least: its memory slices of the card's, less 5 % (slices of an
    /// H200 have 97.5 % of an even share). A profile of one compute slice may have two memory slices and is taken
    /// for one.
    #[must_use]
    pub fn slice_memory_at_least(&self, profile: MigProfile) -> Option<Mebibytes> {
        let table = self.mig_table().filter(|table| table.profiles.contains_key(&profile))?;
        let slices = match (table.slots.compute, profile.slices()) {
            (7, 7) => 8,
            (7, 3 | 4) => 4,
            (_, slices) => u64::from(slices),
        };
        let all = u64::from(table.slots.memory.max(1));
        Some(Mebibytes(self.memory_at_least()?.0 * slices.min(all) / all * 95 / 100))
    }

    /// MIG facts, where it is known to have MIG.
    #[must_use]
    pub const fn mig_table(&self) -> Option<&MigTable> {
        match &self.mig {
            ModelMig::Capable(table) => Some(table),
            ModelMig::None | ModelMig::Unknown => None,
        }
    }

    /// Whether its cards can be cut into this profile; `None` where the table cannot tell.
    #[must_use]
    pub fn has_profile(&self, profile: MigProfile) -> Option<bool> {
        match &self.mig {
            ModelMig::None => Some(false),
            ModelMig::Unknown => None,
            ModelMig::Capable(table) => {
                let listed = table.profiles.contains_key(&profile);
                (listed || table.complete).then_some(listed)
            }
        }
    }
}

impl MigTable {
    /// The first driver with MIG on this model, numeric parts.
    #[must_use]
    pub fn min_driver(&self) -> Option<Vec<u32>> {
        self.min_driver.as_deref().and_then(parse_version)
    }
}

impl ModelName {
    /// The name as text.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The model's facts.
    #[must_use]
    pub fn model(self) -> Option<&'static Model> {
        TABLE.models.iter().find(|model| model.name == self.0)
    }
}

impl fmt::Display for ModelName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.0)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Table {
    edition: String,
    fillers: Vec<Pattern>,
    models: Vec<Model>,
}

static TABLE: LazyLock<Table> =
    LazyLock::new(|| serde_saphyr::from_str(FILE).expect("models.yaml is compiled in and read by a test"));

const FILE: &str = include_str!("models.yaml");

const fn yes() -> bool {
    true
}

#[cfg(test)]
mod tests;
