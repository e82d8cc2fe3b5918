//! Names of GPU resources: does anybody offer what is asked for?

use std::{collections::BTreeSet, sync::Arc};

use crate::{
    cluster::{Kind, Shape},
    gpu::resource::{self, GpuResource, ResourceKind, WHOLE, is_gpu_like},
    policy::{Class, Severity},
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand,
};

/// `unknown-gpu-resource`
pub static UNKNOWN_GPU_RESOURCE: Rule = Rule {
    id: "unknown-gpu-resource",
    family: Family::Resources,
    summary: "some node or pool offers the GPU resource that is asked for",
    why: "The API server does not know which extended resources exist. A misspelt or retired name is accepted, and the Pod stays Pending for ever.",
    remedy: "Ask for a name that this cluster offers; `sluice pools` lists them.",
    severity: Severity::Deny,
    severity_because: "no node can ever run the Pod; asserted only from a synced picture of the nodes, or of a name that no kubelet and no API server knows",
    applies: Applies::Pods,
    needs: &[],
    sources: &[
        "NVIDIA device plugin: resource names",
        "Kubernetes 1.11: alpha.kubernetes.io/nvidia-gpu removed",
        "Kubernetes API validation of extended resources",
    ],
    check: Check::Case(unknown),
};

/// `resource-not-in-pool`
pub static RESOURCE_NOT_IN_POOL: Rule = Rule {
    id: "resource-not-in-pool",
    family: Family::Resources,
    summary: "the nodes that the Pod selects offer the GPU resource that it asks for",
    why: "With renamed sharing or MIG strategy mixed a node offers nvidia.com/gpu.shared or nvidia.com/mig-…, not nvidia.com/gpu; to the scheduler these are different resources, and the Pod stays Pending.",
    remedy: "Ask for the name that the pool offers, or let the class rewrite it (`rewrite: {resource: true}`).",
    severity: Severity::Deny,
    severity_because: "none of the selected nodes can ever run the Pod",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["NVIDIA device plugin: renameByDefault, migStrategy"],
    check: Check::Case(not_in_pool),
};

fn unknown(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    if !case.world.cluster.is_synced(Kind::Node) {
        nowhere_known(case, rule, findings);
        return;
    }
    let offered = offers::names(case.world);
    let nothing_here = !case.world.cluster.shapes().any(|shape| shape.has_gpu());
    for PodCase { prefix, pod, .. } in &case.pods {
        findings.under(prefix);
        for ask in demand::asks(&pod.spec) {
            let real = RealName::of(ask.resource);
            let known = offered.contains(ask.resource) || ask.is_zero() || is_mig(ask.resource);
            // That cards are handed out under other names is said by its own rule.
            if known || real == Some(RealName::Whole) && !offered_by(&all_shapes(case)).is_empty() {
                continue;
            }
            let (should, remedy) = meant(ask.resource, &offered);
            let is = format!("{}, which no node offers", ask.resource);
            let finding = findings.add(rule, format!("{}.resources", ask.path), is, should, remedy);
            finding.in_container(&ask.container.name).on_absence();
            let qualifies = real == Some(RealName::Qualifier);
            if qualifies || real.is_some() && nothing_here || may_come_by_class(case) {
                finding.at_most(Severity::Warn);
            }
        }
    }
}

/// Names that are wrong wherever the Pod goes: retired ones, and those that the API server does not take.
fn nowhere_known(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, pod, .. } in &case.pods {
        findings.under(prefix);
        for ask in demand::asks(&pod.spec).iter().filter(|ask| !ask.is_zero()) {
            let name = ask.resource;
            let refused = !name.contains('/') || name.starts_with("requests.");
            if refused || name.starts_with("alpha.kubernetes.io/") {
                let near = resource::nearest(name, [WHOLE]).unwrap_or(WHOLE);
                let is = format!("{name}, which no node of any cluster offers");
                let path = format!("{}.resources", ask.path);
                findings.add(rule, path, is, near, format!("write {near}")).in_container(&ask.container.name);
            }
        }
    }
}

/// Names that are right as such, whether or not this cluster has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RealName {
    /// `nvidia.com/gpu`.
    Whole,
    /// Another maker's card.
    OtherMaker,
    /// An amount that qualifies a request; its scheduler counts it, and no node advertises it (HAMi).
    Qualifier,
}

impl RealName {
    fn of(name: &str) -> Option<Self> {
        match GpuResource::parse(name)?.kind() {
            ResourceKind::Whole => Some(Self::Whole),
            ResourceKind::OtherVendor => Some(Self::OtherMaker),
            ResourceKind::Qualifier => Some(Self::Qualifier),
            _ => None,
        }
    }
}

/// DRA hands out GPUs somewhere, and which names its classes serve is not known.
fn may_come_by_class(case: &Case<'_>) -> bool {
    !case.world.cluster.is_synced(Kind::DeviceClass)
        && case.world.cluster.shapes().any(|shape| shape.assessment.dra)
}

/// What should stand in place of a name that nobody offers, and the way there.
fn meant(name: &str, offered: &BTreeSet<String>) -> (String, String) {
    if RealName::of(name) == Some(RealName::Qualifier) {
        let should = "an amount that a scheduler of this cluster counts".to_owned();
        return (should, format!("remove {name}, unless HAMi places the Pod"));
    }
    match resource::nearest(name, offered.iter().map(String::as_str)) {
        Some(near) => (near.to_owned(), format!("write {near}")),
        None if offered.is_empty() => (
            "a cluster with GPU nodes".to_owned(),
            "no node of this cluster offers any GPU now; declare the pool (GpuPool) if an autoscaler adds some"
                .to_owned(),
        ),
        None => {
            let names: Vec<&str> = offered.iter().map(String::as_str).collect();
            (format!("one of {}", names.join(", ")), "ask for a name that is offered".to_owned())
        }
    }
}

fn not_in_pool(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for pod in &case.pods {
        findings.under(&pod.prefix);
        let selected = &pod.placement.selected;
        if selected.is_empty() {
            not_handed_out(case, pod, rule, findings);
            continue;
        }
        for ask in demand::asks(&pod.pod.spec) {
            let elsewhere = offers::advertisers(case.world, ask.resource).next().is_some();
            let here = selected.iter().any(|shape| offers::units(shape, ask.resource) > 0);
            if here || !elsewhere && !is_whole(ask.resource) || ask.is_zero() || is_mig(ask.resource) {
                continue;
            }
            if offered_by(selected).is_empty() {
                continue;
            }
            let pools = pools_of(case, selected);
            let (should, remedy) = other_name(case, pod, selected, &pools);
            let is = format!("{}, which {pools} does not offer", ask.resource);
            findings
                .add(rule, format!("{}.resources", ask.path), is, should, remedy)
                .in_container(&ask.container.name);
        }
    }
}

/// What to ask for on the nodes that the Pod selects; never a part of a card for a class that must not have one.
fn other_name(case: &Case<'_>, pod: &PodCase<'_>, selected: &[Arc<Shape>], pools: &str) -> (String, String) {
    let class = pod.class.as_deref();
    let suitable: Vec<Arc<Shape>> =
        selected.iter().filter(|shape| suits(case, class, shape)).cloned().collect();
    let offered = offered_by(&suitable);
    match class.filter(|_| offered.is_empty()) {
        Some(class) => (
            format!("a pool for class {}, which {pools} is not", class.name),
            format!("drop the selector that leads to {pools}"),
        ),
        None => {
            let offered = offered.join(" or ");
            let remedy = format!("write {offered}, or drop the selector that leads to {pools}");
            (format!("{offered} ({pools} offers it)"), remedy)
        }
    }
}

fn suits(case: &Case<'_>, class: Option<&Class>, shape: &Arc<Shape>) -> bool {
    let pools = case.world.pools.of_shape(shape);
    class.is_none_or(|class| pools.is_empty() || pools.iter().any(|live| offers::suits(class, live)))
}

/// A whole card where every card is cut or shared under another name. Nodes may be cut anew, so it only warns there;
/// that a plugin renames its units is how the cluster is set up.
fn not_handed_out(case: &Case<'_>, pod: &PodCase<'_>, rule: &'static Rule, findings: &mut Findings) {
    let all = all_shapes(case);
    let elsewhere = |name: &str| case.world.pools.iter().any(|live| live.resources.contains(name));
    // What is wrong with a fraction, and what to ask for instead, its own rule says.
    let whole = |ask: &&demand::Ask<'_>| is_whole(ask.resource) && ask.count().is_some_and(|count| count > 0);
    for ask in demand::asks(&pod.pod.spec).iter().filter(whole) {
        let offered = offered_by(&all);
        if offered.is_empty()
            || offers::advertisers(case.world, ask.resource).next().is_some()
            || elsewhere(ask.resource)
            || offers::dra_backed(case.world).any(|name| name == ask.resource)
        {
            continue;
        }
        let class = pod.class.as_deref();
        let suitable: Vec<Arc<Shape>> =
            all.iter().filter(|shape| suits(case, class, shape)).cloned().collect();
        let names = offered_by(&suitable);
        let (should, remedy) = match class.filter(|_| names.is_empty()) {
            Some(class) => (
                format!(
                    "a node with whole cards for class {}; here is only {}",
                    class.name,
                    offered.join(", ")
                ),
                "add such nodes: what is offered here is not for this class".to_owned(),
            ),
            None => (
                names.join(" or "),
                format!("write {}, or wait for a node with whole cards", names.join(" or ")),
            ),
        };
        let is = format!("{}, of which no node has any now", ask.resource);
        let finding = findings.add(rule, format!("{}.resources", ask.path), is, should, remedy);
        finding.in_container(&ask.container.name).on_absence();
        if offered.iter().any(|name| is_mig(name)) {
            finding.at_most(Severity::Warn);
        }
    }
}

fn all_shapes(case: &Case<'_>) -> Vec<Arc<Shape>> {
    case.world.cluster.shapes().cloned().collect()
}

fn offered_by(shapes: &[Arc<Shape>]) -> Vec<String> {
    let mut offered: Vec<String> = shapes
        .iter()
        .flat_map(|shape| {
            let some = shape.allocatable.iter().filter(|(name, n)| n.is_positive() && is_gpu_like(name));
            some.map(|(name, _)| name.clone())
        })
        .collect();
    offered.sort_unstable();
    offered.dedup();
    offered
}

/// `pool a` or `pools a, b` of the selected shapes.
fn pools_of(case: &Case<'_>, shapes: &[Arc<Shape>]) -> String {
    let mut names: Vec<String> = shapes
        .iter()
        .flat_map(|shape| case.world.pools.of_shape(shape))
        .map(|pool| pool.pool.name.to_string())
        .collect();
    names.sort_unstable();
    names.dedup();
    match names.as_slice() {
        [] => "the selected nodes".to_owned(),
        [one] => format!("pool {one}"),
        _ => format!("each of the pools {}", names.join(", ")),
    }
}

fn is_mig(name: &str) -> bool {
    GpuResource::parse(name).is_some_and(|resource| resource.profile().is_some())
}

fn is_whole(name: &str) -> bool {
    GpuResource::parse(name).is_some_and(|r| matches!(r.kind(), ResourceKind::Whole))
}
