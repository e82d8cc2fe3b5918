//! What somebody may be spared: exceptions of the policies, and suppressions of the manifest as far as the policy
//! allows them. Both lower a finding to `audit`, where it is counted and not shown.

use crate::{
    policy::{AdmissionPolicy, Severity},
    rules::{self, Finding, Findings},
    subject::{
        Subject,
        suppress::{self, SUPPRESS, Suppression},
    },
    world::World,
};

/// Marks every finding that an exception or an allowed suppression covers, and adds what is wrong with
/// suppressions.
pub(super) fn spare(world: &World, subject: &Subject, policy: &AdmissionPolicy, findings: &mut Vec<Finding>) {
    let suppressions = suppress::suppressions(subject);
    for finding in findings.iter_mut() {
        except(world, subject, finding);
        let allowed = policy.suppressible.contains(finding.rule) && finding.excepted_by.is_none();
        let says = |one: &&Suppression| one.covers(finding.rule, &finding.path) && !one.reason.is_empty();
        if let Some(one) = suppressions.iter().find(says).filter(|_| allowed) {
            finding.suppressed = Some(one.reason.clone());
        }
    }
    findings.extend(void(&suppressions, policy));
}

/// Lowers what is spared; called once severities are those of the policy.
pub(super) fn lower(finding: &mut Finding) {
    if finding.excepted_by.is_some() || finding.suppressed.is_some() {
        finding.severity = Severity::Audit;
    }
}

fn except(world: &World, subject: &Subject, finding: &mut Finding) {
    let now = subject.facts.now;
    let mut exceptions = world.policies.exceptions.iter().peekable();
    if exceptions.peek().is_none() {
        return;
    }
    let labels = subject.pods().next().map(|(_, pod, _)| pod.metadata.labels.clone()).unwrap_or_default();
    let covering = exceptions
        .find(|exception| exception.covers(finding.rule, &subject.namespace, &subject.name, &labels, now));
    finding.excepted_by = covering.map(|exception| exception.name.clone());
}

/// Entries that are not honoured, with the reason.
fn void(suppressions: &[Suppression], policy: &AdmissionPolicy) -> Vec<Finding> {
    let mut findings = Findings::default();
    for one in suppressions {
        let (is, remedy) = if rules::find(&one.rule).is_none() {
            (format!("{}, which no rule is called", one.rule), "name a rule; `sluice explain` lists all")
        } else if !policy.suppressible.contains(&one.rule) {
            let who = if policy.suppressible.is_empty() { "nothing" } else { "other rules only" };
            (
                format!(
                    "a suppression of {}, and policy {} lets manifests suppress {who}",
                    one.rule, policy.name
                ),
                "mend what the rule finds, or ask the platform team for a PolicyException",
            )
        } else if one.reason.is_empty() {
            (format!("a suppression of {} without a reason", one.rule), "write RULE: reason")
        } else {
            continue;
        };
        let path = format!("{}metadata.annotations[{SUPPRESS}]", one.prefix);
        findings.add(
            &rules::SUPPRESSION_VOID,
            path,
            is,
            "a rule that may be suppressed, with a reason",
            remedy,
        );
    }
    findings.into_vec()
}
