//! Pools that nobody declared: GPU nodes grouped by what they hand out, named after it.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    cluster::{Cluster, Shape},
    gpu::{Assessment, MigProfile, MigStrategy, Mode, UnitKind},
    k8s::{object::Taint, taints::repels},
    policy::{MigLayout, PolicySet, Pool, Requires},
    world::{
        build::{Membership, serves},
        pools::{LivePool, Outside, id},
        selection,
        taints::is_passing,
    },
};

/// What was found.
pub(super) struct Found {
    pub(super) pools: Vec<LivePool>,
    pub(super) outside: Vec<Outside>,
}

/// What the nodes of one discovered pool have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Nature {
    /// Model, else product, as part of a name.
    card: String,
    mode: Mode,
    /// What they hand out, and what one of it is.
    units: BTreeSet<(String, UnitKind)>,
    strategy: Option<MigStrategy>,
    replicas: Option<u32>,
    dra: bool,
    /// Taints that are there to stay.
    taints: Vec<Taint>,
}

/// Makes pools of the GPU nodes that are in none of `declared`.
pub(super) fn discover(policies: &PolicySet, cluster: &Cluster, declared: &[Membership]) -> Found {
    let mut groups = BTreeMap::<Nature, Membership>::new();
    let mut outside = Vec::new();
    let coverage = Coverage::of(declared);
    for shape in cluster.shapes().filter(|shape| shape.has_gpu()) {
        let left = match coverage.left(shape, cluster) {
            Left::Nothing => continue,
            Left::All => None,
            Left::Some(names) => Some(names),
        };
        match Nature::of(shape) {
            Ok(nature) => groups.entry(nature).or_default().take(shape, left, cluster),
            Err(reason) => outside.push(Outside { shape: Arc::clone(shape), reason }),
        }
    }
    let mut names = Names::taken(policies);
    let pools = groups
        .into_iter()
        .map(|(nature, membership)| nature.into_pool(&membership, cluster, &mut names))
        .collect::<Vec<_>>();
    Found { pools: by_name(pools), outside }
}

fn by_name(mut pools: Vec<LivePool>) -> Vec<LivePool> {
    pools.sort_by(|a, b| a.pool.name.cmp(&b.pool.name));
    pools
}

/// Which nodes declared pools already have.
struct Coverage<'a>(BTreeMap<usize, Vec<&'a Membership>>);

enum Left {
    All,
    Some(BTreeSet<Arc<str>>),
    Nothing,
}

impl<'a> Coverage<'a> {
    fn of(declared: &'a [Membership]) -> Self {
        let mut by_shape = BTreeMap::<_, Vec<_>>::new();
        for membership in declared {
            for shape in &membership.shapes {
                by_shape.entry(id(shape)).or_default().push(membership);
            }
        }
        Self(by_shape)
    }

    /// The nodes of a shape that no declared pool has.
    fn left(&self, shape: &Arc<Shape>, cluster: &Cluster) -> Left {
        let Some(claims) = self.0.get(&id(shape)) else { return Left::All };
        if claims.iter().any(|membership| membership.only.is_none()) {
            return Left::Nothing;
        }
        let free = |name: &&Arc<str>| !claims.iter().any(|membership| membership.has(name));
        let left: BTreeSet<_> = cluster.members(shape).into_iter().flatten().filter(free).cloned().collect();
        if left.is_empty() { Left::Nothing } else { Left::Some(left) }
    }
}

impl Membership {
    /// Takes in a shape, or some of its nodes.
    fn take(&mut self, shape: &Arc<Shape>, some: Option<BTreeSet<Arc<str>>>, cluster: &Cluster) {
        let members = |shape: &Shape| cluster.members(shape).into_iter().flatten().cloned();
        if let (None, Some(_)) = (&self.only, &some) {
            self.only = Some(self.shapes.iter().flat_map(|shape| members(shape)).collect());
        }
        match (&mut self.only, some) {
            (Some(only), Some(some)) => only.extend(some),
            (Some(only), None) => only.extend(members(shape)),
            (None, _) => {}
        }
        self.shapes.push(Arc::clone(shape));
    }
}

impl Nature {
    /// What nodes of the shape hand out, or why nobody knows.
    fn of(shape: &Shape) -> Result<Self, String> {
        let Assessment { mode, units, mig, replicas, dra, .. } = &shape.assessment;
        let Some(known) = mode.mode else { return Err(mode.explanation.clone()) };
        let served = units.iter().filter(|unit| serves(known, unit.kind));
        let served: BTreeSet<_> = served.map(|unit| (unit.resource.clone(), unit.kind)).collect();
        if served.is_empty() && !dra {
            return Err(format!("nothing is advertised: {}", mode.explanation));
        }
        let lasting = |taint: &&Taint| repels(taint) && !is_passing(taint);
        Ok(Self {
            card: card(&shape.assessment),
            mode: known,
            units: served,
            strategy: mig.strategy.filter(|_| known == Mode::Mig),
            replicas: replicas.filter(|replicas| *replicas > 1),
            dra: *dra,
            taints: shape.taints.iter().filter(lasting).cloned().collect(),
        })
    }

    fn into_pool(self, membership: &Membership, cluster: &Cluster, names: &mut Names) -> LivePool {
        let name = names.choose(&format!("{}-{}", self.card, self.mode));
        let selected = self.terms(membership, cluster);
        let resources: BTreeSet<&String> = self.units.iter().map(|(resource, _)| resource).collect();
        let cards = common(membership.shapes.iter().map(|shape| shape.assessment.cards));
        let pool = Pool {
            name: name.into(),
            nodes: selected.clone().into_iter().collect(),
            mode: self.mode,
            resource: resources.first().filter(|_| resources.len() == 1).map(|name| (*name).clone()),
            device_class: None,
            replicas: self.replicas.filter(|_| self.mode.is_software_shared()),
            fail_requests_greater_than_one: None,
            mig: self.layout(),
            cards_per_node: cards,
            taints: self.taints.clone(),
            autoscaling: None,
            requires: Requires::default(),
            cost: None,
        };
        let mut live = LivePool::new(Arc::new(pool), false, membership);
        if selected.is_none() {
            let text = "no labels tell its nodes from others that advertise the same: it cannot be selected";
            live.conflicts.push(text.to_owned());
        }
        live
    }

    /// A term that selects exactly these nodes among those that advertise the same resources.
    fn terms(
        &self,
        membership: &Membership,
        cluster: &Cluster,
    ) -> Option<crate::k8s::object::NodeSelectorTerm> {
        if membership.only.is_some() {
            return None;
        }
        let members: Vec<&Arc<Shape>> = membership.shapes.iter().collect();
        let own: BTreeSet<usize> = members.iter().map(|shape| id(shape)).collect();
        let advertises = |shape: &Shape| {
            let units = shape.assessment.units.iter().map(|unit| &unit.resource);
            let mut names = units.chain(shape.allocatable.keys());
            shape.assessment.dra && self.dra
                || names.any(|name| self.units.iter().any(|(own, _)| own == name))
        };
        let others: Vec<&Arc<Shape>> =
            cluster.shapes().filter(|shape| !own.contains(&id(shape)) && advertises(shape)).collect();
        selection::select(&members, &others)
    }

    fn layout(&self) -> Option<MigLayout> {
        let strategy = self.strategy.filter(|_| self.mode == Mode::Mig)?;
        let profiles: BTreeSet<MigProfile> = self
            .units
            .iter()
            .filter_map(|(_, kind)| match kind {
                UnitKind::Slice(profile) | UnitKind::SharedSlice(profile) => *profile,
                _ => None,
            })
            .collect();
        Some(MigLayout { strategy, profiles: profiles.iter().map(ToString::to_string).collect() })
    }
}

/// Names of pools that are in use.
struct Names(BTreeSet<String>);

impl Names {
    fn taken(policies: &PolicySet) -> Self {
        Self(policies.pools.iter().map(|pool| pool.name.to_string()).collect())
    }

    fn choose(&mut self, wanted: &str) -> String {
        let mut name = wanted.to_owned();
        let mut number = 1_u32;
        while !self.0.insert(name.clone()) {
            number += 1;
            name = format!("{wanted}-{number}");
        }
        name
    }
}

/// The card as part of a name: `h200`, `a100-40gb`, `gpu` where nobody knows.
fn card(assessment: &Assessment) -> String {
    let text = match (&assessment.model, &assessment.product) {
        (Some(model), _) => model.as_str(),
        (None, Some(product)) => product.strip_prefix("NVIDIA-").unwrap_or(product),
        (None, None) => "gpu",
    };
    let mut slug = String::new();
    for letter in text.chars().map(|letter| letter.to_ascii_lowercase()) {
        if letter.is_ascii_alphanumeric() {
            slug.push(letter);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    if slug.is_empty() { "gpu".to_owned() } else { slug.to_owned() }
}

/// The value that all have.
fn common<T: PartialEq + Copy>(mut values: impl Iterator<Item = Option<T>>) -> Option<T> {
    let first = values.next()??;
    values.all(|value| value == Some(first)).then_some(first)
}
