//! For which resource names the extender has something to say.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use serde_json::json;

use crate::{
    decide::decide,
    gpu::Mode,
    policy::Class,
    rules::Candidate,
    subject::{CLASS_LABEL, Facts, Reading, Stage, read},
    world::{LivePool, World},
};

/// Which Pods the extender is asked about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Managed {
    /// Every Pod of the scheduler; why a list will not do.
    Everything {
        /// In words.
        because: String,
    },
    /// Pods that ask for one of these.
    Names {
        /// Sorted.
        names: Vec<String>,
        /// Names left out, each with why.
        omitted: Vec<(String, String)>,
    },
}

impl Managed {
    /// Looks at every name that a pool serves by.
    pub fn of(world: &World) -> Self {
        if let Some(because) = no_list(world) {
            return Self::Everything { because };
        }
        let (mut names, mut omitted) = (Vec::new(), Vec::new());
        for (name, pools) in pools_by_name(world) {
            match why_open(world, name, &pools) {
                Some(why) => omitted.push((name.to_owned(), why)),
                None => names.push(name.to_owned()),
            }
        }
        Self::Names { names, omitted }
    }
}

/// Whether our scores could prefer one node to another for some Pod: where a class likes pools differently,
/// shares cards, uses slices or packs; in-tree scoring spreads, and is enough for all others.
pub(super) fn scores_matter(world: &World) -> bool {
    let by_name = pools_by_name(world);
    by_name.is_empty()
        || world.policies.classes.iter().any(|class| {
            by_name.keys().any(|name| {
                let candidates = candidates(world, class, name);
                let pools = || candidates.iter().filter_map(|to| world.pools.get(&to.pool));
                let nodes: usize = pools().map(|live| live.node_count(&world.cluster)).sum();
                let differ =
                    |of: &dyn Fn(&LivePool) -> u64| pools().map(of).collect::<BTreeSet<_>>().len() > 1;
                let ranks: BTreeSet<usize> = candidates.iter().map(|to| to.rank).collect();
                ranks.len() > 1
                    || pools().any(|live| live.pool.mode.is_software_shared() || live.pool.mode == Mode::Mig)
                    || differ(&|live| live.pool.cost.unwrap_or(0.0).to_bits())
                    || (!class.spread && nodes > 1)
            })
        })
}

/// Why a list of names would miss Pods.
fn no_list(world: &World) -> Option<String> {
    let by_name = pools_by_name(world);
    if by_name.is_empty() {
        return Some("no pool is known; give --cluster FILE or --context NAME".to_owned());
    }
    if let Some(live) =
        world.pools.iter().find(|live| live.pool.device_class.is_some() || live.pool.requires.dra)
    {
        return Some(format!(
            "pool {} uses DRA, and claims are no names that a list could hold",
            live.pool.name
        ));
    }
    by_name.iter().find_map(|(name, pools)| {
        let modes: BTreeSet<Mode> = pools.iter().map(|live| live.pool.mode).collect();
        let modes: Vec<&str> = modes.into_iter().map(Mode::as_str).collect();
        (modes.len() > 1).then(|| format!("{name} is ambiguous: it means {}", modes.join(" here and ")))
    })
}

fn pools_by_name(world: &World) -> BTreeMap<&str, Vec<&LivePool>> {
    let mut by_name: BTreeMap<&str, Vec<&LivePool>> = BTreeMap::new();
    for live in world.pools.iter() {
        for resource in &live.resources {
            by_name.entry(resource).or_default().push(live);
        }
    }
    by_name
}

/// Why the extender has nothing to say about a name: every class that may ask for it may go to every pool
/// that advertises it, and no class limits its neighbours there. `None` where it has.
fn why_open(world: &World, name: &str, pools: &[&LivePool]) -> Option<String> {
    let shared = pools.iter().any(|live| live.pool.mode.is_software_shared());
    let all: BTreeSet<&str> = pools.iter().map(|live| &*live.pool.name).collect();
    let mut classes = Vec::new();
    for class in &world.policies.classes {
        let open = pools_for(world, class, name);
        let limits = class.sharing.max_tenants.is_some() || class.sharing.with.is_some();
        match open.is_empty() {
            // Admission refuses it that name.
            true => {}
            false if (shared && limits) || !all.iter().all(|pool| open.contains(*pool)) => return None,
            false => classes.push(&*class.name),
        }
    }
    let pools: Vec<&str> = all.into_iter().collect();
    Some(match classes.as_slice() {
        [] => format!("no class may ask for it (pool {})", pools.join(", ")),
        classes => {
            format!(
                "pool {} is open to every class that may ask for it ({})",
                pools.join(", "),
                classes.join(", ")
            )
        }
    })
}

/// The pools that a Pod of the class may go to when it asks for one unit of that name.
fn pools_for(world: &World, class: &Class, name: &str) -> BTreeSet<String> {
    candidates(world, class, name).iter().map(|to| to.pool.to_string()).collect()
}

fn candidates(world: &World, class: &Class, name: &str) -> Vec<Candidate> {
    let pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "probe", "namespace": "default", "labels": {CLASS_LABEL: class.name}},
        "spec": {"containers": [{"name": "probe", "resources": {"limits": {name: 1}}}]},
    });
    let Reading::Subject(subject) = read(Arc::new(pod), None, Facts::new(Stage::Mutate)) else {
        return Vec::new();
    };
    let mut candidates = decide(world, &subject).candidates;
    candidates.retain(|to| to.resource == name);
    candidates
}
