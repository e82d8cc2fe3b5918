//! `selector-matches-no-node`: hard node constraints that no node meets.

use std::sync::Arc;

use crate::{
    cluster::{Kind, Shape},
    k8s::{affinity::RequiredNodeAffinity, object::Expression},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule},
};

/// `selector-matches-no-node`
pub static SELECTOR_MATCHES_NO_NODE: Rule = Rule {
    id: "selector-matches-no-node",
    family: Family::Placement,
    summary: "nodeSelector and required node affinity match some node or declared pool",
    why: "Both are hard: there is no fallback, and the scheduler's message does not say which term is the problem. Turning on sharing renames labels: Tesla-T4 becomes Tesla-T4-SHARED, a MIG slice carries its profile.",
    remedy: "Select a value that exists, or a pool's own label.",
    severity: Severity::Deny,
    severity_because: "no node can ever run the Pod; asserted only from a synced picture of the nodes",
    applies: Applies::Pods,
    needs: &[Kind::Node],
    sources: &["component-helpers nodeaffinity", "NVIDIA gpu-feature-discovery: labels"],
    check: Check::Case(check),
};

const AFFINITY: &str = "spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution";

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, placement, .. } in &case.pods {
        findings.under(prefix);
        let required = RequiredNodeAffinity::of(&written.spec);
        let matched = placement.gpu_node_matches || placement.declared_match;
        if !placement.asks_gpu || required.is_unrestricted() || matched {
            continue;
        }
        if placement.any_node_matches {
            without_gpu(written, placement.starting_node_matches, rule, findings);
            continue;
        }
        if !written.spec.node_selector.is_empty() {
            selector(case, written, rule, findings);
        }
        affinity(case, written, rule, findings);
    }
}

/// Nodes meet the constraints, and none of them has a GPU; one that is just starting may get some.
fn without_gpu(pod: &crate::k8s::object::Pod, starting: bool, rule: &'static Rule, findings: &mut Findings) {
    let path = if pod.spec.node_selector.is_empty() { AFFINITY } else { "spec.nodeSelector" };
    let is = "a choice of nodes of which none has a GPU";
    let remedy = "select nodes with GPUs; `sluice pools` shows which labels they have";
    let finding = findings.add(rule, path, is, "nodes with GPUs", remedy).on_absence();
    if starting {
        finding.at_most(Severity::Warn);
    }
}

fn selector(case: &Case<'_>, pod: &crate::k8s::object::Pod, rule: &'static Rule, findings: &mut Findings) {
    let shapes: Vec<&Arc<Shape>> = case.world.cluster.shapes().collect();
    for (key, value) in &pod.spec.node_selector {
        if shapes.iter().any(|shape| shape.labels.get(key) == Some(value)) {
            continue;
        }
        if crate::cluster::IDENTITY_LABELS.contains(&key.as_str()) {
            continue;
        }
        let near = nearest_values(case, key, value);
        findings
            .add(
                rule,
                format!("spec.nodeSelector[{key}]"),
                format!("{value}, which no node has"),
                should(key, &near),
                remedy(key, &near),
            )
            .on_absence();
    }
}

fn affinity(case: &Case<'_>, pod: &crate::k8s::object::Pod, rule: &'static Rule, findings: &mut Findings) {
    let Some(required) = &pod.spec.affinity.node_affinity.required else { return };
    for (index, term) in required.node_selector_terms.iter().enumerate() {
        let path = format!("{AFFINITY}.nodeSelectorTerms[{index}]");
        if term.match_expressions.is_empty() && term.match_fields.is_empty() {
            let should = "at least one expression: an empty term matches nothing";
            findings.add(rule, path, "an empty term", should, "remove the term, or the whole affinity");
            continue;
        }
        for expression in &term.match_expressions {
            if nobody_meets(case, expression) {
                let wanted = expression.values.first().cloned().unwrap_or_default();
                let near = nearest_values(case, &expression.key, &wanted);
                let is = format!("{}, which no node meets", in_words(expression));
                let (should, remedy) = (should(&expression.key, &near), remedy(&expression.key, &near));
                findings.add(rule, path.clone(), is, should, remedy).on_absence();
            }
        }
    }
    // Each requirement alone is met by some node, all together by none.
    if findings.is_empty_for(rule) {
        let is = "a combination that no GPU node meets";
        let should = "constraints that one node meets together";
        let remedy = "loosen one of them; `kubectl get nodes --show-labels` shows what there is";
        findings.add(rule, AFFINITY, is, should, remedy).on_absence();
    }
}

fn nobody_meets(case: &Case<'_>, expression: &Expression) -> bool {
    use crate::k8s::labels::Requirement;
    let Ok(requirement) = Requirement::compile(expression) else { return false };
    !crate::cluster::IDENTITY_LABELS.contains(&expression.key.as_str())
        && !case.world.cluster.shapes().any(|shape| requirement.matches(&shape.labels))
}

/// Values of that label on GPU nodes, the closest first, with their pools: `Tesla-T4-SHARED (pool t4-ts, time-slicing)`.
fn nearest_values(case: &Case<'_>, key: &str, wanted: &str) -> Vec<String> {
    let mut values: Vec<(bool, f64, String, String)> = Vec::new();
    for shape in case.world.cluster.shapes().filter(|shape| shape.has_gpu()) {
        let Some(value) = shape.labels.get(key) else { continue };
        let pools = case.world.pools.of_shape(shape);
        let pool = pools.first().map(|live| format!("{}, {}", live.pool.name, live.pool.mode));
        let contains = value.to_lowercase().contains(&wanted.to_lowercase());
        let likeness = strsim::jaro_winkler(value, wanted);
        let words = pool.map_or_else(|| value.clone(), |pool| format!("{value} (pool {pool})"));
        if !values.iter().any(|(_, _, known, _)| known == value) {
            values.push((contains, likeness, value.clone(), words));
        }
    }
    values.sort_by(|a, b| b.0.cmp(&a.0).then(b.1.total_cmp(&a.1)).then(a.2.cmp(&b.2)));
    values.into_iter().take(3).map(|(_, _, _, words)| words).collect()
}

fn should(key: &str, near: &[String]) -> String {
    match near {
        [] => format!("a label that nodes have; no GPU node has {key}"),
        near => near.join(" or "),
    }
}

fn remedy(key: &str, near: &[String]) -> String {
    match near {
        [] => format!("remove {key}, or label the nodes"),
        [first, ..] => {
            format!("select {}, if that is what you mean", first.split(" (").next().unwrap_or(first))
        }
    }
}

fn in_words(expression: &Expression) -> String {
    if expression.values.is_empty() {
        format!("{} {}", expression.key, expression.operator)
    } else {
        format!("{} {} [{}]", expression.key, expression.operator, expression.values.join(", "))
    }
}
