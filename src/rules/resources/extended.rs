//! What the API server demands of extended resources: whole numbers, a limit, and a request equal to it.
//! One computation for three rules, because all read the same pair of quantities.

use crate::{
    cluster::Kind,
    k8s::{object::QuantityText, quantity::Quantity},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, offers},
    subject::demand::{self, Ask},
};

/// `request-limit-mismatch`
pub static REQUEST_LIMIT_MISMATCH: Rule = Rule {
    id: "request-limit-mismatch",
    family: Family::Resources,
    summary: "the request of a GPU resource equals its limit",
    why: "Kubernetes does not overcommit extended resources: the API server refuses the Pod, and whoever wrote the Deployment or custom resource only sees a workload that never starts.",
    remedy: "Write the GPU under limits only, or make request and limit equal.",
    severity: Severity::Deny,
    severity_because: "the API server refuses such a Pod in any case",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes API validation of extended resources"],
    check: Check::Case(mismatch),
};

/// `limit-missing`
pub static LIMIT_MISSING: Rule = Rule {
    id: "limit-missing",
    family: Family::Resources,
    summary: "a GPU resource has a limit",
    why: "A limit is required for a resource that cannot be overcommitted; with a request alone the API server refuses the Pod, and an operator that renders it only logs an error.",
    remedy: "Move the GPU from requests to limits; the request is filled in.",
    severity: Severity::Deny,
    severity_because: "the API server refuses such a Pod in any case",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes API validation of extended resources"],
    check: Check::Case(missing_limit),
};

/// `gpu-not-integer`
pub static GPU_NOT_INTEGER: Rule = Rule {
    id: "gpu-not-integer",
    family: Family::Resources,
    summary: "a GPU quantity is a whole number",
    why: "Extended resources are whole numbers. Sharing is expressed by nodes that advertise more units (replicas or MIG slices), never by fractions.",
    remedy: "Ask for 1 unit of a shared resource that this cluster offers.",
    severity: Severity::Deny,
    severity_because: "the API server refuses such a Pod in any case",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes API validation of extended resources"],
    check: Check::Case(not_whole),
};

fn mismatch(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_ask(case, findings, |_, ask, findings| {
        let (Some(request), Some(limit)) = (ask.request, ask.limit) else { return };
        let (Some(asked), Some(most)) = (parse(request), parse(limit)) else { return };
        if asked != most {
            let name = ask.resource;
            findings
                .add(
                    rule,
                    format!("{}.resources", ask.path),
                    format!("request {}, limit {} of {name}", request.0, limit.0),
                    "one number for both".to_owned(),
                    format!("set only limits: {{{name}: N}} with the N that the engine really uses"),
                )
                .in_container(&ask.container.name);
        }
    });
}

fn missing_limit(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_ask(case, findings, |_, ask, findings| {
        let (Some(request), None) = (ask.request, ask.limit) else { return };
        let name = ask.resource;
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!("request {} of {name} and no limit", request.0),
                format!("limits: {{{name}: \"{}\"}}", request.0),
                format!("move {name} from requests to limits"),
            )
            .in_container(&ask.container.name);
    });
}

fn not_whole(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_ask(case, findings, |case, ask, findings| {
        for (field, text) in [("limits", ask.limit), ("requests", ask.request)] {
            // One finding a container and resource: the limit speaks where both are written.
            let Some(text) = text.filter(|_| field == "limits" || ask.limit.is_none()) else { continue };
            if demand::whole(text).is_some() {
                continue;
            }
            findings
                .add(
                    rule,
                    format!("{}.resources.{field}[{}]", ask.path, ask.resource),
                    format!("{} of {}", text.0, ask.resource),
                    "a whole number of units, 0 or more",
                    shared_offers(case),
                )
                .in_container(&ask.container.name);
        }
    });
}

/// Which shared resources this cluster really offers, as the way out of a fraction.
fn shared_offers(case: &Case<'_>) -> String {
    if !case.world.cluster.is_synced(Kind::Node) {
        return "ask for 1 unit of a shared resource; `sluice pools` lists what a cluster offers".to_owned();
    }
    let shared = offers::shared(case.world);
    if shared.is_empty() {
        "ask for whole cards: no pool of this cluster shares its cards".to_owned()
    } else {
        format!("ask for 1 of a shared resource that this cluster offers: {}", shared.join("; "))
    }
}

fn for_each_ask<'a>(
    case: &Case<'a>,
    findings: &mut Findings,
    look: impl Fn(&Case<'a>, &Ask<'_>, &mut Findings),
) {
    for PodCase { prefix, pod, .. } in &case.pods {
        findings.under(prefix);
        for ask in demand::asks(&pod.spec) {
            look(case, &ask, findings);
        }
    }
}

fn parse(text: &QuantityText) -> Option<Quantity> {
    text.0.parse().ok()
}
