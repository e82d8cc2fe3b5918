use proptest::prelude::*;

use super::*;

/// `key=value:effect`.
fn taint(key: &str, value: &str, effect: &str) -> Taint {
    Taint { key: key.to_owned(), value: value.to_owned(), effect: effect.to_owned() }
}

fn toleration(key: &str, operator: &str, value: &str, effect: &str) -> Toleration {
    Toleration {
        key: key.to_owned(),
        operator: operator.to_owned(),
        value: value.to_owned(),
        effect: effect.to_owned(),
        toleration_seconds: None,
    }
}

fn for_seconds(seconds: i64, toleration: Toleration) -> Toleration {
    Toleration { toleration_seconds: Some(seconds), ..toleration }
}

#[test]
fn a_toleration_matches_by_effect_then_key_then_operator() {
    let gpu = taint("nvidia.com/gpu", "present", NO_SCHEDULE);
    let rows = [
        (toleration("nvidia.com/gpu", "Equal", "present", NO_SCHEDULE), true),
        (toleration("nvidia.com/gpu", "", "present", NO_SCHEDULE), true),
        (toleration("nvidia.com/gpu", "Equal", "present", ""), true),
        (toleration("nvidia.com/gpu", "Equal", "absent", NO_SCHEDULE), false),
        (toleration("nvidia.com/gpu", "Equal", "", NO_SCHEDULE), false),
        (toleration("nvidia.com/gpu", "Exists", "", NO_SCHEDULE), true),
        (toleration("nvidia.com/gpu", "Exists", "ignored", ""), true),
        (toleration("nvidia.com/gpu", "Exists", "", NO_EXECUTE), false),
        (toleration("nvidia.com/gpu", "Exists", "", PREFER_NO_SCHEDULE), false),
        (toleration("amd.com/gpu", "Exists", "", NO_SCHEDULE), false),
        (toleration("", "Exists", "", ""), true),
        (toleration("", "Exists", "", NO_SCHEDULE), true),
        (toleration("", "Exists", "", NO_EXECUTE), false),
        (toleration("", "Equal", "present", ""), true),
        (toleration("nvidia.com/gpu", "exists", "", ""), false),
        (toleration("nvidia.com/gpu", "In", "present", ""), false),
    ];
    for (toleration, expected) in rows {
        assert_eq!(tolerates(&toleration, &gpu, false), expected, "{toleration:?}");
    }
}

#[test]
fn comparison_is_strict_and_needs_the_gate() {
    let rows = [
        ("Gt", "950", "900", true),
        ("Gt", "900", "900", false),
        ("Gt", "850", "900", false),
        ("Lt", "850", "900", true),
        ("Lt", "900", "900", false),
        ("Lt", "-5", "0", true),
        ("Gt", "0", "-1", true),
        ("Gt", "9223372036854775807", "9223372036854775806", true),
        ("Lt", "-9223372036854775808", "-9223372036854775807", true),
    ];
    for (operator, on_node, tolerated, expected) in rows {
        let sla = taint("node.example.com/sla", on_node, NO_SCHEDULE);
        let compare = toleration("node.example.com/sla", operator, tolerated, NO_SCHEDULE);
        assert_eq!(tolerates(&compare, &sla, true), expected, "{on_node} {operator} {tolerated}");
        assert!(!tolerates(&compare, &sla, false), "the gate is off");
    }
}

#[test]
fn comparison_reads_plain_whole_numbers_only() {
    for odd in
        ["0950", "+950", "-0", " 950", "950 ", "950.0", "9.5e2", "0x3b6", "", "many", "9223372036854775808"]
    {
        let gt = |on_node: &str, tolerated: &str| {
            tolerates(&toleration("k", "Gt", tolerated, ""), &taint("k", on_node, NO_SCHEDULE), true)
        };
        assert!(!gt(odd, "-100"), "taint value {odd:?}");
        assert!(!gt("99999", odd), "toleration value {odd:?}");
    }
}

#[test]
fn the_first_untolerated_taint_in_node_order_is_named() {
    let taints = [
        taint("soft", "", PREFER_NO_SCHEDULE),
        taint("nvidia.com/gpu", "", NO_SCHEDULE),
        taint("maintenance", "tonight", NO_EXECUTE),
    ];
    let gpu = toleration("nvidia.com/gpu", "Exists", "", "");
    let maintenance = for_seconds(60, toleration("maintenance", "Equal", "tonight", NO_EXECUTE));
    let first = |tolerations: &[Toleration]| first_untolerated(&taints, false, tolerations, false);
    assert_eq!(first(&[]), Some(Untolerated::Taint(&taints[1])));
    assert_eq!(first(std::slice::from_ref(&gpu)), Some(Untolerated::Taint(&taints[2])));
    assert_eq!(first(std::slice::from_ref(&maintenance)), Some(Untolerated::Taint(&taints[1])));
    assert_eq!(first(&[gpu, maintenance]), None, "tolerationSeconds play no part in scheduling");
}

#[test]
fn a_taint_that_only_prefers_or_has_no_known_effect_keeps_nobody_off() {
    for effect in [PREFER_NO_SCHEDULE, "", "NoAdmit"] {
        assert_eq!(first_untolerated(&[taint("k", "", effect)], false, &[], false), None, "{effect}");
    }
}

#[test]
fn a_cordoned_node_counts_as_tainted() {
    let cordoned = |tolerations: &[Toleration]| first_untolerated(&[], true, tolerations, true);
    assert_eq!(cordoned(&[]), Some(Untolerated::Unschedulable));
    assert_eq!(cordoned(&[toleration("nvidia.com/gpu", "Exists", "", "")]), Some(Untolerated::Unschedulable));
    assert_eq!(
        cordoned(&[toleration(UNSCHEDULABLE, "Exists", "", NO_EXECUTE)]),
        Some(Untolerated::Unschedulable)
    );
    for tolerant in [
        toleration(UNSCHEDULABLE, "Exists", "", NO_SCHEDULE),
        toleration(UNSCHEDULABLE, "Equal", "", ""),
        toleration("", "Exists", "", ""),
    ] {
        assert_eq!(cordoned(std::slice::from_ref(&tolerant)), None, "{tolerant:?}");
    }
}

#[test]
fn the_shortest_used_toleration_decides_when_a_pod_is_evicted() {
    let taints = [taint("a", "", NO_EXECUTE), taint("b", "", NO_EXECUTE), taint("c", "", NO_SCHEDULE)];
    let exists = |key| toleration(key, "Exists", "", "");
    let rows = [
        (vec![], Some(0)),
        (vec![exists("a")], Some(0)),
        (vec![exists("a"), exists("b")], None),
        (vec![for_seconds(300, exists("a")), exists("b")], Some(300)),
        (vec![for_seconds(300, exists("a")), for_seconds(60, exists("b"))], Some(60)),
        (vec![for_seconds(-5, exists("a")), exists("b")], Some(0)),
        (vec![exists("a"), for_seconds(5, exists("a")), exists("b")], None),
        (vec![exists(""), for_seconds(5, exists("c"))], None),
    ];
    for (tolerations, expected) in rows {
        assert_eq!(seconds_until_eviction(&taints, &tolerations, false), expected, "{tolerations:?}");
    }
    assert_eq!(seconds_until_eviction(&taints[2..], &[], false), None, "NoSchedule evicts nobody");
}

#[test]
fn a_union_keeps_the_first_of_equals() {
    let existing = [for_seconds(60, toleration("a", "", "x", NO_EXECUTE)), toleration("b", "Exists", "", "")];
    let added = [
        for_seconds(300, toleration("a", "Equal", "x", NO_EXECUTE)),
        toleration("b", "Exists", "", NO_SCHEDULE),
        toleration("c", "Exists", "", ""),
        toleration("c", "Exists", "", ""),
    ];
    let expected = [existing[0].clone(), existing[1].clone(), added[1].clone(), added[2].clone()];
    assert_eq!(union(&existing, &added), expected);
}

#[test]
fn a_valid_toleration_has_no_problem() {
    for valid in [
        toleration("nvidia.com/gpu", "Exists", "", NO_SCHEDULE),
        toleration("k", "", "", ""),
        toleration("k", "Equal", "v", PREFER_NO_SCHEDULE),
        toleration("", "Exists", "", ""),
        for_seconds(0, toleration("k", "Exists", "", NO_EXECUTE)),
    ] {
        assert_eq!(problems(&valid, false), [], "{valid:?}");
    }
    assert_eq!(problems(&toleration("k", "Gt", "-5", ""), true), []);
}

#[test]
fn each_mistake_in_a_toleration_is_told() {
    use TolerationProblem::*;
    let text = str::to_owned;
    let value = NameProblem::Characters(names::NamePart::Value);
    let key = NameProblem::Characters(names::NamePart::Name);
    let rows = [
        (toleration("", "", "", ""), vec![KeyMissing]),
        (toleration("", "Equal", "v", ""), vec![KeyMissing]),
        (toleration("a b", "Exists", "", ""), vec![Key { key: text("a b"), problem: key }]),
        (toleration("k", "Equal", "a b", ""), vec![Value { value: text("a b"), problem: value }]),
        (toleration("k", "Exists", "v", ""), vec![UnexpectedValue { value: text("v") }]),
        (toleration("k", "Gt", "5", ""), vec![ComparisonDisabled { operator: text("Gt") }]),
        (toleration("k", "exists", "", ""), vec![Operator { operator: text("exists") }]),
        (toleration("k", "Exists", "", "NoRun"), vec![Effect { effect: text("NoRun") }]),
        (
            for_seconds(5, toleration("k", "Exists", "", "")),
            vec![SecondsWithoutNoExecute { effect: String::new() }],
        ),
        (
            toleration("", "Near", "", "X"),
            vec![KeyMissing, Operator { operator: text("Near") }, Effect { effect: text("X") }],
        ),
    ];
    for (toleration, expected) in rows {
        assert_eq!(problems(&toleration, false), expected, "{toleration:?}");
    }
    assert_eq!(problems(&toleration("k", "Lt", "007", ""), true), [NotAnInteger { value: text("007") }]);
}

fn any_toleration() -> impl Strategy<Value = Toleration> {
    let operator = prop::sample::select(vec!["", "Equal", "Exists", "Gt", "Lt", "Near"]);
    let effect = prop::sample::select(vec!["", NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE]);
    ("[ab]?", operator, "[0-2]?", effect)
        .prop_map(|(key, operator, value, effect)| toleration(&key, operator, &value, effect))
}

fn any_taint() -> impl Strategy<Value = Taint> {
    let effect = prop::sample::select(vec![NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE]);
    ("[ab]", "[0-2]?", effect).prop_map(|(key, value, effect)| taint(&key, &value, effect))
}

proptest! {
    #[test]
    fn more_tolerations_never_keep_a_pod_off(
        taints in prop::collection::vec(any_taint(), 0..4),
        some in prop::collection::vec(any_toleration(), 0..3),
        more in prop::collection::vec(any_toleration(), 0..3),
        cordoned: bool,
        gate: bool,
    ) {
        let all = union(&some, &more);
        if first_untolerated(&taints, cordoned, &some, gate).is_none() {
            prop_assert_eq!(first_untolerated(&taints, cordoned, &all, gate), None);
        }
        prop_assert_eq!(union(&all, &some), all);
    }
}
