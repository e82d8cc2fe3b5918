//! `spread-exceeds-nodes`: more replicas than a hard spread leaves places for. `replicas-share-card`: more
//! replicas than cards, so that some of them sit on one.

use std::collections::BTreeMap;

use crate::{
    cluster::{Kind, matching},
    k8s::{affinity::RequiredNodeAffinity, labels::Selector, object::TopologySpread},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::{Body, PodGroup, demand},
};

use super::{
    anti_affinity::{domain, to_come},
    eligible,
};

/// `spread-exceeds-nodes`
pub static SPREAD_EXCEEDS_NODES: Rule = Rule {
    id: "spread-exceeds-nodes",
    family: Family::Placement,
    summary: "a hard topology spread leaves a place for every replica",
    why: "With DoNotSchedule no domain may have more than maxSkew replicas above the emptiest. A domain that has few cards, or none and is only counted, holds all others down; while there are fewer domains than minDomains the emptiest counts as 0. The rest stays Pending beside free cards.",
    remedy: "Spread with whenUnsatisfiable: ScheduleAnyway, raise maxSkew, or choose only nodes that have the cards.",
    severity: Severity::Warn,
    severity_because: "the replicas that find a place run",
    applies: Applies::Templates,
    needs: &[Kind::Node],
    sources: &["kube-scheduler PodTopologySpread"],
    check: Check::Case(spread),
};

/// `replicas-share-card`
pub static REPLICAS_SHARE_CARD: Rule = Rule {
    id: "replicas-share-card",
    family: Family::Sharing,
    summary: "there are as many cards as replicas, so that one card's fault takes one of them",
    why: "Shares of one card are one fault domain: with more replicas than cards some sit together, however they are spread over nodes. Two replicas on one card are no redundancy, and take each other's time.",
    remedy: "Add cards, or run fewer replicas; more shares of a card are not more of it.",
    severity: Severity::Audit,
    severity_because: "sharing is what such a pool is for; it is counted so that nobody takes it for redundancy",
    applies: Applies::Templates,
    needs: &[Kind::Node],
    sources: &["NVIDIA device plugin README: one fault domain"],
    check: Check::Case(share_card),
};

fn spread(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_group(case, |pod, count| {
        let constraints = &pod.written.spec.topology_spread_constraints;
        for (index, constraint) in constraints.iter().enumerate() {
            if !is_hard(constraint, pod) || to_come(case, pod) > 0 {
                continue;
            }
            let places = places(case, pod, constraint);
            let Some((is, should)) = problem(constraint, &places, count) else { continue };
            findings.under(&pod.prefix);
            findings.add(
                rule,
                format!("spec.topologySpreadConstraints[{index}]"),
                is,
                should,
                "set whenUnsatisfiable: ScheduleAnyway, or select only nodes that have the cards",
            );
        }
    });
}

fn share_card(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_group(case, |pod, count| {
        let pools: Vec<_> =
            pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool)).collect();
        let shared = !pools.is_empty() && pools.iter().all(|live| live.pool.mode.is_software_shared());
        if !shared || to_come(case, pod) > 0 {
            return;
        }
        let mut cards = 0_i64;
        for live in &pools {
            for shape in &live.shapes {
                let Some(each) = shape.assessment.cards else { return };
                let nodes = case.world.cluster.members(shape).map_or(0, imbl::OrdSet::len);
                cards = cards
                    .saturating_add(i64::from(each).saturating_mul(i64::try_from(nodes).unwrap_or(i64::MAX)));
            }
        }
        if count > cards {
            findings.under(&pod.prefix);
            findings.add(
                rule,
                "spec",
                format!(
                    "{count} replicas for {cards} card{}",
                    offers::plural(usize::try_from(cards).unwrap_or(2))
                ),
                format!("at most {cards}, if each is to survive the others' faults"),
                "nothing to do where sharing is meant; else add cards",
            );
        }
    });
}

fn for_each_group(case: &Case<'_>, mut look: impl FnMut(&PodCase<'_>, i64)) {
    let Body::Template(template) = &case.subject.body else { return };
    for pod in &case.pods {
        let path = pod.prefix.trim_end_matches('.');
        let group = template.groups.iter().find(|group: &&PodGroup| group.path == path);
        if let Some(count) = group.and_then(|group| group.count).filter(|_| pod.placement.asks_gpu) {
            look(pod, count);
        }
    }
}

/// Whether it keeps replicas of this very template apart, and Pending where it cannot.
fn is_hard(constraint: &TopologySpread, pod: &PodCase<'_>) -> bool {
    let selector = constraint.label_selector.as_ref().and_then(|selector| Selector::compile(selector).ok());
    matches!(constraint.when_unsatisfiable.as_str(), "" | "DoNotSchedule")
        && selector.is_some_and(|selector| selector.matches(&pod.written.metadata.labels))
}

/// How many of these Pods each domain could hold. A node that selector and affinity leave makes its domain count,
/// whether or not the Pod could run there (`nodeTaintsPolicy` is Ignore where absent).
fn places(case: &Case<'_>, pod: &PodCase<'_>, constraint: &TopologySpread) -> BTreeMap<String, i64> {
    let cluster = &case.world.cluster;
    let needed = demand::units(&pod.pod.spec);
    let honours_taints = constraint.node_taints_policy == "Honor";
    let required = RequiredNodeAffinity::of(&pod.pod.spec);
    let mut places = BTreeMap::new();
    for found in matching::matching_shapes(cluster, &required) {
        let open = eligible::is_open(case, found.shape, &pod.pod.spec.tolerations);
        if honours_taints && !open {
            continue;
        }
        let fits = needed.iter().map(|(name, each)| offers::units(found.shape, name) / (*each).max(1)).min();
        let fits = fits.filter(|_| open).unwrap_or(0);
        for node in found.nodes.names().filter_map(|name| cluster.node(name)) {
            if let Some(domain) = domain(node, &constraint.topology_key) {
                let sum: &mut i64 = places.entry(domain.to_owned()).or_default();
                *sum = sum.saturating_add(fits);
            }
        }
    }
    places
}

/// What is wrong and what should be, where fewer than `count` replicas find a place.
fn problem(
    constraint: &TopologySpread,
    places: &BTreeMap<String, i64>,
    count: i64,
) -> Option<(String, String)> {
    let (key, skew) = (&constraint.topology_key, constraint.max_skew.max(1));
    if places.is_empty() {
        let is = format!("a hard spread over {key}, a label that no node has which the Pod may get");
        return Some((is, "a label of the nodes".to_owned()));
    }
    let domains = i64::try_from(places.len()).unwrap_or(i64::MAX);
    let few = constraint.min_domains.is_some_and(|least| domains < least);
    let emptiest = if few { 0 } else { places.values().copied().min().unwrap_or(0) };
    let most = emptiest.saturating_add(skew);
    let all = places.values().map(|fits| (*fits).min(most)).fold(0, i64::saturating_add);
    if all >= count {
        return None;
    }
    let without: Vec<&str> =
        places.iter().filter(|(_, fits)| **fits == 0).map(|(name, _)| name.as_str()).take(3).collect();
    let because = match (few, without.as_slice()) {
        (true, _) => {
            format!(", with {domains} of the {} domains wanted", constraint.min_domains.unwrap_or(0))
        }
        (false, []) => String::new(),
        (false, names) => format!(", and {} has no place for one and is counted", names.join(", ")),
    };
    let is = format!("{count} replicas spread over {domains} of {key} with maxSkew {skew}{because}");
    Some((is, format!("at most {all}, what finds a place")))
}
