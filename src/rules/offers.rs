//! What the cluster offers, in words that findings share.

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    cluster::Shape,
    gpu::{Mode, evidence::MigCapability, resource},
    world::{LivePool, World},
};

/// Shapes that advertise at least one unit of a resource.
pub fn advertisers<'a>(world: &'a World, resource: &'a str) -> impl Iterator<Item = &'a Arc<Shape>> {
    world.cluster.shapes().filter(move |shape| units(shape, resource) > 0)
}

/// Units of a resource on each node of a shape.
#[must_use]
pub fn units(shape: &Shape, resource: &str) -> i64 {
    shape.allocatable.get(resource).map_or(0, |amount| amount.value())
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

/// The modes that are here: `exclusive (pool a), time-slicing (pool b)`.
#[must_use]
pub fn modes_in_words(world: &World) -> String {
    let words: Vec<String> =
        world.pools.iter().map(|live| format!("{} (pool {})", live.pool.mode, live.pool.name)).collect();
    if words.is_empty() { "no GPU pool is known".to_owned() } else { words.join(", ") }
}

/// Why there is, or is no, MIG here: a phrase for each GPU model, with the number of nodes.
#[must_use]
pub fn mig_inventory(world: &World) -> String {
    let mut models: std::collections::BTreeMap<String, usize> = std::collections::BTreeMap::new();
    for shape in world.cluster.shapes().filter(|shape| shape.has_gpu()) {
        let nodes = world.cluster.members(shape).map_or(0, imbl::OrdSet::len);
        *models.entry(mig_in_words(shape)).or_default() += nodes;
    }
    let phrase = |(words, nodes): (String, usize)| format!("{words} ({nodes} node{})", plural(nodes));
    let phrases: Vec<String> = models.into_iter().map(phrase).collect();
    if phrases.is_empty() { "no GPU node is known".to_owned() } else { phrases.join(", ") }
}

/// `L4: not capable of MIG` and the like for one shape.
#[must_use]
pub fn mig_in_words(shape: &Shape) -> String {
    let assessment = &shape.assessment;
    let model = model_in_words(shape);
    match (&assessment.mig.capability, assessment.mode.mode) {
        (_, Some(Mode::Mig)) => format!("{model}: MIG in use"),
        (MigCapability::Capable, _) => format!("{model}: capable of MIG, not partitioned"),
        (MigCapability::NotCapable(_), _) => format!("{model}: not capable of MIG"),
        (MigCapability::Unknown, _) => format!("{model}: MIG capability unknown"),
    }
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

/// `s` unless there is one.
#[must_use]
pub fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}
