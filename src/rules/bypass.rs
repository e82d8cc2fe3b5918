//! Ways around the gate: devices without a request, nodes without the scheduler.

pub mod node_name;
pub mod stamp;
pub mod visible_devices;

use crate::{
    rules::Case,
    subject::{Facts, Subject},
};

/// Whether the Pod's ServiceAccount is exempt from the bypass rules: named by the policy, never by
/// something that the Pod's author can set on the Pod alone.
pub(super) fn is_exempt(case: &Case<'_>, pod: &crate::k8s::object::Pod) -> bool {
    let account = match pod.spec.service_account_name.as_str() {
        "" => "default",
        name => name,
    };
    case.policy.exempt_service_accounts.contains(&format!("{}/{account}", case.subject.namespace))
}

/// A mirror Pod of a node's own kubelet: the annotation alone proves nothing, the requester does.
pub(super) fn is_mirror_of_its_node(subject: &Subject, pod: &crate::k8s::object::Pod) -> bool {
    pod.metadata.annotations.contains_key("kubernetes.io/config.mirror")
        && !pod.spec.node_name.is_empty()
        && comes_from_node(&subject.facts, &pod.spec.node_name)
}

fn comes_from_node(facts: &Facts, node: &str) -> bool {
    facts.user.strip_prefix("system:node:") == Some(node)
        && facts.groups.iter().any(|group| group == "system:nodes")
}
