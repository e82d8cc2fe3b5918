//! `mig-change-with-tenants`: a MIG layout that is changed under running Pods.

use crate::{
    cluster::{Kind, Tenant},
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule, offers::plural},
    subject::Body,
};

const CONFIG: &str = "nvidia.com/mig.config";

/// Most Pods that are named.
const NAMED: usize = 3;

/// `mig-change-with-tenants`
pub static MIG_CHANGE_WITH_TENANTS: Rule = Rule {
    id: "mig-change-with-tenants",
    family: Family::Mig,
    summary: "a node's MIG layout changes while no workload uses its cards",
    why: "The MIG manager stops NVIDIA's own clients, not workloads: it has no step that cordons or evicts. The reset fails because Pods hold the device, or they are left with handles to slices that are gone.",
    remedy: "Cordon and drain the node, then change the label.",
    severity: Severity::Warn,
    severity_because: "whoever may label nodes may have reasons; set it to deny where nobody should",
    applies: Applies::NodeChanges,
    needs: &[Kind::Pod],
    sources: &["NVIDIA mig-parted: reconfigure"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Body::Node(change) = &case.subject.body else { return };
    let Some(old) = &change.old else { return };
    let (before, after) = (old.metadata.labels.get(CONFIG), change.new.metadata.labels.get(CONFIG));
    if before == after {
        return;
    }
    let daemon = |tenant: &Tenant| tenant.owner.as_ref().is_some_and(|owner| owner.kind == "DaemonSet");
    let tenants = case.world.cluster.tenants_on(&case.subject.name);
    let held: Vec<String> = tenants
        .iter()
        .filter(|tenant| !daemon(tenant))
        .map(|tenant| format!("{}/{}", tenant.namespace, tenant.name))
        .collect();
    if held.is_empty() {
        return;
    }
    let word = |label: Option<&String>| label.map_or_else(|| "none".to_owned(), Clone::clone);
    let more = held.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    let finding = findings.add(
        rule,
        format!("metadata.labels[{CONFIG}]"),
        format!(
            "{} → {} while {} GPU Pod{} run{} here: {}{rest}",
            word(before),
            word(after),
            held.len(),
            plural(held.len()),
            if held.len() == 1 { "s" } else { "" },
            held[..held.len().min(NAMED)].join(", ")
        ),
        "a node without GPU Pods",
        format!("kubectl drain {} --ignore-daemonsets, then set the label", case.subject.name),
    );
    if change.new.spec.unschedulable {
        // It is cordoned: somebody is at it.
        finding.at_most(Severity::Audit);
    }
}
