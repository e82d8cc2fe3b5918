//! The MIG layout of a pool, held against the table of GPU models.

use crate::{
    gpu::{
        MigProfile, MigStrategy, Mode,
        model::{Model, ModelMig, edition, lookup, model_matches, models},
    },
    policy::{
        compile::Place,
        error::Faults,
        raw::{GpuPoolSpec, Mig, NodeOperator},
        set::MigLayout,
    },
};

/// Node labels whose value is a product name (GPU feature discovery; GKE).
const PRODUCT_LABELS: [&str; 2] = ["nvidia.com/gpu.product", "cloud.google.com/gke-accelerator"];

/// Compiles the layout. A card or profile that the table knows not to exist is a fault; what the table does
/// not know is left to the nodes.
pub(super) fn layout(spec: &GpuPoolSpec, place: Place<'_>, faults: &mut Faults<'_>) -> Option<MigLayout> {
    let models = named_models(spec);
    if spec.mode == Mode::Mig || spec.mig.is_some() {
        without_mig(spec, &models, place, faults);
    }
    let raw = spec.mig.as_ref()?;
    let place = place.key("mig").key("profiles");
    for (index, written) in raw.profiles.iter().enumerate() {
        let place = place.item(index);
        if let Some(profile) = read(written, place, faults) {
            on_models(profile, written, &models, place, faults);
        }
    }
    uniform(raw, place, faults);
    Some(MigLayout { strategy: raw.strategy, profiles: raw.profiles.clone() })
}

/// Models of the table that the pool names, by the labels of its nodes or by `requires.models`.
fn named_models(spec: &GpuPoolSpec) -> Vec<&'static Model> {
    let products = spec.nodes.iter().flat_map(|term| {
        let labels = term.match_labels.iter().filter(|(key, _)| PRODUCT_LABELS.contains(&key.as_str()));
        let expressions = term.match_expressions.iter().filter(|expression| {
            expression.operator == NodeOperator::In && PRODUCT_LABELS.contains(&expression.key.as_str())
        });
        labels.map(|(_, value)| value).chain(expressions.flat_map(|expression| &expression.values))
    });
    let by_label: Option<Vec<&Model>> = products.map(|product| lookup(product)).collect();
    // A product that the table does not know leaves everything open.
    let Some(by_label) = by_label else { return Vec::new() };
    if !by_label.is_empty() {
        return by_label;
    }
    let wanted = spec.requires.as_ref().map(|requires| requires.models.as_slice()).unwrap_or_default();
    let named =
        |model: &&'static Model| wanted.iter().any(|pattern| model_matches(pattern, model.name().as_str()));
    models().iter().filter(named).collect()
}

fn without_mig(spec: &GpuPoolSpec, models: &[&'static Model], place: Place<'_>, faults: &mut Faults<'_>) {
    if models.is_empty() || models.iter().any(|model| model.mig != ModelMig::None) {
        return;
    }
    let at = if spec.mode == Mode::Mig { place.key("mode").at() } else { place.name_of("mig") };
    let what = format!("mig-unsupported-hardware: a MIG pool of {}", names(models));
    let why = format!("these cards have no MIG (model table of {})", edition());
    faults.push(at, what, why, Some("`mode: time-slicing`".to_owned()));
}

fn read(written: &str, place: Place<'_>, faults: &mut Faults<'_>) -> Option<MigProfile> {
    let what = || format!("bad MIG profile `{written}`");
    match written.parse::<MigProfile>() {
        Ok(profile) if profile.split().is_some() => {
            let why = "the device plugin has no resource for a part of an instance and fails on it";
            faults.push(place.at(), what(), why, None);
            None
        }
        Ok(profile) => Some(profile),
        Err(_) => {
            let bare = written.trim_start_matches("nvidia.com/").trim_start_matches("mig-");
            let meant = MigProfile::from_resource_suffix(bare).map(|profile| format!("`{profile}`"));
            let why = "a profile is written as NVIDIA writes it, such as 1g.10gb or 1g.10gb+me";
            faults.push(place.at(), what(), why, meant);
            None
        }
    }
}

fn on_models(
    profile: MigProfile,
    written: &str,
    models: &[&'static Model],
    place: Place<'_>,
    faults: &mut Faults<'_>,
) {
    let capable: Vec<&'static Model> =
        models.iter().copied().filter(|model| model.mig != ModelMig::None).collect();
    if capable.is_empty() || capable.iter().any(|model| model.has_profile(profile) != Some(false)) {
        return;
    }
    let tables = capable.iter().filter_map(|model| model.mig_table());
    let mut known: Vec<MigProfile> = tables.flat_map(|table| table.profiles.keys().copied()).collect();
    known.sort_unstable();
    known.dedup();
    let alike =
        |other: &&MigProfile| other.slices() == profile.slices() && other.attribute() == profile.attribute();
    let suggestion = known.iter().find(alike).map(|other| format!("`{other}`"));
    let list = known.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let what = format!("mig-profile-not-available: `{written}` on {}", names(&capable));
    faults.push(place.at(), what, format!("these cards have {list}"), suggestion);
}

/// Under strategy single a node with unequal slices advertises nothing (device plugin `mig-strategy.go`).
fn uniform(raw: &Mig, place: Place<'_>, faults: &mut Faults<'_>) {
    if raw.strategy == MigStrategy::Single && raw.profiles.len() > 1 {
        let why = "then all slices of a node are equal, else it advertises nothing";
        let what = "mig-single-needs-uniform-layout: several profiles under strategy single";
        faults.push(place.at(), what.to_owned(), why, Some("`strategy: mixed`".to_owned()));
    }
}

fn names(models: &[&'static Model]) -> String {
    models.iter().map(|model| model.name().as_str()).collect::<Vec<_>>().join(", ")
}
