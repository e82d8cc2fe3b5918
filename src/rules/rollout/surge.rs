//! `rollout-needs-spare-gpu`: a rolling update that waits for a GPU which the old Pod holds.

mod versions;

use crate::{
    cluster::Kind,
    k8s::labels::Selector,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, capacity, offers, scale},
    subject::{Body, PodGroup, Rollout, Template, demand},
};

use versions::Beside;

/// `rollout-needs-spare-gpu`
pub static ROLLOUT_NEEDS_SPARE_GPU: Rule = Rule {
    id: "rollout-needs-spare-gpu",
    family: Family::ProbesAndRollout,
    summary: "the next rollout finds the GPUs that it needs beside those of the old Pods",
    why: "A Deployment rounds maxSurge up and maxUnavailable down: with one replica and the defaults it starts the new Pod before it may delete the old one. Where no GPU is spare, the rollout never ends.",
    remedy: "Set maxSurge: 0 and maxUnavailable: 1, or strategy Recreate, or keep one GPU spare.",
    severity: Severity::Warn,
    severity_because: "the first rollout succeeds, and capacity may come before the next",
    applies: Applies::Templates,
    needs: &[Kind::Node, Kind::Pod],
    sources: &[
        "Kubernetes deployment controller: ResolveFenceposts",
        "LeaderWorkerSet, Argo Rollouts, Knative and KubeRay: rollout of a new version",
    ],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Template(template) = &case.subject.body else { return };
    for pod in case.pods.iter().filter(|pod| pod.placement.asks_gpu) {
        let Some(group) = template.group(&pod.prefix) else { continue };
        if group.rollout == Rollout::DaemonSet {
            of_daemon_set(case, template, pod, rule, findings);
            continue;
        }
        let replicas = match group.rollout {
            Rollout::Deployment => scale::replicas(case, group.count.filter(|_| is_said(template))),
            _ => group.count.unwrap_or(1).max(1),
        };
        let beside = versions::beside(case.subject, template, group, replicas);
        let Some(beside) = beside.filter(|beside| beside.pods > 0) else { continue };
        if !capacity::may_grow(case, pod) {
            say(case, pod, group, replicas, &beside, rule, findings);
        }
    }
}

/// What an autoscaler is to set is left out; the reader has 1 for it.
fn is_said(template: &Template) -> bool {
    template.workload.spec.replicas.is_some()
}

fn say(
    case: &Case<'_>,
    pod: &PodCase<'_>,
    group: &PodGroup,
    replicas: i64,
    beside: &Beside,
    rule: &'static Rule,
    findings: &mut Findings,
) {
    let Some((resource, each)) = demand::units(&pod.pod.spec).into_iter().next() else { return };
    let own = own_pods(case, group);
    let places = capacity::places(case, pod, &resource, each, own.as_ref());
    let needed = replicas.saturating_add(beside.pods);
    if places >= needed {
        return;
    }
    let pools: Vec<&str> = pod.placement.candidates.iter().map(|candidate| &*candidate.pool).collect();
    let here = if pools.is_empty() { String::new() } else { format!(" in {}", pools.join(", ")) };
    findings.under("");
    findings.add(
        rule,
        &beside.path,
        format!("{}: {needed} Pods of {each} {resource} at once during a rollout", beside.why),
        format!("no more than the {places} that find a place{here}"),
        beside.remedy,
    );
}

/// What selects the Pods that run already: the workload's own selector, or the labels of its template.
fn own_pods(case: &Case<'_>, group: &PodGroup) -> Option<Selector> {
    let written = case.subject.selector().and_then(|selector| Selector::compile(selector).ok());
    written.or_else(|| {
        let labels = &group.pod.metadata.labels;
        let own = crate::k8s::object::LabelSelector {
            match_labels: labels.clone(),
            ..crate::k8s::object::LabelSelector::default()
        };
        if labels.is_empty() { None } else { Selector::compile(&own).ok() }
    })
}

/// A DaemonSet that starts the new Pod first needs twice its GPUs on each node.
fn of_daemon_set(
    case: &Case<'_>,
    template: &Template,
    pod: &PodCase<'_>,
    rule: &'static Rule,
    findings: &mut Findings,
) {
    use crate::k8s::rollout::{self, Rollout};
    let strategy = &template.workload.spec.update_strategy;
    let Ok(Rollout::Rolling(bounds)) = rollout::daemon_set(strategy, 1) else { return };
    let Some((resource, each)) = demand::units(&pod.pod.spec).into_iter().next() else { return };
    let twice = each.saturating_mul(2);
    let short = capacity::shapes(case, pod, &resource).map(|shape| offers::units(shape, &resource));
    let Some(has) = short.filter(|units| *units >= each && *units < twice).min() else { return };
    if bounds.unavailable == 0 && bounds.surge > 0 {
        findings.under("");
        findings.add(
            rule,
            "spec.updateStrategy",
            format!("maxSurge with maxUnavailable 0: {twice} {resource} on each node during a rollout"),
            format!("no more than the {has} of a node"),
            "set maxSurge: 0 and maxUnavailable: 1",
        );
    }
}
