//! KubeSchedulerConfigurations: a scheduler for GPU Pods with the extender beside it, and the cluster's own
//! with the extender behind a Service.

use std::collections::BTreeSet;

use super::{NAMESPACE, yaml};
use crate::gpu::{
    model::{self, ModelMig},
    resource,
};

/// Name of the scheduler for GPU Pods, of its Deployment and of its lease.
pub const SCHEDULER: &str = "sluice-scheduler";

/// Every resource name of a GPU that the tables know: whole cards, shares, MIG slices and shares of slices,
/// cards of other makers. Sorted.
#[must_use]
pub fn gpu_resources() -> Vec<String> {
    let mut names: BTreeSet<String> = resource::WHOLE_NAMES.map(str::to_owned).into();
    names.insert(format!("{}.shared", resource::WHOLE));
    for model in model::models() {
        let ModelMig::Capable(table) = &model.mig else { continue };
        for profile in table.profiles.keys() {
            names.insert(profile.resource_name());
            names.insert(format!("{}.shared", profile.resource_name()));
        }
    }
    names.into_iter().collect()
}

/// `deploy/base/scheduler-config.yaml`.
#[must_use]
pub fn gpu_scheduler() -> String {
    let head = yaml::header(
        "The scheduler for GPU Pods. Without `managedResources` the extender is asked about each of its Pods,\n\
         those with nothing but claims too; `sluice scheduler-config` writes a list for your pools and says what\n\
         each omission leaves unenforced.",
    );
    let own = format!(
        "leaderElection:\n  leaderElect: true\n  resourceName: {SCHEDULER}\n  resourceNamespace: {NAMESPACE}\n\
         profiles:\n- schedulerName: {SCHEDULER}\n  \
         # The extender sees what in-tree filters let through; a sample could hold none of the right nodes.\n  \
         percentageOfNodesToScore: 100\n"
    );
    let extender = extender("http://127.0.0.1:8444/scheduler", "");
    format!("{head}{HEADER}{own}{extender}")
}

/// `deploy/overlays/availability/default-scheduler.yaml`.
#[must_use]
pub fn default_scheduler() -> String {
    let head = yaml::header(
        "For the cluster's own scheduler: merge `extenders` into its configuration on the control plane.\n\
         A control plane that does not resolve Service names takes the Service's address instead, and\n\
         `tlsConfig.serverName: sluice-extender.sluice-system.svc`. The CA is that of `sluice certs`.\n\
         Only Pods that ask for one of `managedResources` wait for the extender. Pods with nothing but claims\n\
         never reach it: list names that a plugin of your own advertises.",
    );
    let names: String = gpu_resources().iter().map(|name| format!("  - name: {name}\n")).collect();
    let more =
        format!("  tlsConfig:\n    caFile: /etc/kubernetes/sluice-ca.crt\n  managedResources:\n{names}");
    let url = format!("https://sluice-extender.{NAMESPACE}.svc/scheduler");
    format!("{head}{HEADER}{}", extender(&url, &more))
}

const HEADER: &str = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n";

fn extender(url: &str, more: &str) -> String {
    format!(
        "extenders:\n- urlPrefix: {url}\n  filterVerb: filter\n  prioritizeVerb: prioritize\n  preemptVerb: preempt\n  \
         weight: 5\n  \
         # Names only: with whole Nodes, in-tree scoring takes every node for empty (kubernetes#141919).\n  \
         nodeCacheCapable: true\n  \
         # Scheduling is serial: one late answer delays every Pod behind it.\n  \
         httpTimeout: 2s\n  \
         # A GPU Pod waits until the extender is back; skipping it would let the Pod onto any node.\n  \
         ignorable: false\n{more}"
    )
}
