//! Probes: the values in force, and when the kubelet kills a container that does not answer.
//!
//! Defaults are the API server's (`pkg/apis/core/v1/defaults.go`). The times are derived, not specified:
//! from the probe worker (`pkg/kubelet/prober/worker.go`), which ticks every period from an arbitrary moment,
//! skips ticks before the initial delay and before the container has started (that is, before its startup
//! probe has succeeded), counts failures in a row, and has the container killed at the threshold. They are
//! seconds after the start of the container; the kubelet's own latency (about a second) comes on top.

use super::object::{Container, PodSpec, Probe};

/// The kinds of probes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProbeKind {
    /// Kills the container; runs only after the startup probe has succeeded.
    Liveness,
    /// Takes the Pod out of Services.
    Readiness,
    /// Kills the container; holds the other two back until it succeeds once.
    Startup,
}

/// A probe with its defaults filled in. Durations are seconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timing {
    /// Before the first attempt.
    pub initial_delay: i64,
    /// Between attempts.
    pub period: i64,
    /// Until an attempt counts as failed.
    pub timeout: i64,
    /// Failures in a row until it counts.
    pub failure_threshold: i64,
    /// Successes in a row until it counts.
    pub success_threshold: i64,
}

/// When something happens, in seconds after the start of the container.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// Not before.
    pub earliest: i64,
    /// Not after, apart from the kubelet's own latency.
    pub latest: i64,
}

/// How long a container may take until it answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StartupBudget {
    /// The probe that ends it.
    pub probe: ProbeKind,
    /// When a container that never answers is killed. Only a container that answers before `earliest` is
    /// safe.
    pub killed: Window,
}

/// Why the API server would refuse a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ProbeProblem {
    /// A number below zero.
    #[error("{field} must not be negative")]
    Negative {
        /// Name of the field.
        field: &'static str,
    },
    /// Liveness and startup probes succeed at once.
    #[error("successThreshold must be 1, it is {value}")]
    SuccessThreshold {
        /// As written.
        value: i64,
    },
    /// Only probes that kill have a grace period.
    #[error("terminationGracePeriodSeconds cannot be set on a readiness probe")]
    GraceOnReadiness,
    /// No time at all.
    #[error("terminationGracePeriodSeconds must be above 0")]
    GraceNotPositive,
}

/// Grace period of a Pod that names none; seconds.
pub const DEFAULT_GRACE_SECONDS: i64 = 30;

impl Timing {
    /// The values in force: 0 means the default. Negative numbers, which the API server refuses, count as
    /// the least possible.
    pub fn of(probe: &Probe) -> Self {
        let or = |value: i64, default: i64| if value == 0 { default } else { value.max(1) };
        Self {
            initial_delay: probe.initial_delay_seconds.max(0),
            period: or(probe.period_seconds, 10),
            timeout: or(probe.timeout_seconds, 1),
            failure_threshold: or(probe.failure_threshold, 3),
            success_threshold: or(probe.success_threshold, 1),
        }
    }

    /// When the threshold is reached if every attempt fails. Earliest: the first tick falls on the end of the
    /// initial delay and every attempt is refused at once. Latest: that tick has just passed and every attempt
    /// runs into its timeout; an attempt that outlasts the period delays the next.
    pub fn fails(self) -> Window {
        self.fails_from(0)
    }

    /// The same if attempts are held back until `held` seconds after the start.
    fn fails_from(self, held: i64) -> Window {
        let first = self.initial_delay.max(held);
        let more = self.failure_threshold.saturating_sub(1);
        let slowest = self.period.max(self.timeout);
        let earliest = first.saturating_add(more.saturating_mul(self.period));
        let latest = first
            .saturating_add(self.period)
            .saturating_add(more.saturating_mul(slowest))
            .saturating_add(self.timeout);
        Window { earliest, latest }
    }

    /// The least `failureThreshold`, all else equal, that leaves a container alone for so many seconds.
    pub fn failure_threshold_for(self, seconds: i64) -> i64 {
        let after_first = seconds.saturating_sub(self.initial_delay).max(0);
        let periods = after_first / self.period + i64::from(after_first % self.period != 0);
        periods.saturating_add(1)
    }
}

/// How long the container may take to answer for the first time: until its startup probe gives up, else its
/// liveness probe. `None` if no probe kills it.
pub fn startup_budget(container: &Container) -> Option<StartupBudget> {
    let budget = |probe: &Probe, kind| StartupBudget { probe: kind, killed: Timing::of(probe).fails() };
    let startup = container.startup_probe.as_ref().map(|probe| budget(probe, ProbeKind::Startup));
    startup.or_else(|| container.liveness_probe.as_ref().map(|probe| budget(probe, ProbeKind::Liveness)))
}

/// When the liveness probe kills a container that never answers it. With a startup probe, the earliest is
/// the one that succeeds at its first attempt (it may ask for something else, such as an open port); the
/// latest is then open, because nothing is counted until it succeeds: `None`. `None` as a whole without a
/// liveness probe.
pub fn liveness_kill(container: &Container) -> Option<(i64, Option<i64>)> {
    let liveness = Timing::of(container.liveness_probe.as_ref()?);
    Some(match &container.startup_probe {
        None => {
            let Window { earliest, latest } = liveness.fails();
            (earliest, Some(latest))
        }
        Some(startup) => (liveness.fails_from(Timing::of(startup).initial_delay).earliest, None),
    })
}

/// Seconds between SIGTERM and SIGKILL when this probe kills the container: the probe's own, else the Pod's
/// (a negative one counts as 1), else 30.
pub fn grace_seconds(spec: &PodSpec, probe: &Probe) -> i64 {
    let of_pod = spec.termination_grace_period_seconds.map(|s| if s < 0 { 1 } else { s });
    probe.termination_grace_period_seconds.or(of_pod).unwrap_or(DEFAULT_GRACE_SECONDS)
}

/// Everything for which the API server would refuse the probe (`validateProbe` and its kin), handlers aside.
pub fn problems(probe: &Probe, kind: ProbeKind) -> Vec<ProbeProblem> {
    let fields = [
        ("initialDelaySeconds", probe.initial_delay_seconds),
        ("timeoutSeconds", probe.timeout_seconds),
        ("periodSeconds", probe.period_seconds),
        ("successThreshold", probe.success_threshold),
        ("failureThreshold", probe.failure_threshold),
    ];
    let negative = fields.into_iter().filter(|(_, value)| *value < 0);
    let mut problems: Vec<_> = negative.map(|(field, _)| ProbeProblem::Negative { field }).collect();
    let grace = probe.termination_grace_period_seconds;
    if grace.is_some_and(|seconds| seconds <= 0) {
        problems.push(ProbeProblem::GraceNotPositive);
    }
    match kind {
        ProbeKind::Readiness if grace.is_some() => problems.push(ProbeProblem::GraceOnReadiness),
        ProbeKind::Readiness => {}
        ProbeKind::Liveness | ProbeKind::Startup if probe.success_threshold > 1 => {
            problems.push(ProbeProblem::SuccessThreshold { value: probe.success_threshold });
        }
        ProbeKind::Liveness | ProbeKind::Startup => {}
    }
    problems
}

#[cfg(test)]
mod tests;
