//! `oversized-for-class`: a whole card for a class that is meant to share one.

use crate::{
    cluster::Kind,
    gpu::Mode,
    policy::{Class, Severity},
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, Skipped, offers},
    subject::demand,
    world::LivePool,
};

/// `oversized-for-class`
pub static OVERSIZED_FOR_CLASS: Rule = Rule {
    id: "oversized-for-class",
    family: Family::Sharing,
    summary: "a class that is meant to share cards does not take a whole one while a shared pool is there",
    why: "A request for a whole card blocks it, however little of it is used: the scarcest resource is starved by the smallest workload.",
    remedy: "Use the shared pool: drop the selector, or let the class rewrite the resource name.",
    severity: Severity::Warn,
    severity_because: "the Pod runs well; others wait for the card",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &[],
    check: Check::Case(check),
};

/// Reasons for which a pool is passed over that the Pod's author can change.
const OWN_CHOICE: [&str; 2] = ["selector-matches-no-node", "resource-not-in-pool"];

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, class, placement, pod, .. } in &case.pods {
        let Some(class) = class.as_deref().filter(|_| placement.asks_gpu) else { continue };
        let units = demand::units(&pod.spec);
        let pool = |name: &str| case.world.pools.get(name);
        let whole = |live: &LivePool| live.pool.mode == Mode::Exclusive && !offers::names_pool(class, live);
        let on_whole =
            placement.candidates.first().and_then(|first| pool(&first.pool)).filter(|live| whole(live));
        let selected = || {
            case.world.pools.iter().find(|live| {
                live.shapes.iter().any(|shape| placement.selected.contains(shape))
                    && whole(live)
                    && units.keys().any(|name| live.resources.contains(name))
            })
        };
        let taken = on_whole.or_else(|| if placement.candidates.is_empty() { selected() } else { None });
        let Some(taken) = taken else { continue };
        let better = placement.skipped.iter().find(|skipped| is_better(class, skipped));
        let Some(better) = better else { continue };
        let path = if better.rule == OWN_CHOICE[0] { "spec.nodeSelector" } else { "spec.containers" };
        findings.under(prefix);
        findings.add(
            rule,
            path,
            format!(
                "a whole card of pool {}, which class {} is not meant to take",
                taken.pool.name, class.name
            ),
            format!("{}, which the class prefers ({})", better.what, better.reason),
            if better.rule == OWN_CHOICE[0] {
                format!("drop the selector that leads to {}", taken.pool.name)
            } else {
                format!("ask for what {} offers, or allow the class rewrite.resource", better.what)
            },
        );
    }
}

fn is_better(class: &Class, skipped: &Skipped) -> bool {
    skipped.rank.is_some_and(|rank| rank < class.terms.len()) && OWN_CHOICE.contains(&skipped.rule)
}
