//! What cards a node has: product, model, memory, number, driver. Live sources before labels; cards of
//! several models, or sources that name different ones, make the model unknown.

use std::collections::BTreeSet;

use super::facts::Facts;
use crate::gpu::{
    DraKind, Mebibytes, MigProfile, Model,
    dra::major_minor,
    lookup,
    model::{MigSuffix, Product, same_product},
    version::parse_version,
};

/// The cards of a node.
#[derive(Clone, Debug, Default)]
pub(super) struct Cards<'a> {
    /// Product without suffixes, as the best source writes it.
    pub(super) product: Option<&'a str>,
    pub(super) model: Option<&'static Model>,
    /// Memory of a whole card.
    pub(super) memory: Option<Mebibytes>,
    /// Physical cards, where somebody counts them.
    pub(super) count: Option<u32>,
    pub(super) driver: Option<Vec<u32>>,
    pub(super) compute_capability: Option<(u32, u32)>,
    /// Why the product is unknown although there are names.
    pub(super) remark: Option<String>,
}

impl<'a> Cards<'a> {
    pub(super) fn read(facts: &Facts<'a>) -> Self {
        let (product, remark) = match product(facts) {
            Ok(product) => (product, None),
            Err(remark) => (None, Some(remark)),
        };
        let model = product.and_then(lookup);
        let listed = facts.cards();
        let of_dra = facts.devices.iter().filter_map(|device| device.compute_capability).min();
        let of_nvml = listed.iter().filter_map(|card| major_minor(card.compute_capability.as_deref()?)).min();
        Self {
            product,
            model,
            memory: memory(facts, model),
            count: count(facts),
            driver: driver(facts),
            compute_capability: of_dra
                .or(of_nvml)
                .or_else(|| facts.labels.compute_capability())
                .or_else(|| model?.compute_capability),
            remark,
        }
    }

    /// A name for messages.
    pub(super) fn display(&self) -> &str {
        self.model.map(|model| model.name().as_str()).or(self.product).unwrap_or("cards of an unknown model")
    }
}

/// Memory of a MIG slice of this profile: measured, by somebody; else what such a slice of the model has at the
/// least. Never from the number in its name.
pub(super) fn slice_memory(facts: &Facts<'_>, cards: &Cards<'_>, profile: MigProfile) -> Option<Mebibytes> {
    let of_dra = facts.dra(DraKind::Mig).filter(|device| device.profile == Some(profile));
    let of_nvml = facts.cards().iter().flat_map(|card| &card.mig_devices);
    let of_nvml = of_nvml.filter(|device| device.profile == profile).filter_map(|device| device.memory);
    let in_table = || cards.model?.mig_table()?.profiles.get(&profile)?.usable_mib;
    of_dra
        .filter_map(|device| device.memory)
        .min()
        .or_else(|| of_nvml.min())
        .or_else(|| facts.labels.slices.get(&profile)?.memory)
        .or_else(|| facts.labels.memory().filter(|_| is_single(facts)))
        .or_else(in_table)
        .or_else(|| cards.model?.slice_memory_at_least(profile))
}

/// Memory of the one kind of slice under strategy `single`, where the profile is not known.
pub(super) fn single_memory(facts: &Facts<'_>) -> Option<Mebibytes> {
    facts.labels.memory().filter(|_| is_single(facts))
}

fn is_single(facts: &Facts<'_>) -> bool {
    matches!(facts.labels.mig_suffix(), Some(MigSuffix::Profile(_)))
}

/// The product of all cards, or why there is none.
fn product<'a>(facts: &Facts<'a>) -> Result<Option<&'a str>, String> {
    let of_dra = facts.devices.iter().filter_map(|device| device.product.as_deref());
    let of_nvml = facts.cards().iter().filter_map(|card| card.product.as_deref());
    let of_gfd = facts.labels.product().map(|product| product.name);
    let mut named: Option<&'a str> = None;
    for product in of_dra.chain(of_nvml).map(|product| Product::read(product).name).chain(of_gfd) {
        match named {
            Some(first) if !same_product(first, product) => {
                let both: BTreeSet<&str> = [first, product].into();
                let both = both.into_iter().collect::<Vec<_>>().join(" and ");
                return Err(format!("cards of several models, so the model is unknown: {both}"));
            }
            Some(_) => {}
            None => named = Some(product),
        }
    }
    Ok(named.or_else(|| facts.labels.gke_accelerator()).or_else(|| facts.labels.karpenter("name")))
}

fn memory(facts: &Facts<'_>, model: Option<&Model>) -> Option<Mebibytes> {
    let of_dra = facts.dra(DraKind::Gpu).filter_map(|device| device.memory).min();
    let of_nvml = facts.cards().iter().filter_map(|card| card.memory).min();
    of_dra
        .or(of_nvml)
        .or_else(|| facts.labels.memory().filter(|_| !is_single(facts)))
        .or_else(|| facts.labels.karpenter("memory").and_then(super::labels::memory))
        .or_else(|| model?.memory_at_least())
}

/// Physical cards. NVML sees them all; DRA lists a card in MIG mode by its slices, and not at all while it
/// has none.
fn count(facts: &Facts<'_>) -> Option<u32> {
    let listed = facts.cards().len();
    let by_uuid: BTreeSet<&str> = facts.devices.iter().filter_map(|device| device.card()).collect();
    let whole = facts.devices.iter().filter(|device| device.kind != DraKind::Mig).count();
    let counted = [listed, by_uuid.len(), whole].into_iter().find(|&count| count > 0);
    counted.and_then(|count| u32::try_from(count).ok()).or_else(|| facts.labels.cards())
}

fn driver(facts: &Facts<'_>) -> Option<Vec<u32>> {
    let of_dra = facts.devices.iter().filter_map(|device| device.driver_version.clone()).min();
    of_dra
        .or_else(|| parse_version(facts.agent?.driver_version.as_deref()?))
        .or_else(|| facts.labels.driver())
}
