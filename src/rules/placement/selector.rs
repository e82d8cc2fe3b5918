//! `selector-matches-no-node`: hard node constraints that no node meets.

mod near;

use std::sync::Arc;

use crate::{
    cluster::{IDENTITY_LABELS, Kind, Node, Shape},
    k8s::{
        affinity::{RequiredNodeAffinity, Term},
        labels::{ExpressionError, Requirement},
        object::{Expression, NodeSelectorTerm},
    },
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
    for (key, value) in &pod.spec.node_selector {
        let has = |labels: &crate::k8s::object::Labels| labels.get(key) == Some(value);
        if some_node(case, key, has) {
            continue;
        }
        let near = near::values(case, key, value);
        let is = format!("{value}, which no node has");
        let path = format!("spec.nodeSelector[{key}]");
        findings.add(rule, path, is, near.should(key), near.remedy(key)).on_absence();
    }
}

fn affinity(case: &Case<'_>, pod: &crate::k8s::object::Pod, rule: &'static Rule, findings: &mut Findings) {
    let required = pod.spec.affinity.node_affinity.required.as_ref();
    if required.is_some_and(|required| required.node_selector_terms.is_empty()) {
        let should = "at least one term: an affinity without terms matches nothing";
        findings.add(rule, AFFINITY, "a required affinity without terms", should, "remove it, or add a term");
        return;
    }
    let terms = required.map_or(&[][..], |required| &required.node_selector_terms);
    for (index, term) in terms.iter().enumerate() {
        let path = format!("{AFFINITY}.nodeSelectorTerms[{index}]");
        match Term::compile(term) {
            Term::Empty => {
                let should = "at least one expression: an empty term matches nothing";
                findings.add(rule, path, "an empty term", should, "remove the term, or the whole affinity");
            }
            Term::Invalid(errors) => unreadable(&path, &errors, rule, findings),
            Term::Valid { .. } => unmet(case, &path, term, rule, findings),
        }
    }
    // Each requirement alone is met by some node, all together by none.
    if findings.is_empty_for(rule) {
        let path = if terms.is_empty() { "spec.nodeSelector" } else { AFFINITY };
        let is = "a combination that no GPU node meets";
        let should = "constraints that one node meets together";
        let remedy = "loosen one of them; `kubectl get nodes --show-labels` shows what there is";
        findings.add(rule, path, is, should, remedy).on_absence();
    }
}

/// A term that the API server refuses, and that matches nothing wherever it is taken.
fn unreadable(path: &str, errors: &[ExpressionError], rule: &'static Rule, findings: &mut Findings) {
    for error in errors {
        let at = format!("{path}.{}", error.path);
        let is = format!("a term that cannot be read: {}", error.problem);
        findings.add(rule, at, is, "an expression that the API server takes", "mend or remove it");
    }
}

/// The parts of a term that no node meets.
fn unmet(case: &Case<'_>, path: &str, term: &NodeSelectorTerm, rule: &'static Rule, findings: &mut Findings) {
    for (index, expression) in term.match_expressions.iter().enumerate() {
        let Ok(requirement) = Requirement::compile(expression) else { continue };
        if some_node(case, &expression.key, |labels| requirement.matches(labels)) {
            continue;
        }
        let near = near::expression(case, expression);
        let is = format!("{}, which no node meets", in_words(expression));
        let (should, remedy) = (near.should(&expression.key), near.remedy(&expression.key));
        // The whole term is named where it holds one expression only.
        let at = if term.match_expressions.len() > 1 {
            format!("{path}.matchExpressions[{index}]")
        } else {
            path.to_owned()
        };
        findings.add(rule, at, is, should, remedy).on_absence();
    }
    for field in term.match_fields.iter().filter(|field| field.operator == "In") {
        let known = |name: &String| case.world.cluster.node(name).is_some();
        if !field.values.iter().any(known) {
            let is = format!("node {}, which does not exist", field.values.join(" or "));
            let near = near::node(case, field.values.first().map_or("", String::as_str));
            let remedy = "name a node that exists; `kubectl get nodes` lists them";
            findings.add(rule, path, is, near, remedy).on_absence();
        }
    }
}

/// Whether some node's labels pass, asked of every node where the label tells equal nodes apart.
fn some_node(case: &Case<'_>, key: &str, passes: impl Fn(&crate::k8s::object::Labels) -> bool) -> bool {
    let cluster = &case.world.cluster;
    if IDENTITY_LABELS.contains(&key) {
        return cluster.nodes().any(|node: &Arc<Node>| passes(&node.labels));
    }
    cluster.shapes().any(|shape: &Arc<Shape>| passes(&shape.labels))
}

fn in_words(expression: &Expression) -> String {
    if expression.values.is_empty() {
        format!("{} {}", expression.key, expression.operator)
    } else {
        format!("{} {} [{}]", expression.key, expression.operator, expression.values.join(", "))
    }
}
