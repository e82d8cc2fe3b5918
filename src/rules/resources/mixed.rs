//! `mixed-gpu-resources`: GPU resources of several kinds in one Pod.

use std::collections::BTreeSet;

use crate::{
    gpu::resource::GpuResource,
    policy::{Class, PoolTerm, Severity},
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand::{self, Ask},
};

/// `mixed-gpu-resources`
pub static MIXED_GPU_RESOURCES: Rule = Rule {
    id: "mixed-gpu-resources",
    family: Family::Resources,
    summary: "a Pod asks for one kind of GPU resource",
    why: "All requests of a Pod are met on one node. A node that is cut into MIG slices has no whole card left, and a CUDA process that sees a slice sees no card beside it: one of the two is never used, if the Pod is placed at all.",
    remedy: "Keep the one that the workload needs.",
    severity: Severity::Deny,
    severity_because: "a container cannot use both, and no node may have both; where some node has both and the containers differ, it only warns",
    applies: Applies::Pods,
    needs: &[],
    sources: &[
        "CUDA: a process uses one MIG device and no full GPU beside it",
        "kube-scheduler NodeResourcesFit",
    ],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, class, .. } in &case.pods {
        findings.under(prefix);
        let asks: Vec<Ask<'_>> = demand::asks(&pod.spec).into_iter().filter(is_unit).collect();
        let names: BTreeSet<&str> = asks.iter().map(|ask| ask.resource).collect();
        if names.len() < 2 {
            continue;
        }
        let keep = kept(case, class.as_deref(), &names);
        let remedy = format!("keep {keep}, and remove {}", others(&names, keep));
        let mixed = asks.iter().find(|ask| in_container(&asks, ask).len() > 1);
        let (path, is) = match mixed {
            Some(ask) => (
                format!("{}.resources", ask.path),
                format!("{} in one container", list(&in_container(&asks, ask))),
            ),
            None => ("spec.containers".to_owned(), format!("{} in containers of one Pod", list(&names))),
        };
        let finding = findings.add(rule, path, is, "one GPU resource", remedy);
        if let Some(ask) = mixed {
            finding.in_container(&ask.container.name);
        } else if some_node_has(case, &names) {
            finding.at_most(Severity::Warn);
        }
    }
}

fn is_unit(ask: &Ask<'_>) -> bool {
    !ask.is_zero() && GpuResource::parse(ask.resource).is_some_and(|resource| resource.is_unit())
}

fn in_container<'a>(asks: &[Ask<'a>], of: &Ask<'_>) -> BTreeSet<&'a str> {
    asks.iter().filter(|ask| ask.place == of.place).map(|ask| ask.resource).collect()
}

fn some_node_has(case: &Case<'_>, names: &BTreeSet<&str>) -> bool {
    case.world.cluster.shapes().any(|shape| names.iter().all(|name| offers::units(shape, name) > 0))
}

/// The name that the class's pools offer, best term first; else the first that any pool offers.
fn kept<'a>(case: &Case<'_>, class: Option<&Class>, names: &BTreeSet<&'a str>) -> &'a str {
    let pools = || case.world.pools.iter();
    let by_term = class.iter().flat_map(|class| &class.terms).find_map(|term| {
        let fits = |pool: &&crate::world::LivePool| match term {
            PoolTerm::Named(name) => pool.pool.name == *name,
            PoolTerm::Properties(wanted) => wanted.mode.is_none_or(|mode| mode == pool.pool.mode),
        };
        pools().filter(fits).find_map(|pool| names.iter().find(|name| pool.resources.contains(**name)))
    });
    let offered = || pools().find_map(|pool| names.iter().find(|name| pool.resources.contains(**name)));
    by_term.or_else(offered).or_else(|| names.first()).copied().unwrap_or_default()
}

fn others(names: &BTreeSet<&str>, keep: &str) -> String {
    names.iter().filter(|name| **name != keep).copied().collect::<Vec<_>>().join(" and ")
}

fn list(names: &BTreeSet<&str>) -> String {
    names.iter().copied().collect::<Vec<_>>().join(" and ")
}
