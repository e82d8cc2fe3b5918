use std::sync::Arc;

use serde_json::{Value, json};

use super::*;
use crate::{
    decide::{Recognized, decide},
    rules::{Candidate, Edit},
    subject::{Facts, Reading, read},
    world::World,
};

fn subject(object: Value) -> Subject {
    match read(Arc::new(object), None, Facts { now: 160, ..Facts::of_file(0) }) {
        Reading::Subject(subject) => *subject,
        other => panic!("not a subject: {other:?}"),
    }
}

fn pod() -> Subject {
    subject(json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"namespace": "ml", "name": "chat"}}))
}

/// An LLM's decision with nothing found; each test adds what it is about.
fn decision(subject: &Subject) -> Decision {
    let world = World::new(Arc::default(), crate::cluster::Cluster::none());
    let mut decision = decide(&world, subject);
    decision.id = "d41d8c".into();
    decision.revision = "abc1234".into();
    decision.class = Some(Recognized { class: "llm".into(), by: "image vllm/vllm-openai".into() });
    decision.action = Severity::Deny;
    decision.findings.clear();
    decision.changes.clear();
    decision
}

fn finding(rule: &'static str, severity: Severity) -> Finding {
    Finding {
        rule,
        severity,
        path: "spec.containers[0].resources".into(),
        container: Some("server".into()),
        is: "requests 1, limits 2".into(),
        should: "equal".into(),
        remedy: "set both to 2".into(),
        on_absence: false,
        excepted_by: None,
        suppressed: None,
    }
}

#[test]
fn a_refusal_names_object_class_every_problem_and_where_to_read_on() {
    let pod = pod();
    let mut decision = decision(&pod);
    decision.findings = vec![
        finding("request-limit-mismatch", Severity::Deny),
        finding("readiness-not-model-aware", Severity::Warn),
        Finding {
            container: None,
            path: "spec.nodeName".into(),
            ..finding("nodename-bypass", Severity::Deny)
        },
    ];
    assert_eq!(
        refusal(&pod, &decision),
        "sluice refused Pod ml/chat (class llm, by image vllm/vllm-openai): 2 problems\n\
         request-limit-mismatch  spec.containers[0].resources (container server): \
         is requests 1, limits 2; should be equal; fix: set both to 2\n\
         nodename-bypass  spec.nodeName: is requests 1, limits 2; should be equal; fix: set both to 2\n\
         sluice explain request-limit-mismatch · decision d41d8c"
    );
}

#[test]
fn a_refusal_without_class_says_so_and_a_cluster_scoped_object_has_no_slash() {
    let pod = pod();
    let mut without = decision(&pod);
    without.class = None;
    without.findings = vec![finding("limit-missing", Severity::Deny)];
    assert!(
        refusal(&pod, &without).starts_with("sluice refused Pod ml/chat (no class recognised): 1 problem\n")
    );

    let node = subject(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "gpu-1"}}));
    assert!(refusal(&node, &without).starts_with("sluice refused Node gpu-1: 1 problem\n"));
}

#[test]
fn the_eleventh_problem_is_counted_not_spelled_out() {
    let pod = pod();
    let mut decision = decision(&pod);
    decision.findings = vec![finding("limit-missing", Severity::Deny); 10];
    assert_eq!(refusal(&pod, &decision).lines().count(), 12);
    decision.findings.extend(vec![finding("limit-missing", Severity::Deny); 2]);
    let text = refusal(&pod, &decision);
    assert_eq!(text.lines().count(), 13);
    assert!(text.contains("12 problems") && text.contains("\nand 2 more\nsluice explain"), "{text}");
}

#[test]
fn what_a_user_wrote_cannot_add_lines_or_drown_the_rest() {
    let pod = pod();
    let mut decision = decision(&pod);
    let forged = Finding { is: "x\n\u{1b}[31mforged".into(), ..finding("limit-missing", Severity::Deny) };
    let long = Finding { is: "ü".repeat(5000), ..finding("limit-missing", Severity::Deny) };
    decision.findings = vec![forged, long];
    let text = refusal(&pod, &decision);
    assert_eq!(text.lines().count(), 4);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'));
    assert!(text.lines().all(|line| line.chars().count() <= LINE_CHARS));
}

#[test]
fn a_short_finding_is_one_warning_and_a_long_one_has_its_fix_on_a_second() {
    let pod = pod();
    let mut decision = decision(&pod);
    let short = Finding {
        path: "spec".into(),
        container: None,
        is: "a".into(),
        should: "b".into(),
        remedy: "c".into(),
        ..finding("pdb-blocks-drain", Severity::Warn)
    };
    let long = Finding {
        should: "equal to each other".into(),
        ..finding("readiness-not-model-aware", Severity::Warn)
    };
    decision.findings = vec![short, long];
    assert_eq!(
        warnings(&decision),
        [
            "pdb-blocks-drain spec: is a; should be b; fix: c",
            "readiness-not-model-aware spec.containers[0].resources (container server): \
             is requests 1, limits 2; should be equal to…",
            "readiness-not-model-aware fix: set both to 2",
        ]
    );
}

#[test]
fn warnings_stay_under_120_characters_on_one_line_and_are_not_without_end() {
    let pod = pod();
    let mut decision = decision(&pod);
    let wild = Finding { is: "ü\n".repeat(300), ..finding("limit-missing", Severity::Warn) };
    decision.findings = vec![wild; 40];
    let warnings = warnings(&decision);
    assert_eq!(warnings.len(), WARNINGS);
    for warning in &warnings {
        assert!(warning.chars().count() < 120 && !warning.chars().any(char::is_control), "{warning}");
    }
    assert!(warnings.iter().map(|w| w.chars().count()).sum::<usize>() < 4096);
    assert!(warnings.last().is_some_and(|w| w.starts_with("and 51 more")), "{:?}", warnings.last());
}

#[test]
fn only_a_warning_policy_tells_what_it_would_change_and_never_the_stamp() {
    let pod = pod();
    let mut decision = decision(&pod);
    let change = |rule| Change {
        rule,
        path: "spec.tolerations".into(),
        why: "pool h100 is tainted".into(),
        edit: Edit::Remove(vec![]),
    };
    decision.changes = vec![change("toleration-added"), change(STAMP)];
    assert_eq!(warnings(&decision), Vec::<String>::new());
    decision.action = Severity::Warn;
    assert_eq!(warnings(&decision), ["toleration-added would change spec.tolerations: pool h100 is tainted"]);
    decision.action = Severity::Audit;
    assert_eq!(warnings(&decision), Vec::<String>::new());
}

#[test]
fn audit_annotations_carry_what_was_decided_and_how_old_the_picture_was() {
    let pod = pod();
    let mut decision = decision(&pod);
    decision.as_of = Some(157);
    decision.findings = vec![finding("limit-missing", Severity::Audit); 2];
    decision.candidates = vec![Candidate { pool: "h100".into(), rank: 0, resource: "nvidia.com/gpu".into() }];
    let annotations = audit_annotations(&pod, &decision);
    let expected = [
        ("action", "deny"),
        ("class", "llm"),
        ("decision", "d41d8c"),
        ("picture-age-seconds", "3"),
        ("pools", "h100"),
        ("revision", "abc1234"),
        ("rules", "limit-missing"),
        ("verdict", "allow"),
    ];
    assert!(annotations.iter().map(|(k, v)| (*k, v.as_str())).eq(expected), "{annotations:?}");
    decision.as_of = None;
    assert!(!audit_annotations(&pod, &decision).contains_key("picture-age-seconds"));
}
