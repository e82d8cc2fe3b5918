use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn budget(spec: Value) -> PodDisruptionBudgetSpec {
    serde_json::from_value(spec).expect("a PodDisruptionBudgetSpec")
}

fn at(spec: Value, scale: i64) -> (i64, i64) {
    let Expectation { expected, desired_healthy } =
        expectation(&budget(spec), scale, scale).expect("a number or percentage");
    (expected, desired_healthy)
}

#[test]
fn expected_and_desired_pods_follow_the_controller() {
    let rows = [
        (json!({"maxUnavailable": 1}), 3, (3, 2)),
        (json!({"maxUnavailable": 0}), 3, (3, 3)),
        (json!({"maxUnavailable": 5}), 3, (3, 0)),
        (json!({"maxUnavailable": "50%"}), 3, (3, 1)),
        (json!({"maxUnavailable": "1%"}), 1, (1, 0)),
        (json!({"maxUnavailable": "0%"}), 4, (4, 4)),
        (json!({"maxUnavailable": "100%"}), 4, (4, 0)),
        (json!({"minAvailable": 2}), 3, (3, 2)),
        (json!({"minAvailable": 5}), 3, (3, 5)),
        (json!({"minAvailable": "50%"}), 3, (3, 2)),
        (json!({"minAvailable": "1%"}), 1, (1, 1)),
        (json!({"minAvailable": "100%"}), 4, (4, 4)),
        (json!({"minAvailable": "0%"}), 4, (4, 0)),
        (json!({"minAvailable": "25%"}), 0, (0, 0)),
        (json!({"minAvailable": 1, "maxUnavailable": 2}), 3, (3, 1)),
        (json!({}), 3, (0, 0)),
    ];
    for (spec, scale, expected) in rows {
        assert_eq!(at(spec.clone(), scale), expected, "{spec} at {scale}");
    }
}

#[test]
fn a_number_in_min_available_counts_the_pods_that_are_there() {
    let least = budget(json!({"minAvailable": 2}));
    assert_eq!(expectation(&least, 10, 4), Ok(Expectation { expected: 4, desired_healthy: 2 }));
    assert!(!needs_scale(&least));
    assert!(needs_scale(&budget(json!({"minAvailable": "20%"}))));
    assert!(needs_scale(&budget(json!({"maxUnavailable": 1}))));
}

#[test]
fn what_is_no_percentage_is_an_error() {
    for spec in [json!({"maxUnavailable": "1"}), json!({"minAvailable": "half"})] {
        assert!(expectation(&budget(spec.clone()), 3, 3).is_err(), "{spec}");
    }
}

#[test]
fn disruptions_are_what_is_healthy_above_what_is_desired() {
    let of_three = |desired_healthy| Expectation { expected: 3, desired_healthy };
    for (desired, healthy, allowed) in [(2, 3, 1), (2, 2, 0), (2, 1, 0), (0, 3, 3), (3, 3, 0), (2, 5, 3)] {
        assert_eq!(
            of_three(desired).disruptions_allowed(healthy),
            allowed,
            "{healthy} healthy, {desired} desired"
        );
    }
    let nothing_expected = Expectation { expected: 0, desired_healthy: 0 };
    assert_eq!(nothing_expected.disruptions_allowed(3), 0, "its first Pods are safe until they are counted");
}

#[test]
fn budgets_that_block_every_drain_are_known() {
    let rows = [
        (json!({"maxUnavailable": 0}), 3, true),
        (json!({"maxUnavailable": "0%"}), 3, true),
        (json!({"minAvailable": "100%"}), 3, true),
        (json!({"minAvailable": 3}), 3, true),
        (json!({"minAvailable": 4}), 3, true),
        (json!({"minAvailable": 1}), 1, true),
        (json!({"minAvailable": "1%"}), 1, true),
        (json!({"minAvailable": "99%"}), 3, true),
        (json!({"maxUnavailable": "1%"}), 1, false),
        (json!({"maxUnavailable": 1}), 1, false),
        (json!({"minAvailable": 1}), 2, false),
        (json!({"minAvailable": "50%"}), 2, false),
        (json!({"minAvailable": 0}), 1, false),
        (json!({"maxUnavailable": 0}), 0, false),
    ];
    for (spec, replicas, blocks) in rows {
        assert_eq!(blocks_every_drain(&budget(spec.clone()), replicas), Ok(blocks), "{spec} at {replicas}");
    }
}

#[test]
fn a_budget_may_protect_nothing() {
    for (spec, replicas, nothing) in [
        (json!({"minAvailable": 0}), 3, true),
        (json!({"maxUnavailable": "100%"}), 3, true),
        (json!({"maxUnavailable": "1%"}), 1, true),
        (json!({"maxUnavailable": "99%"}), 3, true),
        (json!({"minAvailable": 1}), 3, false),
    ] {
        let expectation = expectation(&budget(spec.clone()), replicas, replicas).expect("valid");
        assert_eq!(expectation.protects_nothing(), nothing, "{spec} at {replicas}");
    }
}

#[test]
fn each_controller_is_counted_once() {
    let a = Owner::Scaled { uid: "a", replicas: 3 };
    let b = Owner::Scaled { uid: "b", replicas: 2 };
    assert_eq!(scale([a, a, b, Owner::Unmanaged]), Ok(Scale { replicas: 5, unmanaged: 1 }));
    assert_eq!(scale([]), Ok(Scale::default()));
    let job = Owner::Unscalable { kind: "Job" };
    assert_eq!(scale([a, job]), Err(SyncFailure::Unscalable { kind: "Job".to_owned() }));
}

const RUNNING: EvictedPod<'_> = EvictedPod { phase: "Running", deleting: false, ready: true };

fn state(disruptions_allowed: i64, current_healthy: i64, desired_healthy: i64) -> BudgetState {
    BudgetState { disruptions_allowed, current_healthy, desired_healthy, ..BudgetState::default() }
}

#[test]
fn a_pod_that_does_not_run_is_not_protected() {
    let none_left = [state(0, 1, 1)];
    for phase in ["Pending", "Succeeded", "Failed"] {
        assert_eq!(evict(EvictedPod { phase, ..RUNNING }, &none_left), Eviction::NotRunning, "{phase}");
    }
    assert_eq!(evict(EvictedPod { deleting: true, ..RUNNING }, &none_left), Eviction::NotRunning);
    assert_eq!(evict(RUNNING, &none_left), Eviction::Refused(Refusal::Exhausted));
}

#[test]
fn one_budget_decides_and_two_refuse() {
    assert_eq!(evict(RUNNING, &[]), Eviction::Unprotected);
    assert_eq!(evict(RUNNING, &[state(1, 3, 2)]), Eviction::WithinBudget);
    let both = [state(1, 3, 2), state(1, 3, 2)];
    assert_eq!(evict(RUNNING, &both), Eviction::Refused(Refusal::SeveralBudgets));
    assert_eq!(Refusal::SeveralBudgets.status(), 500);
}

#[test]
fn an_unready_pod_may_go_while_the_workload_is_undisturbed() {
    let unready = EvictedPod { ready: false, ..RUNNING };
    assert_eq!(evict(unready, &[state(0, 2, 2)]), Eviction::Unhealthy);
    assert_eq!(evict(unready, &[state(0, 1, 2)]), Eviction::Refused(Refusal::Exhausted));
    assert_eq!(
        evict(unready, &[state(0, 0, 0)]),
        Eviction::Refused(Refusal::Exhausted),
        "nothing is desired yet"
    );
    let always = BudgetState { always_allow_unhealthy: true, ..state(0, 1, 2) };
    assert_eq!(evict(unready, &[always]), Eviction::Unhealthy);
    assert_eq!(
        evict(RUNNING, &[always]),
        Eviction::Refused(Refusal::Exhausted),
        "the policy is for unready Pods"
    );
}

#[test]
fn refusals_have_an_order_and_a_status() {
    let mut worst = BudgetState {
        stale: true,
        disruptions_allowed: -1,
        pending_evictions: 2001,
        ..BudgetState::default()
    };
    assert_eq!(evict(RUNNING, &[worst]), Eviction::Refused(Refusal::Stale));
    worst.stale = false;
    assert_eq!(evict(RUNNING, &[worst]), Eviction::Refused(Refusal::Negative));
    worst.disruptions_allowed = 0;
    assert_eq!(evict(RUNNING, &[worst]), Eviction::Refused(Refusal::TooManyPending));
    worst.pending_evictions = 2000;
    assert_eq!(evict(RUNNING, &[worst]), Eviction::Refused(Refusal::Exhausted));
    let statuses =
        [Refusal::Stale, Refusal::Negative, Refusal::TooManyPending, Refusal::Exhausted].map(Refusal::status);
    assert_eq!(statuses, [429, 403, 403, 429]);
}

proptest! {
    #[test]
    fn a_budget_that_blocks_never_allows_a_healthy_eviction(percent in 0i64..=100, number in 0i64..6, scale in 0i64..20, healthy in 0i64..20) {
        for spec in [
            json!({"maxUnavailable": format!("{percent}%")}),
            json!({"minAvailable": format!("{percent}%")}),
            json!({"maxUnavailable": number}),
            json!({"minAvailable": number}),
        ] {
            let expectation = expectation(&budget(spec), scale, scale).expect("valid");
            let allowed = expectation.disruptions_allowed(healthy.min(scale));
            prop_assert!((0..=scale).contains(&allowed));
            if expectation.blocks_every_drain() {
                prop_assert_eq!(allowed, 0);
            } else if scale > 0 {
                prop_assert!(expectation.disruptions_allowed(scale) > 0);
            }
        }
    }
}
