//! How many Pods a workload may have: its replicas, or the bounds of the autoscaler that sets them.

use super::Case;

/// Fewest and most replicas that a HorizontalPodAutoscaler of the subject's namespace gives a workload; `None`
/// where none scales it. An autoscaler that may go to zero counts with one.
#[must_use]
pub fn bounds(case: &Case<'_>, kind: &str, name: &str) -> Option<(i64, i64)> {
    let mut autoscalers = case.world.cluster.hpas(&case.subject.namespace);
    let autoscaler = autoscalers.find(|autoscaler| {
        let target = &autoscaler.spec.scale_target_ref;
        target.kind == kind && target.name == name
    })?;
    Some((autoscaler.spec.min_replicas.unwrap_or(1), autoscaler.spec.max_replicas))
}

/// Replicas as they are now most likely: as written, held within the autoscaler's bounds.
#[must_use]
pub fn replicas(case: &Case<'_>, written: Option<i64>) -> i64 {
    let subject = case.subject;
    match (bounds(case, &subject.kind, &subject.name), written) {
        (Some((least, most)), written) => written.unwrap_or(least).clamp(least.min(most), most),
        (None, written) => written.unwrap_or(1).max(0),
    }
}
