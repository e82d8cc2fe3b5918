use proptest::strategy::{Just, Strategy as Generator};
use proptest::{prop_assert, prop_oneof, proptest};
use serde_json::{Value, json};

use super::*;

fn strategy(value: Value) -> Strategy {
    serde_json::from_value(value).expect("a strategy")
}

fn rolling(value: Value) -> Strategy {
    strategy(json!({"type": "RollingUpdate", "rollingUpdate": value}))
}

fn bounds(rollout: Result<Rollout, RolloutError>) -> (i64, i64) {
    match rollout {
        Ok(Rollout::Rolling(Bounds { surge, unavailable })) => (surge, unavailable),
        other => panic!("not a rolling update: {other:?}"),
    }
}

#[test]
fn a_deployment_rounds_surge_up_and_unavailable_down() {
    let rows = [
        (json!({}), 1, (1, 0)),
        (json!({}), 3, (1, 0)),
        (json!({}), 4, (1, 1)),
        (json!({}), 10, (3, 2)),
        (json!({"maxSurge": 0}), 1, (0, 1)),
        (json!({"maxSurge": 0}), 3, (0, 1)),
        (json!({"maxSurge": 0}), 8, (0, 2)),
        (json!({"maxSurge": "0%", "maxUnavailable": "1%"}), 5, (0, 1)),
        (json!({"maxSurge": 1, "maxUnavailable": 0}), 5, (1, 0)),
        (json!({"maxSurge": "100%", "maxUnavailable": "100%"}), 5, (5, 5)),
        (json!({"maxUnavailable": 9}), 2, (1, 2)),
        (json!({"maxSurge": "150%"}), 2, (3, 0)),
        (json!({"maxSurge": 2}), 0, (2, 0)),
    ];
    for (update, replicas, expected) in rows {
        assert_eq!(
            bounds(deployment(&rolling(update.clone()), replicas)),
            expected,
            "{update} at {replicas}"
        );
    }
    assert_eq!(bounds(deployment(&Strategy::default(), 10)), (3, 2), "RollingUpdate is the default");
}

#[test]
fn recreate_takes_all_pods_away_first() {
    let recreate = deployment(&strategy(json!({"type": "Recreate"})), 3).expect("valid");
    assert_eq!(recreate, Rollout::Recreate);
    assert_eq!(
        (recreate.most_pods(3), recreate.least_available(3), recreate.spare_places_needed(3)),
        (3, 0, 0)
    );
}

#[test]
fn a_rollout_that_may_lose_no_pod_needs_a_spare_place() {
    let rows = [
        (json!({}), 1, 1),
        (json!({}), 3, 1),
        (json!({}), 4, 0),
        (json!({"maxSurge": 2, "maxUnavailable": 0}), 4, 1),
        (json!({"maxSurge": 0, "maxUnavailable": 1}), 1, 0),
        (json!({"maxSurge": 1, "maxUnavailable": 1}), 1, 0),
        (json!({"maxSurge": 1, "maxUnavailable": 0}), 0, 0),
    ];
    for (update, replicas, spare) in rows {
        let rollout = deployment(&rolling(update.clone()), replicas).expect("valid");
        assert_eq!(rollout.spare_places_needed(replicas), spare, "{update} at {replicas}");
    }
}

#[test]
fn a_stateful_set_replaces_in_place() {
    let third = rolling(json!({"maxUnavailable": "34%"}));
    let set = |strategy: &Strategy, replicas, gate| bounds(stateful_set(strategy, replicas, gate));
    assert_eq!(set(&Strategy::default(), 5, true), (0, 1));
    assert_eq!(set(&third, 10, true), (0, 3));
    assert_eq!(set(&third, 2, true), (0, 1), "rounded down, but at least 1");
    assert_eq!(set(&third, 10, false), (0, 1), "the field is ignored while the gate is off");
    assert_eq!(stateful_set(&strategy(json!({"type": "OnDelete"})), 5, true), Ok(Rollout::OnDelete));
    assert_eq!(stateful_set(&Strategy::default(), 5, true).map(|r| r.spare_places_needed(5)), Ok(0));
}

#[test]
fn a_partition_keeps_low_ordinals() {
    let from = |partition: i64| rolling(json!({"partition": partition}));
    for (partition, replicas, updated) in [(0, 5, 5), (3, 5, 2), (5, 5, 0), (9, 5, 0)] {
        assert_eq!(stateful_set_updated(&from(partition), replicas), updated, "{partition} of {replicas}");
    }
    assert_eq!(stateful_set_updated(&Strategy::default(), 5), 5);
}

#[test]
fn a_daemon_set_rounds_both_up() {
    let set = |value: Value, nodes| bounds(daemon_set(&rolling(value), nodes));
    assert_eq!(set(json!({}), 10), (0, 1));
    assert_eq!(set(json!({"maxUnavailable": "15%"}), 10), (0, 2));
    assert_eq!(set(json!({"maxUnavailable": 0, "maxSurge": "15%"}), 10), (2, 0));
    assert_eq!(set(json!({"maxUnavailable": 0, "maxSurge": 0}), 10), (0, 1));
    assert_eq!(set(json!({"maxUnavailable": 0}), 0), (0, 0));
    assert_eq!(daemon_set(&strategy(json!({"type": "OnDelete"})), 3), Ok(Rollout::OnDelete));
}

#[test]
fn strategies_and_bounds_that_cannot_be_followed_are_errors() {
    let blue_green = strategy(json!({"type": "BlueGreen"}));
    assert!(matches!(deployment(&blue_green, 1), Err(RolloutError::Strategy { .. })));
    assert!(matches!(
        stateful_set(&strategy(json!({"type": "Recreate"})), 1, true),
        Err(RolloutError::Strategy { .. })
    ));
    assert!(matches!(daemon_set(&blue_green, 1), Err(RolloutError::Strategy { .. })));
    let error = deployment(&rolling(json!({"maxSurge": "1"})), 1).expect_err("a text without %");
    assert!(error.to_string().starts_with("maxSurge: \"1\" is no percentage"), "{error}");
}

#[test]
fn the_progress_deadline_has_a_default_and_an_off_switch() {
    let deadline = |seconds| {
        progress_deadline(&WorkloadSpec { progress_deadline_seconds: seconds, ..Default::default() })
    };
    assert_eq!(deadline(None), Some(600));
    assert_eq!(deadline(Some(1800)), Some(1800));
    assert_eq!(deadline(Some(2_147_483_647)), None);
    assert_eq!(replicas(&WorkloadSpec::default()), 1);
}

fn any_bound() -> impl Generator<Value = Value> {
    prop_oneof![
        (0i64..8).prop_map(|n| json!(n)),
        (0i64..=100).prop_map(|p| json!(format!("{p}%"))),
        Just(Value::Null)
    ]
}

proptest! {
    #[test]
    fn a_rolling_update_always_can_make_a_step(surge in any_bound(), unavailable in any_bound(), pods in 1i64..100) {
        let written = rolling(json!({"maxSurge": surge, "maxUnavailable": unavailable}));
        for rollout in [deployment(&written, pods), stateful_set(&written, pods, true), daemon_set(&written, pods)] {
            let rollout = rollout.expect("valid bounds");
            prop_assert!(rollout.most_pods(pods) > rollout.least_available(pods));
            prop_assert!(rollout.most_pods(pods) >= pods);
            prop_assert!((0..=pods).contains(&rollout.least_available(pods)));
        }
    }
}
