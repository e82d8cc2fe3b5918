//! Who is spared: exceptions and suppressions are honoured alike at every stage (the two webhooks, the extender,
//! `check`, `test` and `scan` all ask `decide`), and by the time that the edge gives.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice::{
    cluster::Cluster,
    decide::{Decision, Verdict, decide},
    policy::{self, PolicySet, Severity, SourceFile, Term},
    rules,
    subject::{Facts, Reading, Stage, read},
    telemetry::{self, Judged, Telemetry},
    world::World,
};

use crate::sources;

const STAGES: [Stage; 4] = [Stage::Mutate, Stage::Validate, Stage::Schedule, Stage::Check];
const RULE: &str = "request-limit-mismatch";
/// The first second at which the exception is void: 2027-04-01 in UTC.
const END: i64 = 1_806_537_600;

fn set(suppressible: &str) -> PolicySet {
    let file = |path: &str, text: String| SourceFile { path: path.to_owned(), text };
    let exception = sources::read("policies/tests/exceptions/policies/exception.yaml");
    let policy = format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: p}}\nspec: {{action: deny, suppressible: \
         [{suppressible}]}}\n"
    );
    policy::compile(&[file("e.yaml", exception), file("p.yaml", policy)], "r", &rules::ids()).expect("sound")
}

fn pod(namespace: &str, annotations: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "a", "namespace": namespace, "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "vllm/vllm-openai",
            "resources": {"requests": {"nvidia.com/gpu": 1}, "limits": {"nvidia.com/gpu": 2}}}]}})
}

fn judged(set: PolicySet, object: &Value, stage: Stage, now: i64) -> Decision {
    let facts = Facts { now, ..Facts::new(stage) };
    let Reading::Subject(subject) = read(Arc::new(object.clone()), None, facts) else { panic!("a Pod") };
    decide(&World::new(Arc::new(set), Cluster::none()), &subject)
}

/// Severity of the rule, the exception and the suppression by which it is lowered.
fn found(decision: &Decision) -> (Severity, Option<String>, Option<String>) {
    let finding =
        decision.findings.iter().find(|finding| finding.rule == RULE).expect("it is found, spared or not");
    (finding.severity, finding.excepted_by.as_ref().map(ToString::to_string), finding.suppressed.clone())
}

#[test]
fn an_exception_holds_at_every_stage_until_its_end_and_for_nobody_else() {
    for stage in STAGES {
        let of = |namespace: &str, now| judged(set(""), &pod(namespace, json!({})), stage, now);
        let by = Some("speech-migration".to_owned());
        assert_eq!(found(&of("team-speech", END - 1)), (Severity::Audit, by, None), "{stage:?}");
        for (namespace, now) in [("team-speech", END), ("team-other", END - 1)] {
            assert_eq!(found(&of(namespace, now)), (Severity::Deny, None, None), "{stage:?} {namespace}");
            assert_eq!(of(namespace, now).verdict, Verdict::Deny);
        }
    }
}

#[test]
fn a_suppression_holds_at_every_stage_where_the_policy_lets_it() {
    let reason = "the engine takes one";
    let object = pod("a", json!({"sluice.dev/suppress": format!("{RULE}: {reason}")}));
    for stage in STAGES {
        let allowed = judged(set(RULE), &object, stage, 0);
        assert_eq!(found(&allowed), (Severity::Audit, None, Some(reason.to_owned())), "{stage:?}");
        assert!(!allowed.findings.iter().any(|finding| finding.rule == "suppression-void"), "{stage:?}");
        for (set, object) in [
            (set(""), object.clone()),
            (set("grace-too-short"), object.clone()),
            (set(RULE), pod("a", json!({"sluice.dev/suppress": RULE}))),
            (set(RULE), pod("a", json!({"sluice.dev/suppress": "request-limit: so"}))),
        ] {
            let refused = judged(set, &object, stage, 0);
            assert_eq!(found(&refused), (Severity::Deny, None, None), "{stage:?}");
            let void = refused.findings.iter().find(|finding| finding.rule == "suppression-void");
            assert_eq!(void.map(|finding| finding.severity), Some(Severity::Warn), "{stage:?}");
        }
    }
}

#[test]
fn the_end_of_an_exception_is_told_two_weeks_ahead() {
    const DAY: i64 = 24 * 3600;
    let set = set("");
    let exception = &set.exceptions[0];
    for (now, term) in [
        (END - 15 * DAY, Term::Holds),
        (END - 14 * DAY, Term::Ends(14)),
        (END - 1, Term::Ends(1)),
        (END, Term::Expired(0)),
        (END + 3 * DAY, Term::Expired(3)),
    ] {
        assert_eq!(exception.term(now), term, "{now}");
    }
    let told = |now| sluice::report::table::exceptions(&set, now);
    assert_eq!(told(END - 15 * DAY), Vec::<String>::new());
    assert_eq!(
        told(END - DAY),
        [
            "exception speech-migration ends within 1 day (team-speech@example.com: the chart is mended with the next release)"
        ]
    );
    assert!(told(END + 2 * DAY)[0].starts_with("exception speech-migration is void since 2 days ("));
}

#[test]
fn what_is_spared_is_counted_by_what_spares_it() {
    let telemetry = Telemetry::new(telemetry::Options::default());
    let suppressed = pod("a", json!({"sluice.dev/suppress": format!("{RULE}: so")}));
    for object in [&pod("team-speech", json!({})), &suppressed, &pod("a", json!({}))] {
        let facts = Facts::new(Stage::Validate);
        let Reading::Subject(subject) = read(Arc::new(object.clone()), None, facts) else { panic!("a Pod") };
        let decision = decide(&World::new(Arc::new(set(RULE)), Cluster::none()), &subject);
        telemetry.judged(&Judged { subject: &subject, decision: &decision, mode: None });
    }
    let text = telemetry.text();
    for by in ["exception", "suppression"] {
        let line = format!("sluice_findings_spared_total{{by=\"{by}\",rule=\"{RULE}\"}} 1\n");
        assert!(text.contains(&line), "{line}{text}");
    }
}
