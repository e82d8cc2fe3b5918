//! `gang-does-not-fit`: Pods that start together or not at all, and fewer GPUs than they need.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::{
    cluster::{Kind, Shape},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, capacity, offers},
    subject::{Body, demand},
};

/// `gang-does-not-fit`
pub static GANG_DOES_NOT_FIT: Rule = Rule {
    id: "gang-does-not-fit",
    family: Family::Resources,
    summary: "Pods that must run together find their GPUs at the same time, on empty nodes at least",
    why: "A group that is one Pod short does no work: the others hold their GPUs and wait, or the queue never lets any of them start.",
    remedy: "Ask for a smaller group, for fewer GPUs a Pod, or add nodes.",
    severity: Severity::Warn,
    severity_because: "nodes may be added that nothing has declared; until then it cannot start",
    applies: Applies::Templates,
    needs: &[Kind::Node],
    sources: &["LeaderWorkerSet: groups", "Kueue: all-or-nothing scheduling", "Volcano: minAvailable"],
    check: Check::Case(check),
};

/// Pods of one group that start together.
struct Part<'a> {
    pod: &'a PodCase<'a>,
    together: i64,
    each: i64,
}

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(template) = &case.subject.body else { return };
    let mut parts: BTreeMap<String, Vec<Part<'_>>> = BTreeMap::new();
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        let Some(together) = template.group(&pod.prefix).and_then(|group| group.together) else { continue };
        for (resource, each) in demand::units(&pod.pod.spec) {
            parts.entry(resource).or_default().push(Part { pod, together, each });
        }
    }
    for (resource, parts) in parts {
        let pods: i64 = parts.iter().map(|part| part.together).fold(0, i64::saturating_add);
        if pods > 1 {
            look(case, &resource, &parts, rule, findings);
        }
    }
}

fn look(case: &Case<'_>, resource: &str, parts: &[Part<'_>], rule: &'static Rule, findings: &mut Findings) {
    if parts.iter().any(|part| capacity::may_grow(case, part.pod)) {
        return;
    }
    let Some(shapes) = shapes(case, resource, parts) else { return };
    let nodes = |shape: &Arc<Shape>| capacity::nodes(case, shape);
    let places = |each: i64| -> i64 {
        shapes.iter().map(|shape| nodes(shape) * (offers::units(shape, resource) / each.max(1))).sum()
    };
    let has: i64 = shapes.iter().map(|shape| nodes(shape) * offers::units(shape, resource)).sum();
    let needs: i64 = parts.iter().map(|part| part.together.saturating_mul(part.each)).sum();
    let short = parts.iter().find(|part| part.together > places(part.each));
    if needs <= has && short.is_none() {
        return;
    }
    let what: Vec<String> =
        parts.iter().map(|part| format!("{} Pods of {}", part.together, part.each)).collect();
    let each = short.map_or(parts[0].each, |part| part.each);
    findings.under("");
    findings.add(
        rule,
        parts[0].pod.prefix.trim_end_matches('.'),
        format!("{} {resource} that start together: {needs} in all", what.join(" and ")),
        format!("no more than the {has}{}, which hold {} Pods of {each}", pools(parts), places(each)),
        "make the group smaller, ask for fewer GPUs in each Pod, or add nodes",
    );
}

/// All shapes on which one of them may run; `None` where one finds no place at all, which another rule says.
fn shapes<'a>(case: &'a Case<'_>, resource: &'a str, parts: &[Part<'a>]) -> Option<Vec<&'a Arc<Shape>>> {
    let mut all: Vec<&Arc<Shape>> = Vec::new();
    for part in parts {
        let mine: Vec<&Arc<Shape>> = capacity::shapes(case, part.pod, resource).collect();
        if mine.iter().all(|shape| offers::units(shape, resource) < part.each) {
            return None;
        }
        all.extend(mine);
    }
    all.sort_by_key(|shape| Arc::as_ptr(shape));
    all.dedup_by(|a, b| Arc::ptr_eq(a, b));
    Some(all)
}

fn pools(parts: &[Part<'_>]) -> String {
    let candidates = parts.iter().flat_map(|part| &part.pod.placement.candidates);
    let names: BTreeSet<&str> = candidates.map(|candidate| &*candidate.pool).collect();
    let names: Vec<&str> = names.into_iter().collect();
    if names.is_empty() { String::new() } else { format!(" of {}", names.join(", ")) }
}
