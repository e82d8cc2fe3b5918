//! `gpu-bypass-host-namespace`: a GPU Pod in the process or memory namespaces of its node.

use crate::{
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, PodCase, Rule, bypass},
};

/// `gpu-bypass-host-namespace`
pub static GPU_BYPASS_HOST_NAMESPACE: Rule = Rule {
    id: "gpu-bypass-host-namespace",
    family: Family::Bypass,
    summary: "a GPU Pod has process and memory namespaces of its own",
    why: "With hostPID it sees, and as the same user can end, the processes of other tenants of the card and reads their environment; with hostIPC it shares /dev/shm with them, where engines and MPS keep their segments.",
    remedy: "Drop hostPID and hostIPC; shared memory for one Pod comes from an emptyDir with medium Memory at /dev/shm.",
    severity: Severity::Warn,
    severity_because: "it may do harm, and needs not",
    applies: Applies::Pods,
    needs: &[],
    sources: &["Kubernetes: Pod security standards, host namespaces"],
    check: Check::Case(check),
};

fn check(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for PodCase { prefix, written, placement, .. } in &case.pods {
        let excused =
            bypass::is_exempt(case, written) || bypass::is_mirror_of_its_node(case.subject, written);
        if !placement.asks_gpu || excused {
            continue;
        }
        findings.under(prefix);
        for (field, set, shares, remedy) in [
            ("hostPID", written.spec.host_pid, "the processes", "remove hostPID"),
            (
                "hostIPC",
                written.spec.host_ipc,
                "the shared memory",
                "remove hostIPC; mount an emptyDir with medium: Memory at /dev/shm",
            ),
        ] {
            if set {
                let is = format!("true: a GPU Pod that shares {shares} of every Pod of its node");
                findings.add(rule, format!("spec.{field}"), is, "false, or absent", remedy);
            }
        }
    }
}
