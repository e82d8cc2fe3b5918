//! What only several documents together can get wrong: names given twice, fallbacks that go in a circle,
//! pools that claim the same nodes in different ways, policies for the same namespaces.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    compile::{Known, Place, check_name},
    document::Document,
    error::{Faults, Position},
    overlap,
    raw::FallbackSpec,
    set::{AdmissionPolicy, Class, Fallback, Pool, PoolTerm},
};

/// A class whose fallback to another class is not followed yet.
pub(super) struct Pending<'a> {
    pub class: Class,
    pub fallback: &'a FallbackSpec,
    pub document: &'a Document,
}

/// Names that two documents of one kind have.
pub(super) fn duplicate_names(documents: &[Document], faults: &mut Faults<'_>) {
    let mut first = BTreeMap::new();
    for document in documents {
        let (Some(kind), Some((name, at))) = (document.kind, &document.name) else { continue };
        match first.get(&(kind, name)) {
            None => {
                first.insert((kind, name), (&document.file, *at));
            }
            Some((file, earlier)) => {
                let mut found = Faults::new(&document.file);
                let what = format!("{} `{name}` is defined twice", kind.as_str());
                let why = format!("the first is at {file}:{}:{}", earlier.line, earlier.column);
                found.push(*at, what, why, None);
                faults.absorb(found);
            }
        }
    }
}

/// Pools of which one's nodes certainly belong to the other as well, though the two say different things.
pub(super) fn overlapping_pools(pools: &[(Pool, &Document)], faults: &mut Faults<'_>) {
    for (index, (pool, document)) in pools.iter().enumerate() {
        for (other, other_document) in &pools[..index] {
            if pool.name == other.name || !overlap::certain(pool, other) {
                continue;
            }
            let mut found = Faults::new(&document.file);
            let at = Place::of(&document.node).key("spec").name_of("nodes");
            let there = spec_place(other_document);
            let shown = format!("{}:{}:{}", other_document.file, there.line, there.column);
            match overlap::contradiction(pool, other) {
                Some(difference) => {
                    let what = format!("pools `{}` and `{}` contradict each other", other.name, pool.name);
                    let why = format!("they select the same nodes ({shown}) but {difference}");
                    found.push(at, what, why, None);
                }
                None => {
                    let what = format!("pools `{}` and `{}` select the same nodes", other.name, pool.name);
                    found.doubt("pools-overlap", at, what, format!("one of them is enough ({shown})"));
                }
            }
            faults.absorb(found);
        }
    }
}

fn spec_place(document: &Document) -> Position {
    Place::of(&document.node).key("spec").name_of("nodes")
}

/// Policies between which nothing decides.
pub(super) fn same_scope(policies: &[(AdmissionPolicy, &Document)], faults: &mut Faults<'_>) {
    for (index, (policy, document)) in policies.iter().enumerate() {
        let same = policies[..index].iter().find(|(other, _)| {
            other.name != policy.name && other.namespaces.is_same_choice(&policy.namespaces)
        });
        if let Some((other, _)) = same {
            let mut found = Faults::new(&document.file);
            let place = Place::of(&document.node).key("spec");
            let what = format!("policies `{}` and `{}` choose the same namespaces", other.name, policy.name);
            let why = "of several policies the most specific counts, and neither is";
            found.push(place.name_of("namespaces"), what, why, None);
            faults.absorb(found);
        }
    }
}

/// Adds to each class the terms of the classes that it falls back to, in order.
pub(super) fn follow_fallbacks(
    pending: Vec<Pending<'_>>,
    known: &Known<'_>,
    faults: &mut Faults<'_>,
) -> Vec<Class> {
    let chains: Vec<Vec<usize>> = pending.iter().map(|one| chain(one, &pending)).collect();
    for (one, chain) in pending.iter().zip(&chains) {
        let mut found = Faults::new(&one.document.file);
        let place = Place::of(&one.document.node).key("spec").key("fallback").key("class");
        if let Some(next) = &one.fallback.class {
            check_name(next, "class", known.classes.iter().copied(), place.at(), &mut found);
        }
        if let Some(circle) = circle(one, chain, &pending) {
            let why = "its pools would be looked for without end";
            found.push(place.at(), format!("circular fallback {circle}"), why, None);
        }
        faults.absorb(found);
    }
    let whole: Vec<(Vec<PoolTerm>, Fallback)> = chains.iter().map(|chain| flatten(chain, &pending)).collect();
    let classes = pending.into_iter().zip(whole);
    classes.map(|(one, (terms, fallback))| Class { terms, fallback, ..one.class }).collect()
}

/// The classes that follow, by index, up to the first that was there already.
fn chain(from: &Pending<'_>, all: &[Pending<'_>]) -> Vec<usize> {
    let index = |name: &str| all.iter().position(|other| &*other.class.name == name);
    let mut chain: Vec<usize> = index(&from.class.name).into_iter().collect();
    let mut next = from.fallback.class.as_deref().and_then(index);
    while let Some(here) = next {
        let seen = chain.contains(&here);
        chain.push(here);
        next = if seen { None } else { all[here].fallback.class.as_deref().and_then(index) };
    }
    chain
}

/// The circle in words, told once: at the member whose name comes first.
fn circle(one: &Pending<'_>, chain: &[usize], all: &[Pending<'_>]) -> Option<String> {
    let (last, rest) = chain.split_last()?;
    let start = rest.iter().position(|index| index == last)?;
    let members: BTreeSet<&str> = rest[start..].iter().map(|index| &*all[*index].class.name).collect();
    if start != 0 || members.first() != Some(&&*one.class.name) {
        return None;
    }
    Some(chain.iter().map(|index| &*all[*index].class.name).collect::<Vec<_>>().join(" → "))
}

fn flatten(chain: &[usize], all: &[Pending<'_>]) -> (Vec<PoolTerm>, Fallback) {
    let mut terms: Vec<PoolTerm> = Vec::new();
    for index in chain {
        for term in &all[*index].class.terms {
            if !terms.contains(term) {
                terms.push(term.clone());
            }
        }
    }
    let said = chain.iter().find_map(|index| all[*index].fallback.otherwise);
    (terms, said.unwrap_or_default())
}
