//! A MIG profile that is asked for against what cards can do and nodes offer. One computation, three rules:
//! the hardware has no MIG at all, the slices stand behind another name, or the profile is not offered.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    cluster::{Kind, Shape},
    gpu::{MigProfile, MigStrategy, Mode, evidence::MigCapability, resource::GpuResource},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand,
};

const PRODUCT: &str = "nvidia.com/gpu.product";

/// `mig-unsupported-hardware`
pub static MIG_UNSUPPORTED_HARDWARE: Rule = Rule {
    id: "mig-unsupported-hardware",
    family: Family::Mig,
    summary: "MIG is asked for only where the cards have MIG",
    why: "MIG belongs to a product, not to an architecture or compute capability: A10G, L4, L40S, T4 or V100 have none. The Pod would wait for ever.",
    remedy: "Use time-slicing, MPS or whole cards there; `sluice pools` says what each pool can do.",
    severity: Severity::Deny,
    severity_because: "the hardware cannot do it; unknown hardware is never asserted",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA MIG user guide: supported GPUs"],
    check: Check::Case(unsupported),
};

/// `mig-strategy-name`
pub static MIG_STRATEGY_NAME: Rule = Rule {
    id: "mig-strategy-name",
    family: Family::Mig,
    summary: "slices are asked for by the name that the nodes' MIG strategy gives them",
    why: "Strategy single advertises every slice as nvidia.com/gpu; mixed gives each profile its own name.",
    remedy: "Ask for nvidia.com/gpu and select the product that carries the profile.",
    severity: Severity::Deny,
    severity_because: "no node advertises the name, so none can ever run the Pod",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA device plugin: MIG strategies"],
    check: Check::Case(strategy),
};

/// `mig-profile-not-available`
pub static MIG_PROFILE_NOT_AVAILABLE: Rule = Rule {
    id: "mig-profile-not-available",
    family: Family::Mig,
    summary: "some node offers the MIG profile that is asked for",
    why: "Profile names carry the slice's memory, which differs by card: 1g.5gb on an A100-40GB is 1g.10gb on an H100-80GB and 1g.18gb on an H200.",
    remedy: "Ask for a profile that is offered.",
    severity: Severity::Deny,
    severity_because: "no node advertises the name, so none can ever run the Pod",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA MIG user guide: profiles"],
    check: Check::Case(not_available),
};

/// What stands in the way of one MIG ask.
enum Obstacle {
    NoHardware(String),
    HiddenBySingle { product: String, pool: String },
    NotOffered(NotOffered),
}

/// A profile that the nodes in question do not hand out.
struct NotOffered {
    /// Profiles that pools offer, the nearest first.
    offered: Vec<String>,
    /// Pools of the selected nodes, where the profile is offered elsewhere.
    selected: Option<String>,
    /// Why some node may have it yet.
    to_come: Option<String>,
    /// Why it is none of these cards'.
    foreign: Option<String>,
}

fn unsupported(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_obstacle(case, findings, |ask, obstacle, findings| {
        let Obstacle::NoHardware(inventory) = obstacle else { return };
        let offers = offers::shared(case.world);
        let elsewhere = offers::advertisers(case.world, ask.resource).next().is_some();
        let remedy = if elsewhere {
            format!("drop the selector: other nodes offer {}", ask.resource)
        } else if offers.is_empty() {
            "ask for whole cards (nvidia.com/gpu)".to_owned()
        } else {
            format!("ask for what is here: {}", offers.join("; "))
        };
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!("{} where {inventory}", ask.resource),
                "a mode that these cards have: exclusive, time-slicing or MPS",
                remedy,
            )
            .in_container(&ask.container.name);
    });
}

fn strategy(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_obstacle(case, findings, |ask, obstacle, findings| {
        let Obstacle::HiddenBySingle { product, pool } = obstacle else { return };
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!("{}, which nodes with MIG strategy single do not advertise", ask.resource),
                format!("nvidia.com/gpu with nodeSelector nvidia.com/gpu.product: {product}"),
                format!("ask for nvidia.com/gpu and select {product} (pool {pool})"),
            )
            .in_container(&ask.container.name);
    });
}

fn not_available(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_obstacle(case, findings, |ask, obstacle, findings| {
        let Obstacle::NotOffered(not) = obstacle else { return };
        let is = match (&not.selected, &not.to_come, &not.foreign) {
            (Some(pools), ..) => format!("{}, which {pools}, that it selects, does not offer", ask.resource),
            (None, Some(why), _) => format!("{}, which no pool offers now: {why}", ask.resource),
            (None, None, Some(why)) => format!("{}, which no pool offers: {why}", ask.resource),
            (None, None, None) => format!("{}, which no pool offers", ask.resource),
        };
        let nearest = not.offered.first().map(|first| first.split(" (").next().unwrap_or(first));
        let (should, remedy) = match (nearest, &not.selected) {
            (_, Some(pools)) => (
                format!("nodes that offer it: {}", not.offered.first().map_or("none", String::as_str)),
                format!("drop the selector that leads to {pools}"),
            ),
            (Some(nearest), None) => {
                let single = not.offered.first().is_some_and(|first| first.contains(PRODUCT));
                let select = if single { ", and select that product, if its slices will do" } else { "" };
                (not.offered.join(" or "), format!("write {nearest}{select}"))
            }
            (None, None) => (
                "a profile of a partitioned node".to_owned(),
                "no node here is partitioned by MIG; ask for whole or shared cards".to_owned(),
            ),
        };
        let finding = findings.add(rule, format!("{}.resources", ask.path), is, should, remedy);
        finding.in_container(&ask.container.name).on_absence();
        if not.to_come.is_some() {
            // It waits until the layout is there.
            finding.at_most(Severity::Warn);
        }
    });
}

fn for_each_obstacle(
    case: &Case<'_>,
    findings: &mut Findings,
    say: impl Fn(&demand::Ask<'_>, &Obstacle, &mut Findings),
) {
    for PodCase { prefix, pod, placement, .. } in &case.pods {
        findings.under(prefix);
        for ask in demand::asks(&pod.spec) {
            let Some(resource) = GpuResource::parse(ask.resource) else { continue };
            let Some(profile) = resource.profile() else { continue };
            if offers::names(case.world).contains(ask.resource) && placement.selected.is_empty() {
                continue;
            }
            if let Some(obstacle) = obstacle(case, &placement.selected, ask.resource, &profile.to_string()) {
                say(&ask, &obstacle, findings);
            }
        }
    }
}

fn obstacle(case: &Case<'_>, selected: &[Arc<Shape>], resource: &str, profile: &str) -> Option<Obstacle> {
    let all: Vec<Arc<Shape>> = case.world.cluster.shapes().filter(|s| s.has_gpu()).cloned().collect();
    let here = if selected.is_empty() { &all } else { selected };
    if here.is_empty() || here.iter().any(|shape| offers::units(shape, resource) > 0) {
        return None;
    }
    if here.iter().all(|s| matches!(s.assessment.mig.capability, MigCapability::NotCapable(_))) {
        let words: BTreeSet<String> = here.iter().map(|shape| offers::mig_in_words(shape)).collect();
        return Some(Obstacle::NoHardware(words.into_iter().collect::<Vec<_>>().join(", ")));
    }
    let single = here.iter().find(|shape| {
        shape.assessment.mig.strategy == Some(MigStrategy::Single)
            && shape.labels.get(PRODUCT).is_some_and(|p| p.contains(&format!("MIG-{profile}")))
    });
    if let Some(shape) = single {
        return Some(Obstacle::HiddenBySingle {
            product: shape.labels.get(PRODUCT).cloned().unwrap_or_default(),
            pool: pool_name(case, shape),
        });
    }
    Some(Obstacle::NotOffered(not_offered(case, here, resource, profile)))
}

fn not_offered(case: &Case<'_>, here: &[Arc<Shape>], resource: &str, profile: &str) -> NotOffered {
    let elsewhere = offers::advertisers(case.world, resource).next().is_some();
    let pools = || {
        let names: BTreeSet<String> = here.iter().map(|shape| pool_name(case, shape)).collect();
        match names.into_iter().filter(|name| !name.is_empty()).collect::<Vec<_>>().as_slice() {
            [] => "the choice of nodes".to_owned(),
            [one] => format!("pool {one}"),
            several => format!("each of the pools {}", several.join(", ")),
        }
    };
    let capable =
        |shape: &&Arc<Shape>| !matches!(shape.assessment.mig.capability, MigCapability::NotCapable(_));
    NotOffered {
        offered: offered_profiles(case, resource, profile),
        selected: elsewhere.then(pools),
        to_come: here.iter().filter(capable).find_map(|shape| offers::layout_to_come(shape)),
        foreign: foreign(here, profile),
    }
}

/// Why a profile cannot be had of these cards, however they are cut; `None` where one of them may have it.
fn foreign(here: &[Arc<Shape>], profile: &str) -> Option<String> {
    let wanted: MigProfile = profile.parse().ok()?;
    if let Some(split) = wanted.split() {
        return Some(format!("{split}c is a part of a slice, and the device plugin names no such parts"));
    }
    let model = |shape: &Arc<Shape>| shape.assessment.model.and_then(|name| name.model());
    let lacks = |shape: &Arc<Shape>| model(shape).and_then(|model| model.has_profile(wanted)) == Some(false);
    if !here.iter().all(lacks) {
        return None;
    }
    let models: BTreeSet<String> = here.iter().map(|shape| offers::model_in_words(shape)).collect();
    let models: Vec<String> = models.into_iter().collect();
    Some(format!("{profile} is no profile of {}", models.join(" or ")))
}

/// `nvidia.com/mig-1g.10gb (pool h100-mig)`, the same profile first and then the nearest; under strategy single
/// `nvidia.com/gpu` with the product to select.
fn offered_profiles(case: &Case<'_>, resource: &str, wanted: &str) -> Vec<String> {
    let mut offered: Vec<(bool, f64, String)> = Vec::new();
    for pool in case.world.pools.iter().filter(|pool| pool.pool.mode == Mode::Mig) {
        for name in &pool.resources {
            let single = || {
                let product = pool.shapes.first()?.labels.get(PRODUCT)?;
                let profile = product.rsplit_once("-MIG-")?.1;
                Some((profile, format!("{name} ({PRODUCT} {product}, pool {})", pool.pool.name)))
            };
            let (profile, words) = match name.split_once("mig-") {
                Some((_, profile)) => (profile, format!("{name} (pool {})", pool.pool.name)),
                None => match single() {
                    Some(single) => single,
                    None => continue,
                },
            };
            offered.push((name == resource, strsim::jaro_winkler(profile, wanted), words));
        }
    }
    offered.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    offered.into_iter().map(|(_, _, words)| words).collect()
}

fn pool_name(case: &Case<'_>, shape: &Arc<Shape>) -> String {
    case.world.pools.of_shape(shape).first().map_or_else(String::new, |pool| pool.pool.name.to_string())
}
