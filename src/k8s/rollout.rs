//! How many Pods a rollout adds and takes away: Deployment (`pkg/controller/deployment/util/deployment_util.go`),
//! StatefulSet (`pkg/controller/statefulset/stateful_set_utils.go`), DaemonSet
//! (`pkg/controller/daemon/util/daemonset_util.go`, `update.go`), defaults (`pkg/apis/apps/v1/defaults.go`).

use super::{
    int_or_string::{NotAPercentage, Rounding},
    object::{IntOrText, Strategy, WorkloadSpec},
};

/// How a workload replaces its Pods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rollout {
    /// All old Pods go before the first new one comes.
    Recreate,
    /// Step by step, within these bounds.
    Rolling(Bounds),
    /// Nothing is replaced until somebody deletes a Pod.
    OnDelete,
}

/// The bounds of a rolling update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bounds {
    /// Most Pods above the desired number.
    pub surge: i64,
    /// Most Pods that may be missing from the desired number.
    pub unavailable: i64,
}

/// A strategy that no controller can follow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RolloutError {
    /// No such strategy for this kind.
    #[error("{kind:?} is not a strategy here: use {allowed}")]
    Strategy {
        /// As written.
        kind: String,
        /// What there is.
        allowed: &'static str,
    },
    /// A bound that is neither number nor percentage.
    #[error("{field}: {error}")]
    Bound {
        /// `maxSurge` or `maxUnavailable`.
        field: &'static str,
        /// What is wrong.
        error: NotAPercentage,
    },
}

/// Seconds without progress after which a Deployment is reported as failed, where none is given.
pub const DEFAULT_PROGRESS_DEADLINE_SECONDS: i64 = 600;

/// Desired Pods of a workload: 1 where absent.
pub fn replicas(spec: &WorkloadSpec) -> i64 {
    spec.replicas.unwrap_or(1).max(0)
}

/// A Deployment's rollout at `replicas` desired Pods: 25% each where absent, surge rounded up, unavailable
/// rounded down and at most all; if both come to 0, one Pod may be unavailable (`ResolveFenceposts`).
///
/// # Errors
/// Unknown strategy, or a bound that is no number.
pub fn deployment(strategy: &Strategy, replicas: i64) -> Result<Rollout, RolloutError> {
    match strategy.kind.as_str() {
        "Recreate" => return Ok(Rollout::Recreate),
        "" | "RollingUpdate" => {}
        other => return Err(unknown(other, "RollingUpdate or Recreate")),
    }
    let quarter = IntOrText::Text("25%".to_owned());
    let surge = scaled("maxSurge", max_surge(strategy).unwrap_or(&quarter), replicas, Rounding::Up)?;
    let unavailable =
        scaled("maxUnavailable", max_unavailable(strategy).unwrap_or(&quarter), replicas, Rounding::Down)?;
    let unavailable = if surge == 0 && unavailable == 0 { 1 } else { unavailable };
    Ok(Rollout::Rolling(Bounds { surge, unavailable: unavailable.min(replicas) }))
}

/// A StatefulSet's rollout: never a surge; one Pod at a time, or `maxUnavailable` rounded down but at least
/// 1, if the feature gate `MaxUnavailableStatefulSet` is on (beta and on by default in 1.37, off before).
///
/// # Errors
/// Unknown strategy, or a bound that is no number.
pub fn stateful_set(
    strategy: &Strategy,
    replicas: i64,
    max_unavailable_enabled: bool,
) -> Result<Rollout, RolloutError> {
    match strategy.kind.as_str() {
        "OnDelete" => return Ok(Rollout::OnDelete),
        "" | "RollingUpdate" => {}
        other => return Err(unknown(other, "RollingUpdate or OnDelete")),
    }
    let one = IntOrText::Int(1);
    let written = max_unavailable(strategy).filter(|_| max_unavailable_enabled).unwrap_or(&one);
    let unavailable = scaled("maxUnavailable", written, replicas, Rounding::Down)?.max(1);
    Ok(Rollout::Rolling(Bounds { surge: 0, unavailable }))
}

/// Pods of a StatefulSet that an update replaces: those with an ordinal from `partition` on.
pub fn stateful_set_updated(strategy: &Strategy, replicas: i64) -> i64 {
    let partition = strategy.rolling_update.as_ref().and_then(|rolling| rolling.partition).unwrap_or(0);
    replicas.saturating_sub(partition.max(0)).max(0)
}

/// A DaemonSet's rollout over `nodes` nodes that it wants a Pod on: no surge and one unavailable where
/// absent, both rounded up; if both come to 0, one Pod may be unavailable.
///
/// # Errors
/// Unknown strategy, or a bound that is no number.
pub fn daemon_set(strategy: &Strategy, nodes: i64) -> Result<Rollout, RolloutError> {
    match strategy.kind.as_str() {
        "OnDelete" => return Ok(Rollout::OnDelete),
        "" | "RollingUpdate" => {}
        other => return Err(unknown(other, "RollingUpdate or OnDelete")),
    }
    let surge = scaled("maxSurge", max_surge(strategy).unwrap_or(&IntOrText::Int(0)), nodes, Rounding::Up)?;
    let written = max_unavailable(strategy).unwrap_or(&IntOrText::Int(1));
    let unavailable = scaled("maxUnavailable", written, nodes, Rounding::Up)?;
    let unavailable = if nodes > 0 && surge == 0 && unavailable == 0 { 1 } else { unavailable };
    Ok(Rollout::Rolling(Bounds { surge, unavailable }))
}

/// Seconds without progress after which a Deployment is reported as failed; `None` if it never is.
pub fn progress_deadline(spec: &WorkloadSpec) -> Option<i64> {
    let seconds = spec.progress_deadline_seconds.unwrap_or(DEFAULT_PROGRESS_DEADLINE_SECONDS);
    (seconds != i64::from(i32::MAX)).then_some(seconds)
}

impl Rollout {
    /// Most Pods that exist at once during a rollout, as in the annotation
    /// `deployment.kubernetes.io/max-replicas`.
    pub fn most_pods(self, replicas: i64) -> i64 {
        match self {
            Self::Rolling(bounds) => replicas.saturating_add(bounds.surge),
            Self::Recreate | Self::OnDelete => replicas,
        }
    }

    /// Fewest Pods that stay available while a rollout goes as planned.
    pub fn least_available(self, replicas: i64) -> i64 {
        match self {
            Self::Rolling(bounds) => replicas.saturating_sub(bounds.unavailable).max(0),
            Self::Recreate => 0,
            Self::OnDelete => replicas,
        }
    }

    /// Free places without which a rollout never takes its first step: 1 if no old Pod may go before a new
    /// one is available, else 0.
    pub fn spare_places_needed(self, replicas: i64) -> i64 {
        match self {
            Self::Rolling(Bounds { surge, unavailable }) => {
                i64::from(replicas > 0 && unavailable == 0 && surge > 0)
            }
            Self::Recreate | Self::OnDelete => 0,
        }
    }
}

fn unknown(kind: &str, allowed: &'static str) -> RolloutError {
    RolloutError::Strategy { kind: kind.to_owned(), allowed }
}

fn max_surge(strategy: &Strategy) -> Option<&IntOrText> {
    strategy.rolling_update.as_ref()?.max_surge.as_ref()
}

fn max_unavailable(strategy: &Strategy) -> Option<&IntOrText> {
    strategy.rolling_update.as_ref()?.max_unavailable.as_ref()
}

fn scaled(
    field: &'static str,
    written: &IntOrText,
    total: i64,
    rounding: Rounding,
) -> Result<i64, RolloutError> {
    let number = written.scaled(total, rounding).map_err(|error| RolloutError::Bound { field, error })?;
    Ok(number.max(0))
}

#[cfg(test)]
mod tests;
