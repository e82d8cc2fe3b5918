//! The nodes that could run a Pod: what selector and affinity leave, that have what it asks for.

use std::sync::Arc;

use crate::{
    cluster::{
        Shape,
        matching::{self, Match},
    },
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{Taint, Toleration},
        taints::{self, Untolerated},
    },
    rules::{Case, PodCase, offers},
    subject::demand,
    world::taints::is_passing,
};

/// Calls `look` with every match of shapes on whose nodes the Pod could run if it tolerated their taints.
pub(super) fn each_eligible(case: &Case<'_>, pod: &PodCase<'_>, mut look: impl FnMut(&Match<'_>)) {
    let required = RequiredNodeAffinity::of(&pod.pod.spec);
    let needed = demand::units(&pod.pod.spec);
    for found in matching::matching_shapes(&case.world.cluster, &required) {
        if needed.iter().all(|(name, count)| offers::units(found.shape, name) >= *count) {
            look(&found);
        }
    }
}

/// The first lasting taint of a shape that these tolerations do not cover; a cordon and states of a node's life
/// go away.
pub(super) fn repelling<'a>(
    case: &Case<'_>,
    shape: &'a Shape,
    tolerations: &[Toleration],
) -> Option<&'a Taint> {
    let comparison = case.world.features.comparison_operators;
    let covered = |taint: &Taint| taints::covers(tolerations, taint, comparison);
    shape.taints.iter().find(|taint| taints::repels(taint) && !is_passing(taint) && !covered(taint))
}

/// Whether the scheduler would put a Pod with these tolerations on nodes of the shape as they are now.
pub(super) fn is_open(case: &Case<'_>, shape: &Arc<Shape>, tolerations: &[Toleration]) -> bool {
    let comparison = case.world.features.comparison_operators;
    let kept_off: Option<Untolerated<'_>> =
        taints::first_untolerated(&shape.taints, shape.unschedulable, tolerations, comparison);
    kept_off.is_none()
}
