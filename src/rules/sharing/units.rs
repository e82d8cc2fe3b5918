//! `shared-request-gt-one`: several units of a shared card.

use crate::{
    cluster::Kind,
    gpu::Mode,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand,
};

/// `shared-request-gt-one`
pub static SHARED_REQUEST_GT_ONE: Rule = Rule {
    id: "shared-request-gt-one",
    family: Family::Sharing,
    summary: "a container asks for one unit of a shared GPU",
    why: "Units of a shared pool are turns on a card, not cards: two of them may be the same device. Under MPS, and wherever failRequestsGreaterThanOne is set, the device plugin rejects the container after scheduling (UnexpectedAdmissionError); the Pod is terminal, and its controller makes the next one, without end.",
    remedy: "Ask for 1 unit; for whole cards use an exclusive pool.",
    severity: Severity::Deny,
    severity_because: "the kubelet would fail the Pod, or give it one card under two names; a pool that says failRequestsGreaterThanOne: false only warns",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA device plugin README: failRequestsGreaterThanOne"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, placement, .. } in &case.pods {
        findings.under(prefix);
        for ask in demand::asks(&pod.spec) {
            let Some(count) = ask.count().filter(|count| *count > 1) else { continue };
            let pools: Vec<_> = offers::advertisers(case.world, ask.resource)
                .filter(|shape| placement.selected.is_empty() || placement.selected.contains(shape))
                .flat_map(|shape| case.world.pools.of_shape(shape))
                .collect();
            // One pool that does not share is a way for the Pod: placement leads it there.
            if pools.is_empty() || pools.iter().any(|pool| !pool.pool.mode.is_software_shared()) {
                continue;
            }
            let pool = &pools[0].pool;
            let strict = pools.iter().all(|live| live.refuses_several_units());
            let finding = findings.add(
                rule,
                format!("{}.resources.limits[{}]", ask.path, ask.resource),
                format!(
                    "{count} of {}, whose units are shares of a card (pool {}, {})",
                    ask.resource, pool.name, pool.mode
                ),
                "1 for each container".to_owned(),
                whole_cards(case),
            );
            finding.in_container(&ask.container.name);
            if !strict {
                // The pool says that it lets it through: the container sees one card or two by chance.
                finding.at_most(Severity::Warn);
            }
        }
    }
}

fn whole_cards(case: &Case<'_>) -> String {
    let exclusive = case.world.pools.iter().find(|pool| pool.pool.mode == Mode::Exclusive);
    match exclusive {
        Some(pool) => format!("ask for 1, or for whole cards from pool {}", pool.pool.name),
        None => "ask for 1; no pool of this cluster has whole cards".to_owned(),
    }
}
