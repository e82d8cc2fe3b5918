//! `nodename-bypass`: a Pod that names its node itself.

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
    subject::{Body, Operation},
};

/// `nodename-bypass`
pub static NODENAME_BYPASS: Rule = Rule {
    id: "nodename-bypass",
    family: Family::Bypass,
    summary: "a GPU Pod is placed by the scheduler",
    why: "With nodeName set nobody runs filters: scheduler, extender, taints and priority are skipped, the kubelet fails the Pod if the device is taken, and a DRA claim is never allocated.",
    remedy: "Require the node by affinity on kubernetes.io/hostname.",
    severity: Severity::Deny,
    severity_because: "nothing keeps it off a card that another model uses",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: nodeName"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    // After scheduling every Pod has a nodeName: only who writes it at creation goes around the scheduler.
    let is_pod = matches!(case.subject.body, Body::Pod(_));
    let created = case.subject.facts.operation == Operation::Create && !case.is_running_pod();
    if is_pod && !created {
        return;
    }
    for PodCase { prefix, written, placement, .. } in &case.pods {
        findings.under(prefix);
        let node = &written.spec.node_name;
        let excused =
            bypass::is_exempt(case, written) || bypass::is_mirror_of_its_node(case.subject, written);
        if node.is_empty() || !placement.asks_gpu || excused {
            continue;
        }
        findings.add(
            rule,
            "spec.nodeName",
            format!("{node}, set by the author"),
            "absent: the scheduler sets it",
            format!("remove nodeName; require kubernetes.io/hostname In [{node}] by node affinity if it must be that node"),
        );
    }
}
