//! What makes Pods, platform by platform: fixtures as those of `cases`, in `tests/fixtures/workloads/`, each with
//! its variants and with the same object made right.

use crate::cases::{fixture, problems, still_raised};

#[test]
fn each_workload_is_decided_as_its_fixture_says() {
    let fixtures = fixture::of("workloads");
    assert!(!fixtures.is_empty(), "no fixture");
    let wrong: Vec<String> = fixtures.iter().flat_map(problems).collect();
    assert!(wrong.is_empty(), "{} differ\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn made_right_it_raises_nothing_of_the_rule() {
    let wrong: Vec<String> = fixture::of("workloads").iter().filter_map(still_raised).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}
