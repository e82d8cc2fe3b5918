//! A startup probe for a container whose liveness probe would kill it while its model loads.

use serde_json::{Value, json};

use super::{Step, at_container, change};
use crate::{
    k8s::probe::{self, ProbeKind, Timing},
    rules::{Change, Edit, startup},
    subject::demand,
};

/// Copies the liveness handler into a startup probe that is patient enough, where the class allows it.
pub(super) fn probe(step: &Step<'_>, changes: &mut Vec<Change>) {
    let Some(class) = step.class.filter(|class| class.add_startup_probe) else { return };
    let Some(needed) = startup::loading_time(step.pod, Some(class)) else { return };
    for (place, container) in demand::containers(&step.pod.spec) {
        let Some(liveness) = &container.liveness_probe else { continue };
        let kills = probe::startup_budget(container)
            .is_some_and(|budget| budget.probe == ProbeKind::Liveness && budget.killed.earliest < needed);
        if place.list != "containers" || !startup::uses_gpu(container) || !kills {
            continue;
        }
        let written = at_container(place, &["livenessProbe"]);
        let Some(Value::Object(mut made)) = step.raw.pointer(&format!("/{}", written.join("/"))).cloned()
        else {
            continue;
        };
        for delay in ["initialDelaySeconds", "failureThreshold", "terminationGracePeriodSeconds"] {
            made.shift_remove(delay);
        }
        let timing = Timing { initial_delay: 0, ..Timing::of(liveness) };
        made.insert("periodSeconds".to_owned(), json!(timing.period));
        made.insert("failureThreshold".to_owned(), json!(timing.failure_threshold_for(needed)));
        let why = format!("the model may take {needed} s to load, and liveness would kill it before");
        let at = at_container(place, &["startupProbe"]);
        changes.push(change("startup-budget-too-small", why, Edit::Set(at, Value::Object(made))));
    }
}
