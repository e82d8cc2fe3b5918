//! `quota-misses-names`: a quota on one name of the cards, which are handed out by others as well.

use std::collections::BTreeSet;

use crate::{
    cluster::Kind,
    gpu::resource,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule, offers},
    subject::Body,
};

/// `quota-misses-names`
pub static QUOTA_MISSES_NAMES: Rule = Rule {
    id: "quota-misses-names",
    family: Family::Quota,
    summary: "a ResourceQuota on GPUs counts every name by which this cluster hands them out",
    why: "Shares, MIG slices and devices of DRA have names of their own. A quota on nvidia.com/gpu bounds none of them: the namespace takes as many as it likes.",
    remedy: "Add a bound for each name, 0 for those that the namespace must not use.",
    severity: Severity::Warn,
    severity_because: "it may be meant so: shares are often free where cards are not",
    applies: Applies::Quotas,
    needs: &[Kind::Node],
    sources: &["Kubernetes: quota for extended resources"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Quota(quota) = &case.subject.body else { return };
    let counted: BTreeSet<&str> = quota
        .spec
        .hard
        .keys()
        .filter_map(|key| key.strip_prefix("requests."))
        .filter(|name| resource::is_gpu_like(name))
        .collect();
    let Some(first) = counted.first() else { return };
    let offered = offers::names(case.world);
    // The implicit name of a DeviceClass stands for the class, which has a quota key of its own.
    let missed: Vec<&str> = offered
        .iter()
        .map(String::as_str)
        .filter(|name| !counted.contains(name) && !name.starts_with("deviceclass.resource.kubernetes.io/"))
        .collect();
    if missed.is_empty() {
        return;
    }
    let bounds: Vec<String> = missed.iter().map(|name| format!("requests.{name}")).collect();
    findings.under("");
    findings
        .add(
            rule,
            "spec.hard",
            format!(
                "a bound for {first} and none for {}, by which cards are handed out too",
                missed.join(", ")
            ),
            "a bound for each",
            format!("add {}", bounds.join(", ")),
        )
        .on_absence();
}
