//! What labels say about the mode. Labels are written by components that can lag or be wrong, so they come
//! last and contradict no less for it.

use super::{
    Source,
    claims::Claim,
    facts::Facts,
    mig_state::partitioned_by_config,
    ways::{Way, Ways},
};
use crate::gpu::model::{MigSuffix, Product};

/// Adds the claims of every label.
pub(super) fn by_labels(facts: &Facts<'_>, claims: &mut Vec<Claim>) {
    by_sharing_labels(facts, claims);
    by_mig_labels(facts, claims);
    claims.extend(facts.labels.product_label().and_then(|label| by_product(facts, label)));
    by_gke(facts, claims);
}

fn firm(ways: Ways, text: String) -> Claim {
    Claim::firm(Source::Labels, ways, text)
}

fn by_sharing_labels(facts: &Facts<'_>, claims: &mut Vec<Claim>) {
    let labels = &facts.labels;
    let of_slices = labels.slices.values().filter_map(|slice| slice.sharing);
    let words: Vec<&str> = labels.nvidia("gpu.sharing-strategy").into_iter().chain(of_slices).collect();
    // Slices and cards of one node may differ (`mixed`); the node is as weak as its weakest units.
    let strongest = ["mps", "time-slicing", "none"].into_iter().find(|word| words.contains(word));
    if let Some(word) = strongest {
        let ways = match word {
            "mps" => Ways::of(&[Way::Mps]),
            "time-slicing" => Ways::TIME_SLICED,
            _ => Ways::UNSHARED,
        };
        claims.push(firm(ways, format!("label nvidia.com/gpu.sharing-strategy says {word}")));
    }
    if labels.mps_active() {
        let text = "label nvidia.com/mps.capable says that MPS is active".to_owned();
        claims.push(firm(Ways::of(&[Way::Mps]), text));
    }
    let replicas = labels.slices.values().filter_map(|slice| slice.replicas).chain(labels.replicas()).max();
    if let Some(replicas) = replicas.filter(|&replicas| replicas > 1) {
        claims.push(firm(Ways::SHARED, format!("label nvidia.com/gpu.replicas says {replicas}")));
    }
}

fn by_mig_labels(facts: &Facts<'_>, claims: &mut Vec<Claim>) {
    let slices = facts.labels.slices.values().map(|slice| slice.count).fold(0, u32::saturating_add);
    if slices > 0 {
        // A node may have whole cards beside the slices, and those may be shared.
        let ways = if facts.renamed() > 0 { Ways::SLICED.or(Ways::SHARED_CARDS) } else { Ways::SLICED };
        claims.push(firm(ways, format!("labels nvidia.com/mig-*.count say {slices}")));
    }
    let Some(config) = facts.labels.nvidia("mig.config") else { return };
    if facts.labels.nvidia("mig.config.state") == Some("success") {
        let text = format!("label nvidia.com/mig.config says that layout {config} is in place");
        let ways = partitioned_by_config(config).map(|on| if on { Ways::SLICED } else { Ways::UNSLICED });
        claims.extend(ways.map(|ways| firm(ways, text)));
    }
}

fn by_product(facts: &Facts<'_>, label: &str) -> Option<Claim> {
    let product = Product::read(label);
    let text = format!("label nvidia.com/gpu.product is {label}");
    match (product.mig, product.shared) {
        (Some(MigSuffix::Invalid), _) => None,
        (Some(MigSuffix::Profile(_)), false) => Some(firm(Ways::SLICED, text)),
        (Some(MigSuffix::Profile(_)), true) => Some(firm(Ways::of(&[Way::SharedSlices]), text)),
        (None, true) => Some(firm(Ways::SHARED_CARDS, text)),
        // Renamed shared units leave no suffix, so a bare product says something only without renaming;
        // and people who label nodes by hand write it bare, so it contradicts nobody.
        (None, false) if facts.renamed() > 0 => None,
        (None, false) => Some(Claim::hint(Source::Labels, Ways::UNSHARED, text)),
    }
}

fn by_gke(facts: &Facts<'_>, claims: &mut Vec<Claim>) {
    let Some(gke) = facts.labels.gke() else { return };
    if let Some(partition) = gke.partition {
        let text = format!("label cloud.google.com/gke-gpu-partition-size says {partition}");
        claims.push(firm(Ways::SLICED, text));
    }
    let key = "label cloud.google.com/gke-gpu-sharing-strategy";
    let says = |word: &str| format!("{key} says {word}");
    claims.extend(match gke.sharing {
        Some("mps") => Some(firm(Ways::of(&[Way::Mps]), says("mps"))),
        Some(word @ ("time-sharing" | "time-slicing")) => Some(firm(Ways::TIME_SLICED, says(word))),
        Some(_) => None,
        // Another device plugin may have been installed without the label that says so.
        None => {
            let way = if gke.partition.is_some() { Way::Slices } else { Way::Whole };
            Some(Claim::hint(Source::Labels, Ways::of(&[way]), format!("{key} is absent")))
        }
    });
}
