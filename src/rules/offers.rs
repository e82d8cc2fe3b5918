//! What the cluster offers, in words that findings share.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    cluster::Shape,
    gpu::{
        Mode,
        evidence::{MigCapability, MigLayoutState},
        resource,
    },
    policy::{Class, Fallback, PoolTerm},
    rules::Placement,
    world::{LivePool, World},
};

/// Shapes that advertise at least one unit of a resource.
pub fn advertisers<'a>(world: &'a World, resource: &'a str) -> impl Iterator<Item = &'a Arc<Shape>> {
    world.cluster.shapes().filter(move |shape| units(shape, resource) > 0)
}

/// Units of a resource on each node of a shape: of the device plugin, or of a DeviceClass that serves the name
/// (KEP-5004) where allocatable has none.
#[must_use]
pub fn units(shape: &Shape, resource: &str) -> i64 {
    let plugin = shape.allocatable.get(resource).map_or(0, |amount| amount.value());
    let by_class = || {
        let mut units = shape.assessment.units.iter().filter(|unit| unit.device_class.is_some());
        units
            .find(|unit| unit.resource == resource)
            .map_or(0, |unit| i64::try_from(unit.count).unwrap_or(i64::MAX))
    };
    if plugin > 0 { plugin } else { by_class() }
}

/// Whether nodes of the shape hand out what the implicit name of a DeviceClass stands for (KEP-5004); the class may
/// serve another name beside it.
#[must_use]
pub fn serves_by_class(shape: &Shape, resource: &str) -> bool {
    let named = resource.strip_prefix(resource::DEVICE_CLASS_PREFIX);
    let mut classes = shape.assessment.units.iter().filter_map(|unit| unit.device_class.as_deref());
    named.is_some_and(|named| classes.any(|class| class == named))
}

/// The pools in which a Pod may get a resource: its candidates, where placement chose some; else those of the
/// nodes that its author selects, or of every node that advertises it.
pub fn reachable<'a>(
    world: &'a World,
    placement: &'a Placement,
    resource: &'a str,
) -> impl Iterator<Item = &'a LivePool> {
    world.pools.iter().filter(move |live| {
        if !live.resources.contains(resource) {
            return false;
        }
        if !placement.candidates.is_empty() {
            return placement.candidates.iter().any(|candidate| candidate.pool == live.pool.name);
        }
        placement.selected.is_empty()
            || live.shapes.iter().any(|shape| placement.selected.iter().any(|s| Arc::ptr_eq(s, shape)))
    })
}

/// Every GPU resource name that a live node or a declared pool offers.
#[must_use]
pub fn names(world: &World) -> BTreeSet<String> {
    let live = world.cluster.shapes().flat_map(|shape| shape.allocatable.keys().cloned());
    let declared = world.pools.iter().flat_map(|pool| pool.resources.iter().cloned());
    live.chain(declared).filter(|name| resource::is_gpu_like(name)).chain(dra_backed(world)).collect()
}

/// Extended resources that a DeviceClass backs (KEP-5004): real even where no node's allocatable has them.
pub fn dra_backed(world: &World) -> impl Iterator<Item = String> {
    world.cluster.device_classes().flat_map(|class| {
        let implicit = format!("deviceclass.resource.kubernetes.io/{}", class.metadata.name);
        class.spec.extended_resource_name.clone().into_iter().chain([implicit])
    })
}

/// `nvidia.com/gpu.shared (pool l4-shared, time-slicing)` for each resource that shares cards.
#[must_use]
pub fn shared(world: &World) -> Vec<String> {
    let sharing = world.pools.iter().filter(|pool| pool.pool.mode != Mode::Exclusive);
    sharing.flat_map(in_words).collect()
}

/// A pool's resources with its name and mode.
#[must_use]
pub fn in_words(pool: &LivePool) -> Vec<String> {
    let name = |resource: &String| format!("{resource} (pool {}, {})", pool.pool.name, pool.pool.mode);
    pool.resources.iter().map(name).collect()
}

/// Whether a pool is one that the class takes: by its isolation, and by a term or its fallback.
#[must_use]
pub fn suits(class: &Class, live: &LivePool) -> bool {
    let (has, needs) = (live.pool.mode.isolation(), class.isolation);
    let isolated = (has.memory || !needs.memory) && (has.fault || !needs.fault);
    isolated && (class.fallback == Fallback::AnyCompatible || names_pool(class, live))
}

/// Whether the class names such a pool itself, not only as a last way out.
#[must_use]
pub fn names_pool(class: &Class, live: &LivePool) -> bool {
    class.terms.iter().any(|term| match term {
        PoolTerm::Named(name) => *name == live.pool.name,
        PoolTerm::Properties(wanted) => wanted.mode.is_none_or(|mode| mode == live.pool.mode),
    })
}

/// The modes that are here: `exclusive, time-slicing`.
#[must_use]
pub fn modes_in_words(world: &World) -> String {
    let modes: BTreeSet<&str> = world.pools.iter().map(|live| live.pool.mode.as_str()).collect();
    if modes.is_empty() {
        return "nodes of unknown mode".to_owned();
    }
    modes.into_iter().collect::<Vec<_>>().join(", ")
}

/// Why there is, or is no, MIG here: the GPU models of which the same is true together, with the number of
/// their nodes: `A10, L4: not capable of MIG (3 nodes)`.
#[must_use]
pub fn mig_inventory(world: &World) -> String {
    let mut states: BTreeMap<&str, (BTreeSet<String>, usize)> = BTreeMap::new();
    for shape in world.cluster.shapes().filter(|shape| shape.has_gpu()) {
        let (models, nodes) = states.entry(mig_state(shape)).or_default();
        models.insert(model_in_words(shape));
        *nodes += world.cluster.members(shape).map_or(0, imbl::OrdSet::len);
    }
    let phrase = |(state, (models, nodes)): (&str, (BTreeSet<String>, usize))| {
        let models: Vec<String> = models.into_iter().collect();
        format!("{}: {state} ({nodes} node{})", models.join(", "), plural(nodes))
    };
    let phrases: Vec<String> = states.into_iter().map(phrase).collect();
    if phrases.is_empty() { "no GPU node is known".to_owned() } else { phrases.join("; ") }
}

/// `L4: not capable of MIG` and the like for one shape.
#[must_use]
pub fn mig_in_words(shape: &Shape) -> String {
    format!("{}: {}", model_in_words(shape), mig_state(shape))
}

/// The model, or the product as the node names it.
#[must_use]
pub fn model_in_words(shape: &Shape) -> String {
    let assessment = &shape.assessment;
    let model = assessment.model.as_ref().map(ToString::to_string);
    model.or_else(|| assessment.product.clone()).unwrap_or_else(|| "unknown GPU".to_owned())
}

/// No GPU node of the picture can do MIG, each known for sure.
#[must_use]
pub fn no_hardware_has_mig(world: &World) -> bool {
    let mut gpu = world.cluster.shapes().filter(|shape| shape.has_gpu()).peekable();
    gpu.peek().is_some()
        && gpu.all(|shape| matches!(shape.assessment.mig.capability, MigCapability::NotCapable(_)))
}

/// Whether some node may still turn into what is asked for: its MIG layout is on its way, or was not applied.
#[must_use]
pub fn layout_to_come(shape: &Shape) -> Option<String> {
    match &shape.assessment.mig.layout {
        MigLayoutState::Pending(state) => Some(format!("its MIG layout is not in place yet ({state})")),
        MigLayoutState::Failed => Some("the MIG manager failed to apply its layout".to_owned()),
        MigLayoutState::Settled | MigLayoutState::Invalid => None,
    }
}

/// `s` unless there is one.
#[must_use]
pub fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

fn mig_state(shape: &Shape) -> &'static str {
    match (&shape.assessment.mig.capability, shape.assessment.mode.mode) {
        (_, Some(Mode::Mig)) => "MIG in use",
        (MigCapability::Capable, _) => "capable of MIG, not partitioned",
        (MigCapability::NotCapable(_), _) => "not capable of MIG",
        (MigCapability::Unknown, _) => "MIG capability unknown",
    }
}
