//! The pools as they are now.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    cluster::{Cluster, Node, Shape},
    gpu::{
        Mebibytes, Mode, ModelName,
        evidence::{MigLayoutState, Standing as Evidence},
        model_matches,
    },
    k8s::{affinity::RequiredNodeAffinity, object::Taint, taints::repels},
    policy::Pool,
    world::{
        build, selection,
        standing::{self, ShapeStanding, Standing, is_model},
        taints::guards_gpus,
    },
};

/// All pools, declared ones first, each group by name.
#[derive(Clone, Debug, Default)]
pub struct Pools {
    pub(super) pools: Vec<LivePool>,
    /// Index by shape: pools that claim it, as positions in `pools`.
    pub(super) by_shape: BTreeMap<ShapeId, Vec<usize>>,
    /// GPU shapes that make no pool.
    pub(super) outside: Vec<Outside>,
    /// Whether some pool's terms ask for identity labels, so that membership is not a matter of shapes.
    pub(super) by_node: bool,
    /// Taints that guard some pool's GPUs, sorted, without repetition.
    pub(super) guards: Vec<Taint>,
}

/// One pool with the nodes that it has.
#[derive(Clone, Debug)]
pub struct LivePool {
    /// What the policy says, or what was found.
    pub pool: Arc<Pool>,
    /// Whether a policy declares it.
    pub declared: bool,
    /// The shapes of its nodes, usable or not.
    pub shapes: Vec<Arc<Shape>>,
    /// What it can be used for now.
    pub standing: Standing,
    /// The resources by which it serves: what its nodes advertise in the pool's mode; what the declaration
    /// says for a pool without nodes.
    pub resources: BTreeSet<String>,
    /// Least memory of a unit; under MPS what one tenant may use.
    pub memory: Option<Mebibytes>,
    /// The model of all its cards.
    pub model: Option<ModelName>,
    /// What speaks against how it is declared, in sentences.
    pub conflicts: Vec<String>,
    /// What each shape is to the pool, in the order of `shapes`.
    pub(super) standings: Vec<ShapeStanding>,
    /// Exactly the nodes, where the pool has only some of the nodes of a shape.
    pub(super) only: Option<BTreeSet<Arc<str>>>,
}

/// GPU nodes that make no pool, because nobody knows what they hand out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outside {
    /// The shape.
    pub shape: Arc<Shape>,
    /// Why.
    pub reason: String,
}

/// Identity of a shape inside one picture and those derived from it.
pub(super) type ShapeId = usize;

impl Pools {
    /// All pools, declared ones first, each group by name.
    pub fn iter(&self) -> impl Iterator<Item = &LivePool> {
        self.pools.iter()
    }

    /// The pool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&LivePool> {
        self.pools.iter().find(|pool| &*pool.pool.name == name)
    }

    /// Pools that a policy declares.
    pub fn declared(&self) -> impl Iterator<Item = &LivePool> {
        self.iter().filter(|pool| pool.declared)
    }

    /// Pools that were found among the nodes.
    pub fn discovered(&self) -> impl Iterator<Item = &LivePool> {
        self.iter().filter(|pool| !pool.declared)
    }

    /// The pools that nodes of the shape belong to: one, unless declared pools overlap or split a shape.
    #[must_use]
    pub fn of_shape(&self, shape: &Arc<Shape>) -> Vec<&LivePool> {
        let indices = self.by_shape.get(&id(shape)).map_or(&[][..], Vec::as_slice);
        indices.iter().filter_map(|index| self.pools.get(*index)).collect()
    }

    /// The pools that a node belongs to.
    pub fn of_node<'a>(&'a self, node: &'a Node) -> impl Iterator<Item = &'a LivePool> {
        self.of_shape(&node.shape).into_iter().filter(|pool| pool.has_name(&node.name))
    }

    /// Whether nodes of one shape may belong to different pools.
    #[must_use]
    pub const fn split_shapes(&self) -> bool {
        self.by_node
    }

    /// GPU nodes that make no pool, with the reason.
    #[must_use]
    pub fn outside(&self) -> &[Outside] {
        &self.outside
    }

    /// Taints that guard GPUs of some pool, sorted, without repetition.
    #[must_use]
    pub fn guarding_taints(&self) -> &[Taint] {
        &self.guards
    }

    /// Whether pools made from one picture hold for another.
    pub(super) fn hold_for(&self, old: &Cluster, new: &Cluster) -> bool {
        if self.by_node { old.same_members(new) } else { old.same_shapes(new) }
    }
}

impl LivePool {
    /// Whether it has no node.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shapes.is_empty()
    }

    /// The shapes that prove the mode and meet the conditions. A pool may have good and bad ones.
    pub fn usable_shapes(&self) -> impl Iterator<Item = &Arc<Shape>> {
        self.shapes.iter().zip(&self.standings).filter(|(_, s)| s.is_usable()).map(|(shape, _)| shape)
    }

    /// The shapes that would do as the pool says, were their MIG layout in place: it is on its way, or was not
    /// applied.
    pub fn coming_shapes(&self) -> impl Iterator<Item = &Arc<Shape>> {
        let coming = |shape: &&Arc<Shape>| {
            let assessment = &shape.assessment;
            assessment.mode.mode == Some(self.pool.mode)
                && matches!(assessment.mig.layout, MigLayoutState::Pending(_) | MigLayoutState::Failed)
        };
        let unproven = |standing: &ShapeStanding| matches!(standing, ShapeStanding::Unproven(_));
        let shapes = self.shapes.iter().zip(&self.standings);
        shapes.filter(move |(_, standing)| unproven(standing)).map(|(shape, _)| shape).filter(coming)
    }

    /// The shapes that seem to do as the pool says, of which nobody who knows has said so and nobody denies it. None
    /// for MIG: what is not known there is no slice.
    pub fn seeming_shapes(&self) -> impl Iterator<Item = &Arc<Shape>> {
        let seeming = |shape: &&Arc<Shape>| {
            let (mode, layout) = (&shape.assessment.mode, &shape.assessment.mig.layout);
            self.pool.mode != Mode::Mig
                && mode.mode == Some(self.pool.mode)
                && mode.standing == Evidence::Unverified
                && *layout == MigLayoutState::Settled
                && standing::unmet(&self.pool.requires, shape).is_empty()
        };
        let unproven = |standing: &ShapeStanding| matches!(standing, ShapeStanding::Unproven(_));
        let shapes = self.shapes.iter().zip(&self.standings);
        shapes.filter(move |(_, standing)| unproven(standing)).map(|(shape, _)| shape).filter(seeming)
    }

    /// What nodes of a shape are to the pool; `None` for a shape that it does not have.
    #[must_use]
    pub fn shape_standing(&self, shape: &Arc<Shape>) -> Option<&ShapeStanding> {
        let index = self.shapes.iter().position(|own| Arc::ptr_eq(own, shape))?;
        self.standings.get(index)
    }

    /// Whether a node belongs to the pool.
    #[must_use]
    pub fn has_node(&self, node: &Node) -> bool {
        self.has_name(&node.name) && self.shapes.iter().any(|own| Arc::ptr_eq(own, &node.shape))
    }

    /// Whether a container that asks for several of its units is kept off. Units of a shared card are no cards:
    /// the device plugin fails such a container after it was bound (under MPS, and wherever it is told to), or
    /// hands out one card twice. A pool that says `failRequestsGreaterThanOne: false` lets it through.
    #[must_use]
    pub fn refuses_several_units(&self) -> bool {
        self.pool.mode.is_software_shared() && self.pool.fail_requests_greater_than_one != Some(false)
    }

    /// The most memory that one of its units has, under MPS what one tenant may use; `None` as soon as one is
    /// unknown.
    #[must_use]
    pub fn largest_memory(&self) -> Option<Mebibytes> {
        let mut largest = None;
        for assessment in self.shapes.iter().map(|shape| &shape.assessment) {
            for unit in assessment.units.iter().filter(|unit| self.resources.contains(&unit.resource)) {
                largest = largest.max(Some(build::unit_memory(self.pool.mode, assessment, unit)?));
            }
        }
        largest
    }

    /// The number of its nodes.
    #[must_use]
    pub fn node_count(&self, cluster: &Cluster) -> usize {
        match &self.only {
            Some(names) => names.len(),
            None => self.shapes.iter().filter_map(|s| cluster.members(s)).map(imbl::OrdSet::len).sum(),
        }
    }

    /// The names of its nodes.
    #[must_use]
    pub fn node_names(&self, cluster: &Cluster) -> Vec<Arc<str>> {
        match &self.only {
            Some(names) => names.iter().cloned().collect(),
            None => {
                let members = self.shapes.iter().filter_map(|shape| cluster.members(shape));
                let mut names: Vec<_> = members.flatten().cloned().collect();
                names.sort_unstable();
                names
            }
        }
    }

    /// Whether all its cards are of a model as a policy writes it; for a pool without nodes, whether its
    /// conditions of use promise that.
    #[must_use]
    pub fn is_model(&self, pattern: &str) -> bool {
        if self.is_empty() {
            let models = &self.pool.requires.models;
            return !models.is_empty() && models.iter().all(|model| model_matches(pattern, model));
        }
        let mut usable = self.usable_shapes().peekable();
        if usable.peek().is_some() {
            return usable.all(|shape| is_model(&shape.assessment, pattern));
        }
        self.shapes.iter().all(|shape| is_model(&shape.assessment, pattern))
    }

    /// Taints that keep other Pods off its GPUs: those that it declares, and those that its nodes carry and
    /// that speak of GPUs. Sorted, without repetition.
    #[must_use]
    pub fn guarding_taints(&self) -> Vec<&Taint> {
        let actual = self.shapes.iter().flat_map(|shape| &shape.taints).filter(|taint| guards_gpus(taint));
        // A discovered pool carries its nodes' taints to tell it from others; nobody declared them as its guard.
        let declared = self.pool.taints.iter().filter(|_| self.declared);
        let mut taints: Vec<&Taint> = declared.chain(actual).filter(|taint| repels(taint)).collect();
        taints.sort_unstable();
        taints.dedup();
        taints
    }

    /// Whether a node that joins the pool could meet a constraint: the labels that the pool's terms promise
    /// do not rule it out. For pools without nodes, where there is nobody to ask.
    #[must_use]
    pub fn declared_labels_match(&self, required: &RequiredNodeAffinity) -> bool {
        self.pool.nodes.iter().any(|term| selection::could_meet(term, required))
    }

    /// How the mode is known, in sentences: one for each kind of evidence among its nodes.
    #[must_use]
    pub fn why(&self) -> Vec<String> {
        distinct(self.shapes.iter().map(|shape| {
            let mode = &shape.assessment.mode;
            match mode.source {
                Some(source) => format!("{source}: {}", mode.explanation),
                None => mode.explanation.clone(),
            }
        }))
    }

    /// What its cards can do of MIG, in sentences: `L4: not capable of MIG`.
    #[must_use]
    pub fn mig(&self) -> Vec<String> {
        distinct(self.shapes.iter().map(|shape| shape.assessment.mig.explanation.clone()))
    }

    fn has_name(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| only.contains(name))
    }
}

pub(super) fn id(shape: &Arc<Shape>) -> ShapeId {
    Arc::as_ptr(shape).addr()
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    texts.collect::<BTreeSet<_>>().into_iter().collect()
}
