use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn probe(value: Value) -> Probe {
    serde_json::from_value(value).expect("a probe")
}

fn container(value: Value) -> Container {
    serde_json::from_value(value).expect("a container")
}

#[test]
fn zero_means_the_default() {
    let defaults =
        Timing { initial_delay: 0, period: 10, timeout: 1, failure_threshold: 3, success_threshold: 1 };
    assert_eq!(Timing::of(&Probe::default()), defaults);
    let written = probe(json!({
        "initialDelaySeconds": 60, "periodSeconds": 5, "timeoutSeconds": 3, "failureThreshold": 30,
        "successThreshold": 2,
    }));
    let expected =
        Timing { initial_delay: 60, period: 5, timeout: 3, failure_threshold: 30, success_threshold: 2 };
    assert_eq!(Timing::of(&written), expected);
}

#[test]
fn a_default_liveness_probe_kills_after_twenty_to_thirty_one_seconds() {
    let silent = container(json!({"livenessProbe": {}}));
    assert_eq!(Timing::of(&Probe::default()).fails(), Window { earliest: 20, latest: 31 });
    assert_eq!(liveness_kill(&silent), Some((20, Some(31))));
    let budget = startup_budget(&silent).expect("liveness kills");
    assert_eq!((budget.probe, budget.killed.earliest), (ProbeKind::Liveness, 20));
}

#[test]
fn delay_period_threshold_and_timeout_each_count() {
    let rows = [
        (json!({"initialDelaySeconds": 120}), (140, 151)),
        (json!({"periodSeconds": 30}), (60, 91)),
        (json!({"failureThreshold": 1}), (0, 11)),
        (json!({"failureThreshold": 60}), (590, 601)),
        (json!({"timeoutSeconds": 5}), (20, 35)),
        (json!({"timeoutSeconds": 20}), (20, 70)),
        (json!({"initialDelaySeconds": 600, "failureThreshold": 1}), (600, 611)),
    ];
    for (written, (earliest, latest)) in rows {
        assert_eq!(Timing::of(&probe(written.clone())).fails(), Window { earliest, latest }, "{written}");
    }
}

#[test]
fn a_startup_probe_holds_the_liveness_probe_back() {
    let model = container(json!({
        "startupProbe": {"periodSeconds": 10, "failureThreshold": 90},
        "livenessProbe": {"periodSeconds": 10, "failureThreshold": 3},
    }));
    let budget = startup_budget(&model).expect("startup kills");
    let killed = Window { earliest: 890, latest: 901 };
    assert_eq!(budget, StartupBudget { probe: ProbeKind::Startup, killed });
    assert_eq!(liveness_kill(&model), Some((20, None)), "only once the startup probe has succeeded");
    let late = container(json!({
        "startupProbe": {"initialDelaySeconds": 300},
        "livenessProbe": {"initialDelaySeconds": 60},
    }));
    assert_eq!(liveness_kill(&late), Some((320, None)));
}

#[test]
fn without_a_killing_probe_there_is_no_budget() {
    let ready_only = container(json!({"readinessProbe": {}}));
    assert_eq!(startup_budget(&ready_only), None);
    assert_eq!(liveness_kill(&ready_only), None);
}

#[test]
fn the_needed_threshold_is_computed() {
    let every =
        |period, delay| Timing::of(&probe(json!({"periodSeconds": period, "initialDelaySeconds": delay})));
    for (period, delay, seconds, threshold) in [
        (10, 0, 600, 61),
        (10, 0, 601, 62),
        (10, 60, 600, 55),
        (30, 0, 900, 31),
        (10, 700, 600, 1),
        (10, 0, 0, 1),
    ] {
        let timing = every(period, delay);
        assert_eq!(timing.failure_threshold_for(seconds), threshold, "{period} {delay} {seconds}");
    }
}

#[test]
fn the_probes_grace_period_goes_before_the_pods() {
    let spec = |seconds: Value| -> PodSpec {
        serde_json::from_value(json!({"terminationGracePeriodSeconds": seconds})).expect("a spec")
    };
    let own = probe(json!({"terminationGracePeriodSeconds": 5}));
    let none = Probe::default();
    assert_eq!(grace_seconds(&spec(json!(120)), &own), 5);
    assert_eq!(grace_seconds(&spec(json!(120)), &none), 120);
    assert_eq!(grace_seconds(&spec(json!(0)), &none), 0);
    assert_eq!(grace_seconds(&spec(json!(-1)), &none), 1);
    assert_eq!(grace_seconds(&spec(Value::Null), &none), 30);
}

#[test]
fn each_mistake_in_a_probe_is_told() {
    use ProbeKind::{Liveness, Readiness, Startup};
    use ProbeProblem::*;
    let found = |value: Value, kind| problems(&probe(value), kind);
    assert_eq!(found(json!({}), Liveness), []);
    assert_eq!(found(json!({"successThreshold": 2}), Readiness), []);
    assert_eq!(found(json!({"terminationGracePeriodSeconds": 5}), Startup), []);
    assert_eq!(found(json!({"successThreshold": 2}), Liveness), [SuccessThreshold { value: 2 }]);
    assert_eq!(found(json!({"successThreshold": 3}), Startup), [SuccessThreshold { value: 3 }]);
    assert_eq!(found(json!({"terminationGracePeriodSeconds": 5}), Readiness), [GraceOnReadiness]);
    assert_eq!(found(json!({"terminationGracePeriodSeconds": 0}), Liveness), [GraceNotPositive]);
    assert_eq!(
        found(json!({"periodSeconds": -1, "initialDelaySeconds": -5}), Readiness),
        [Negative { field: "initialDelaySeconds" }, Negative { field: "periodSeconds" }],
    );
}

/// The kubelet's worker in seconds: ticks at `phase`, `phase + period`…, an attempt takes `attempt` seconds,
/// a tick that falls into an attempt fires when it is over. Returns when the last failure is recorded.
fn kubelet(timing: Timing, phase: i64, attempt: i64) -> i64 {
    let (mut tick, mut failures, mut free) = (phase, 0, 0);
    loop {
        let now = tick.max(free);
        if now >= timing.initial_delay {
            failures += 1;
            free = now + attempt;
            if failures == timing.failure_threshold {
                return free;
            }
        }
        // A ticker holds one tick back at most and drops the rest.
        tick += timing.period;
        while tick + timing.period <= free {
            tick += timing.period;
        }
    }
}

proptest! {
    #[test]
    fn no_run_of_the_kubelet_leaves_the_window(
        initial_delay in 0i64..40, period in 1i64..15, timeout in 1i64..20, failure_threshold in 1i64..6,
        phase in 0i64..15, attempt in 0i64..20,
    ) {
        let timing = Timing { initial_delay, period, timeout, failure_threshold, success_threshold: 1 };
        let killed = kubelet(timing, phase % period, attempt.min(timeout));
        let Window { earliest, latest } = timing.fails();
        prop_assert!((earliest..=latest).contains(&killed), "{killed} not in {earliest}..={latest}");
    }

    #[test]
    fn the_computed_threshold_is_enough_and_not_more(
        initial_delay in 0i64..100, period in 1i64..60, seconds in 0i64..5000,
    ) {
        let timing = Timing { initial_delay, period, timeout: 1, failure_threshold: 3, success_threshold: 1 };
        let needed = timing.failure_threshold_for(seconds);
        let at = |failure_threshold| Timing { failure_threshold, ..timing }.fails().earliest;
        prop_assert!(at(needed) >= seconds);
        prop_assert!(needed == 1 || at(needed - 1) < seconds);
    }
}
