//! PodDisruptionBudgets: what the disruption controller computes (`pkg/controller/disruption/disruption.go`)
//! and what the eviction API then decides (`pkg/registry/core/pod/storage/eviction.go`).
//!
//! Which Pods a budget selects, and who owns them at what scale, is the caller's to find out.

use std::collections::BTreeMap;

use super::{
    int_or_string::{NotAPercentage, Rounding},
    object::{IntOrText, PodDisruptionBudgetSpec},
};

/// What the controller writes into the status of a budget, apart from the Pods' health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Expectation {
    /// `expectedPods`.
    pub expected: i64,
    /// `desiredHealthy`: below this many healthy Pods nothing healthy is evicted.
    pub desired_healthy: i64,
}

/// The controller of one selected Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Owner<'a> {
    /// No controller: the Pod is not in the expected number, and the controller warns of it.
    Unmanaged,
    /// A controller with a scale: for Pods of a Deployment the Deployment, not its ReplicaSet.
    Scaled {
        /// UID of that controller.
        uid: &'a str,
        /// Its `spec.replicas`.
        replicas: i64,
    },
    /// A controller without scale, such as a Job or DaemonSet: the controller cannot count and gives up.
    Unscalable {
        /// Kind of the controller.
        kind: &'a str,
    },
}

/// The sum of scales over the distinct controllers of the selected Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Scale {
    /// Sum of replicas.
    pub replicas: i64,
    /// Pods that have no controller.
    pub unmanaged: usize,
}

/// Why the controller cannot compute a budget. It then sets `disruptionsAllowed` to 0, so that every
/// eviction of a healthy Pod is refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SyncFailure {
    /// A Pod's controller has no scale.
    #[error("a {kind} has no scale, so the number of expected Pods cannot be found")]
    Unscalable {
        /// Kind of the controller.
        kind: String,
    },
    /// `minAvailable` or `maxUnavailable` is neither number nor percentage.
    #[error(transparent)]
    NotAPercentage(#[from] NotAPercentage),
}

/// What the eviction API looks at in a Pod.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EvictedPod<'a> {
    /// `status.phase`.
    pub phase: &'a str,
    /// Whether a deletion timestamp is set.
    pub deleting: bool,
    /// Whether the condition `Ready` is true.
    pub ready: bool,
}

/// What the eviction API looks at in a budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct BudgetState {
    /// `unhealthyPodEvictionPolicy: AlwaysAllow`; otherwise `IfHealthyBudget`.
    pub always_allow_unhealthy: bool,
    /// The status describes an older spec.
    pub stale: bool,
    /// `status.disruptionsAllowed`.
    pub disruptions_allowed: i64,
    /// `status.currentHealthy`.
    pub current_healthy: i64,
    /// `status.desiredHealthy`.
    pub desired_healthy: i64,
    /// Number of entries in `status.disruptedPods`.
    pub pending_evictions: usize,
}

/// The answer of the eviction API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Eviction {
    /// Pending, finished or already going: budgets are not asked.
    NotRunning,
    /// No budget selects the Pod.
    Unprotected,
    /// The Pod is not Ready, and the policy lets such Pods go.
    Unhealthy,
    /// The budget has one disruption less now.
    WithinBudget,
    /// Refused.
    Refused(Refusal),
}

/// Why an eviction is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// The eviction API supports one budget a Pod.
    #[error("more than one PodDisruptionBudget selects the Pod, which the eviction API does not support")]
    SeveralBudgets,
    /// The controller has not seen the newest spec yet.
    #[error("the status of the PodDisruptionBudget is older than its spec")]
    Stale,
    /// A status that nobody should write.
    #[error("disruptionsAllowed is negative")]
    Negative,
    /// The controller does not keep up.
    #[error("too many evictions wait for the disruption controller")]
    TooManyPending,
    /// Nothing left.
    #[error("the PodDisruptionBudget allows no disruption now")]
    Exhausted,
}

/// Sums the scales of the distinct controllers (`getExpectedScale`).
///
/// # Errors
/// The first Pod whose controller has no scale.
pub fn scale<'a>(owners: impl IntoIterator<Item = Owner<'a>>) -> Result<Scale, SyncFailure> {
    let mut controllers = BTreeMap::new();
    let mut unmanaged = 0;
    for owner in owners {
        match owner {
            Owner::Unmanaged => unmanaged += 1,
            Owner::Scaled { uid, replicas } => {
                controllers.insert(uid, replicas);
            }
            Owner::Unscalable { kind } => return Err(SyncFailure::Unscalable { kind: kind.to_owned() }),
        }
    }
    let replicas = controllers.values().fold(0i64, |sum, replicas| sum.saturating_add(*replicas));
    Ok(Scale { replicas, unmanaged })
}

/// True if the expected number comes from the controllers' scale; a plain number in `minAvailable` needs
/// only the number of selected Pods, which is why it also works for Pods without controller.
pub fn needs_scale(spec: &PodDisruptionBudgetSpec) -> bool {
    spec.max_unavailable.is_some() || matches!(spec.min_available, Some(IntOrText::Text(_)))
}

/// Expected and desired Pods (`getExpectedPodCount`). Percentages round up; `maxUnavailable` wins where the
/// API server let both pass.
///
/// # Errors
/// A text that is no percentage.
pub fn expectation(
    spec: &PodDisruptionBudgetSpec,
    scale: i64,
    selected_pods: i64,
) -> Result<Expectation, NotAPercentage> {
    let expectation = match (&spec.max_unavailable, &spec.min_available) {
        (Some(most), _) => {
            let unavailable = most.scaled(scale, Rounding::Up)?;
            Expectation { expected: scale, desired_healthy: scale.saturating_sub(unavailable).max(0) }
        }
        (None, Some(IntOrText::Int(least))) => {
            Expectation { expected: selected_pods, desired_healthy: *least }
        }
        (None, Some(least)) => {
            Expectation { expected: scale, desired_healthy: least.scaled(scale, Rounding::Up)? }
        }
        (None, None) => Expectation { expected: 0, desired_healthy: 0 },
    };
    Ok(expectation)
}

impl Expectation {
    /// `disruptionsAllowed` with so many healthy Pods (Ready and not going): never below 0, and 0 while
    /// nothing is expected (`updatePdbStatus`).
    pub fn disruptions_allowed(self, current_healthy: i64) -> i64 {
        if self.expected <= 0 { 0 } else { current_healthy.saturating_sub(self.desired_healthy).max(0) }
    }

    /// True if not even a workload in full health may lose one Pod, so that no drain ever ends.
    pub fn blocks_every_drain(self) -> bool {
        self.expected > 0 && self.disruptions_allowed(self.expected) == 0
    }

    /// True if all Pods may go at once.
    pub fn protects_nothing(self) -> bool {
        self.desired_healthy <= 0
    }
}

/// [`Expectation::blocks_every_drain`] for a workload of `replicas` Pods that the budget selects whole.
///
/// # Errors
/// A text that is no percentage.
pub fn blocks_every_drain(spec: &PodDisruptionBudgetSpec, replicas: i64) -> Result<bool, NotAPercentage> {
    Ok(expectation(spec, replicas, replicas)?.blocks_every_drain())
}

/// What the eviction API answers (`EvictionREST.Create`), in its order.
pub fn evict(pod: EvictedPod<'_>, budgets: &[BudgetState]) -> Eviction {
    if pod.deleting || matches!(pod.phase, "Pending" | "Succeeded" | "Failed") {
        return Eviction::NotRunning;
    }
    let budget = match budgets {
        [] => return Eviction::Unprotected,
        [budget] => budget,
        _ => return Eviction::Refused(Refusal::SeveralBudgets),
    };
    let undisturbed = budget.current_healthy >= budget.desired_healthy && budget.desired_healthy > 0;
    if !pod.ready && (budget.always_allow_unhealthy || undisturbed) {
        return Eviction::Unhealthy;
    }
    budget.refusal().map_or(Eviction::WithinBudget, Eviction::Refused)
}

impl BudgetState {
    /// `checkAndDecrement`.
    fn refusal(&self) -> Option<Refusal> {
        if self.stale {
            Some(Refusal::Stale)
        } else if self.disruptions_allowed < 0 {
            Some(Refusal::Negative)
        } else if self.pending_evictions > MOST_PENDING_EVICTIONS {
            Some(Refusal::TooManyPending)
        } else {
            (self.disruptions_allowed == 0).then_some(Refusal::Exhausted)
        }
    }
}

impl Refusal {
    /// HTTP status that the client sees; 429 is worth a retry.
    pub fn status(self) -> u16 {
        match self {
            Self::SeveralBudgets => 500,
            Self::Stale | Self::Exhausted => 429,
            Self::Negative | Self::TooManyPending => 403,
        }
    }
}

/// `MaxDisruptedPodSize`.
const MOST_PENDING_EVICTIONS: usize = 2000;

#[cfg(test)]
mod tests;
