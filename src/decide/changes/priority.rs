//! The priority trio: name, value and preemption policy together, or not at all.

use serde_json::json;

use super::{Step, change, segments};
use crate::{
    cluster::Kind,
    k8s::object::PriorityClass,
    rules::{Change, Edit},
};

/// Sets the class's PriorityClass where the author named none.
///
/// The Priority plugin runs before webhooks and again after a change, and refuses a Pod whose value or
/// policy differs from the class that is named; so the three go together, from the live object. A class
/// that the author wrote stays. The global default was written by the API server, not by the author.
pub(super) fn set(step: &Step<'_>, changes: &mut Vec<Change>) {
    let Some(wanted) = step.class.and_then(|class| class.priority_class.as_deref()) else { return };
    let cluster = &step.world.cluster;
    if !cluster.is_synced(Kind::PriorityClass) || !step.placed.placement.asks_gpu {
        return;
    }
    let Some(class) = cluster.priority_class(wanted) else { return };
    let written = step.pod.spec.priority_class_name.as_str();
    let is_default = cluster.priority_class(written).is_some_and(|class| class.global_default);
    if written != wanted && !written.is_empty() && !is_default {
        return;
    }
    let spec = &step.pod.spec;
    let policy = policy_of(class);
    if written == wanted && spec.priority.is_none() && spec.preemption_policy.is_none() {
        // As in a file: the API server fills in the rest.
        return;
    }
    let why = format!("priority of class {}", step.class.map_or("", |class| &class.name));
    let mut put = |key: &str, value: serde_json::Value| {
        let at = segments(["spec", key]);
        changes.push(change("priority-set", why.clone(), Edit::Set(at, value)));
    };
    if written != wanted {
        put("priorityClassName", json!(wanted));
    }
    if spec.priority != Some(class.value) {
        put("priority", json!(class.value));
    }
    if spec.preemption_policy.as_deref() != Some(policy) {
        put("preemptionPolicy", json!(policy));
    }
}

fn policy_of(class: &PriorityClass) -> &str {
    class.preemption_policy.as_deref().unwrap_or("PreemptLowerPriority")
}
