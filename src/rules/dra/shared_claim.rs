//! `claim-not-shared`: a template where one shared claim was meant.

use crate::{
    k8s::object::{ClaimSpec, PodSpec},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
};

/// `claim-not-shared`
pub static CLAIM_NOT_SHARED: Rule = Rule {
    id: "claim-not-shared",
    family: Family::Dra,
    summary: "a device that is to be shared between Pods is named by one claim, not by a template",
    why: "A ResourceClaimTemplate makes a claim, and takes a device, for each Pod: a sharing strategy in it only shares between the containers of one Pod. The second Pod waits for a second card.",
    remedy: "Make one ResourceClaim and name it in every Pod by resourceClaimName.",
    severity: Severity::Warn,
    severity_because: "each Pod gets a card of its own, as long as there are enough",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: dynamic resource allocation", "NVIDIA DRA driver: sharing"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, .. } in &case.pods {
        findings.under(prefix);
        for (index, claim) in written.spec.resource_claims.iter().enumerate() {
            let Some(name) = claim.resource_claim_template_name.as_deref() else { continue };
            let Some(template) = case.world.cluster.claim_template(&case.subject.namespace, name) else {
                continue;
            };
            let Some(strategy) = sharing(&template.spec.spec) else { continue };
            if users(&written.spec, &claim.name) > 1 {
                continue;
            }
            findings.add(
                rule,
                format!("spec.resourceClaims[{index}].resourceClaimTemplateName"),
                format!("{name}, a template with sharing strategy {strategy}, for a single container"),
                "one ResourceClaim that every Pod names, if Pods are to share the device",
                format!("make a ResourceClaim with the spec of {name}, and write resourceClaimName"),
            );
        }
    }
}

/// The sharing strategy of the driver's configuration.
pub(super) fn sharing(claim: &ClaimSpec) -> Option<&str> {
    claim
        .devices
        .config
        .iter()
        .find_map(|config| config.pointer("/opaque/parameters/sharing/strategy")?.as_str())
}

fn users(spec: &PodSpec, claim: &str) -> usize {
    let uses = |(_, container): &(String, &crate::k8s::object::Container)| {
        container.resources.claims.iter().any(|own| own.name == claim)
    };
    bypass::every_container(spec).filter(uses).count()
}
