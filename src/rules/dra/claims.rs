//! Claims of a Pod against what they name: claims and templates that exist, containers that use them, DeviceClasses,
//! and how many Pods and GPUs stand behind one.

use std::collections::BTreeSet;

use crate::{
    cluster::Kind,
    gpu::resource,
    k8s::object::{ClaimSpec, DeviceRequest, ExactRequest, PodResourceClaim},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::{Body, demand},
    world::hands_out_gpus,
};

const SOURCES: &[&str] = &["Kubernetes: dynamic resource allocation", "NVIDIA DRA driver: sharing"];

const fn rule(
    id: &'static str,
    summary: &'static str,
    why: &'static str,
    remedy: &'static str,
    severity: Severity,
    severity_because: &'static str,
    check: fn(&Case<'_>, &'static Rule, &mut Findings),
) -> Rule {
    Rule {
        id,
        family: Family::Dra,
        summary,
        why,
        remedy,
        severity,
        severity_because,
        applies: Applies::Pods,
        needs: &[],
        sources: SOURCES,
        check: Check::Case(check),
    }
}

/// `claim-unnamed`
pub static CLAIM_UNNAMED: Rule = rule(
    "claim-unnamed",
    "every claim that a container uses is one of the Pod's, and every claim of a GPU is used",
    "A container that names a claim which the Pod does not list is refused by the API server. A claim that no container names takes a card, and no container sees it.",
    "Write the same name in spec.resourceClaims and in resources.claims of the container.",
    Severity::Deny,
    "the API server refuses a name that is not listed; a claim that nobody uses only wastes a card and warns",
    unnamed,
);

/// `claim-not-found`
pub static CLAIM_NOT_FOUND: Rule = rule(
    "claim-not-found",
    "the claim or template that a Pod names exists",
    "The scheduler waits for a claim that is not there, and no controller makes one out of a template that is not there: the Pod stays Pending.",
    "Create the claim or template in the Pod's namespace, or mend the name.",
    Severity::Warn,
    "it may be applied a moment later",
    not_found,
);

/// `device-class-not-found`
pub static DEVICE_CLASS_NOT_FOUND: Rule = rule(
    "device-class-not-found",
    "the DeviceClass of a claim exists",
    "Nothing can be allocated of a class that nobody defined: the Pod stays Pending.",
    "Name a DeviceClass that exists; `kubectl get deviceclasses` lists them.",
    Severity::Deny,
    "no node can ever run the Pod; asserted only from a synced picture of the classes, and a claim with another alternative only warns",
    no_class,
);

/// `claim-shared-by-replicas`
pub static CLAIM_SHARED_BY_REPLICAS: Rule = rule(
    "claim-shared-by-replicas",
    "replicas that need a card each do not name one ResourceClaim",
    "A ResourceClaim is allocated once: every Pod that names it uses the same devices, on the same node. Replicas then take each other's memory and time, and all end with that card.",
    "Use a ResourceClaimTemplate: it makes a claim for each Pod.",
    Severity::Warn,
    "sharing one device between replicas may be meant",
    by_replicas,
);

/// `mps-several-gpus`
pub static MPS_SEVERAL_GPUS: Rule = rule(
    "mps-several-gpus",
    "MPS shares one GPU",
    "One MPS daemon serves the claim. Clients that get several GPUs through it have been seen to run on the first one only, and the limits of memory and threads are for each device.",
    "Ask for one GPU in each claim that is shared by MPS.",
    Severity::Warn,
    "newer drivers may serve it",
    several_by_mps,
);

fn unnamed(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        let spec = &written.spec;
        let listed: BTreeSet<&str> = spec.resource_claims.iter().map(|claim| claim.name.as_str()).collect();
        let mut used: BTreeSet<&str> = BTreeSet::new();
        for (path, container) in bypass::every_container(spec) {
            for (index, claim) in container.resources.claims.iter().enumerate() {
                used.insert(&claim.name);
                if !listed.contains(claim.name.as_str()) {
                    let all: Vec<&str> = listed.iter().copied().collect();
                    let should =
                        if all.is_empty() { "a claim of the Pod".to_owned() } else { all.join(" or ") };
                    let remedy = "list the claim in spec.resourceClaims under this name";
                    let is = format!("{}, which spec.resourceClaims does not list", claim.name);
                    let path = format!("{path}.resources.claims[{index}].name");
                    findings.add(rule, path, is, should, remedy).in_container(&container.name);
                }
            }
        }
        for (index, claim) in spec.resource_claims.iter().enumerate() {
            if !used.contains(claim.name.as_str()) && claims_gpu(case, claim) {
                let is = format!("{}, a claim of a GPU that no container uses", claim.name);
                let remedy = format!("add claims: [{{name: {}}}] to resources of the container", claim.name);
                let path = format!("spec.resourceClaims[{index}]");
                findings.add(rule, path, is, "used by a container", remedy).at_most(Severity::Warn);
            }
        }
    }
}

fn not_found(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let (cluster, namespace) = (&case.world.cluster, &case.subject.namespace);
    for_each_claim(case, findings, |index, claim, findings| {
        let (kind, known, field, name) =
            match (&claim.resource_claim_name, &claim.resource_claim_template_name) {
                (Some(name), _) => {
                    let known = cluster.claim(namespace, name).is_some();
                    (Kind::ResourceClaim, known, "resourceClaimName", name)
                }
                (None, Some(name)) => {
                    let known = cluster.claim_template(namespace, name).is_some();
                    (Kind::ResourceClaimTemplate, known, "resourceClaimTemplateName", name)
                }
                (None, None) => return,
            };
        if !known && cluster.is_synced(kind) {
            let kind = kind.row().name;
            findings
                .add(
                    rule,
                    format!("spec.resourceClaims[{index}].{field}"),
                    format!("{name}, which is no {kind} of namespace {namespace}"),
                    format!("a {kind} that exists"),
                    format!("create it, or mend the name; `kubectl get {}` lists them", kind.to_lowercase()),
                )
                .on_absence();
        }
    });
}

fn no_class(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    if !case.world.cluster.is_synced(Kind::DeviceClass) {
        return;
    }
    for_each_claim(case, findings, |index, claim, findings| {
        let Some(spec) = case.world.claim_spec(&case.subject.namespace, claim) else { return };
        for request in &spec.devices.requests {
            let lacking = lacking_classes(case, request);
            let Some(first) = lacking.first() else { continue };
            let (should, remedy) = class_meant(case, first);
            let is = format!("a claim of DeviceClass {}, which does not exist", lacking.join(" and "));
            let path = format!("spec.resourceClaims[{index}]");
            let finding = findings.add(rule, path, is, should, remedy).on_absence();
            if lacking.len() < alternatives(request).count() {
                finding.at_most(Severity::Warn);
            }
        }
    });
}

fn alternatives(request: &DeviceRequest) -> impl Iterator<Item = &ExactRequest> {
    request.exactly.iter().chain(&request.first_available)
}

/// The DeviceClasses of a request that do not exist.
fn lacking_classes<'a>(case: &Case<'_>, request: &'a DeviceRequest) -> Vec<&'a str> {
    let names = alternatives(request).map(|exact| exact.device_class_name.as_str());
    names.filter(|name| !name.is_empty() && case.world.cluster.device_class(name).is_none()).collect()
}

/// What should stand in place of a class that does not exist, and the way there.
fn class_meant(case: &Case<'_>, lacking: &str) -> (String, String) {
    let names: Vec<&str> =
        case.world.cluster.device_classes().map(|class| class.metadata.name.as_str()).collect();
    let alike = |name: &&&str| strsim::jaro_winkler(name, lacking);
    match names.iter().max_by(|a, b| alike(a).total_cmp(&alike(b))) {
        Some(near) => (format!("one of {}", names.join(", ")), format!("did you mean {near}?")),
        None => ("a DeviceClass".to_owned(), "install the DRA driver".to_owned()),
    }
}

fn by_replicas(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    if !matches!(case.subject.body, Body::Template(_)) {
        return;
    }
    for PodCase { prefix, written, class, count, .. } in &case.pods {
        let Some(count) = count.filter(|count| *count > 1) else { continue };
        let Some(class) = class.as_deref().filter(|class| class.isolation.memory || class.isolation.fault)
        else {
            continue;
        };
        findings.under(prefix);
        for (index, claim) in written.spec.resource_claims.iter().enumerate() {
            let Some(name) = &claim.resource_claim_name else { continue };
            if claims_gpu(case, claim) {
                findings.add(
                    rule,
                    format!("spec.resourceClaims[{index}].resourceClaimName"),
                    format!("{name}, one claim for {count} replicas of class {}, which needs a card each", class.name),
                    "a claim for each Pod",
                    format!("make a ResourceClaimTemplate with the spec of {name}, and write resourceClaimTemplateName"),
                );
            }
        }
    }
}

fn several_by_mps(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for_each_claim(case, findings, |index, claim, findings| {
        let Some(spec) = case.world.claim_spec(&case.subject.namespace, claim) else { return };
        if super::shared_claim::sharing(spec) != Some("MPS") {
            return;
        }
        let Some(many) = gpus(spec).filter(|many| many != "1") else { return };
        findings.add(
            rule,
            format!("spec.resourceClaims[{index}]"),
            format!("a claim of {many} GPUs with sharing strategy MPS"),
            "one GPU",
            "claim one GPU, or leave the sharing strategy out",
        );
    });
}

/// How many devices a claim asks for, in words.
fn gpus(spec: &ClaimSpec) -> Option<String> {
    let mut count = 0_i64;
    for request in &spec.devices.requests {
        let exact = alternatives(request).next()?;
        if exact.allocation_mode == "All" {
            return Some("all".to_owned());
        }
        count = count.saturating_add(exact.count.unwrap_or(1));
    }
    Some(count.to_string())
}

fn claims_gpu(case: &Case<'_>, claim: &PodResourceClaim) -> bool {
    let spec = case.world.claim_spec(&case.subject.namespace, claim);
    spec.is_some_and(|spec| {
        let mut exact = spec.devices.requests.iter().flat_map(alternatives);
        exact.any(|exact| hands_out_gpus(case.world, &exact.device_class_name))
    })
}

fn for_each_claim(
    case: &Case<'_>,
    findings: &mut Findings,
    mut look: impl FnMut(usize, &PodResourceClaim, &mut Findings),
) {
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        for (index, claim) in written.spec.resource_claims.iter().enumerate() {
            look(index, claim, findings);
        }
    }
}

/// `claim-beside-device-plugin`
pub static CLAIM_BESIDE_DEVICE_PLUGIN: Rule = rule(
    "claim-beside-device-plugin",
    "a Pod gets its GPUs by claims or by resource names, not by both",
    "A claim is met where DRA hands out the cards, a resource name where the device plugin does, or a DeviceClass that serves the name. A node on which both do gives one card to two Pods, and is kept out.",
    "Ask for all GPUs in one way.",
    Severity::Warn,
    "a DeviceClass may serve the resource name on the same node",
    beside_plugin,
);

fn beside_plugin(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        let by_class = |name: &str| {
            name.starts_with(resource::DEVICE_CLASS_PREFIX)
                || crate::rules::offers::dra_backed(case.world).any(|backed| backed == name)
        };
        let asks = demand::asks(&written.spec);
        let Some(ask) = asks.iter().find(|ask| !ask.is_zero() && !by_class(ask.resource)) else { continue };
        let Some(claim) = written.spec.resource_claims.iter().find(|claim| claims_gpu(case, claim)) else {
            continue;
        };
        findings
            .add(
                rule,
                format!("{}.resources", ask.path),
                format!("{} beside claim {}, which is for a GPU too", ask.resource, claim.name),
                "claims alone, or resource names alone",
                format!("remove {}, or the claim", ask.resource),
            )
            .in_container(&ask.container.name);
    }
}
