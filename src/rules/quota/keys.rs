//! `quota-key-ineffective`: a quota that counts nothing.

use crate::{
    gpu::resource,
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::Body,
};

/// `quota-key-ineffective`
pub static QUOTA_KEY_INEFFECTIVE: Rule = Rule {
    id: "quota-key-ineffective",
    family: Family::Quota,
    summary: "a ResourceQuota names GPUs by the key that counts",
    why: "Of extended resources the quota controller counts requests only. A bare name or a limits. key is accepted and never counted: there is no limit in effect, and nobody is told.",
    remedy: "Use the prefix requests.",
    severity: Severity::Warn,
    severity_because: "nothing breaks; the namespace takes more than was meant",
    applies: Applies::Quotas,
    needs: &[],
    sources: &["Kubernetes: quota for extended resources"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Quota(quota) = &case.subject.body else { return };
    for (key, amount) in &quota.spec.hard {
        let name = key.strip_prefix("limits.").unwrap_or(key);
        if key.starts_with("requests.") || !resource::is_gpu_like(name) {
            continue;
        }
        findings.add(
            rule,
            format!("spec.hard[{key}]"),
            format!("{key}: {}, which counts nothing", amount.0),
            format!("requests.{name}"),
            format!("write requests.{name}: {}", amount.0),
        );
    }
}
