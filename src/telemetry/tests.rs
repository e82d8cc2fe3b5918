use std::{collections::BTreeSet, fs, path::Path};

use super::{table::Shape, *};

#[test]
fn every_metric_of_the_table_is_registered_and_none_else() {
    let telemetry = Telemetry::new(Options::default());
    touch_everything(&telemetry);
    let registered: BTreeSet<String> =
        telemetry.registry.gather().iter().map(|family| family.name().to_owned()).collect();
    let table: BTreeSet<String> = table::ALL.iter().map(|metric| metric.name.to_owned()).collect();
    assert_eq!(registered, table);
}

#[test]
fn names_follow_the_conventions_of_prometheus() {
    for metric in table::ALL {
        let (name, counts) = (metric.name, metric.shape == Shape::Counter);
        assert!(name.starts_with("sluice_"), "{name}");
        assert_eq!(name.ends_with("_total"), counts, "{name}: counters, and only they, end in _total");
        if matches!(metric.shape, Shape::Histogram(_)) || name.contains("age") || name.contains("timestamp") {
            assert!(name.ends_with("_seconds"), "{name}: base units");
        }
        assert!(!metric.labels.iter().any(|label| ["pod", "user", "name", "uid"].contains(label)), "{name}");
        assert!(metric.help.ends_with('.'), "{name}: help is a sentence");
    }
}

#[test]
fn the_page_of_metrics_is_the_table() {
    let page = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/metrics.md");
    if std::env::var_os("UPDATE").is_some() {
        fs::write(&page, markdown()).expect("docs/metrics.md can be written");
    }
    let written = fs::read_to_string(&page).unwrap_or_default();
    assert!(written == markdown(), "docs/metrics.md is stale: UPDATE=1 cargo test --lib telemetry");
}

#[test]
fn namespaces_beyond_the_limit_are_counted_as_other() {
    let telemetry = Telemetry::new(Options { most_namespaces: 2, ..Options::default() });
    let labels: Vec<&str> =
        ["a", "b", "c", "a", "d"].into_iter().map(|name| telemetry.namespace_label(name)).collect();
    assert_eq!(labels, ["a", "b", "other", "a", "other"]);
}

#[test]
fn a_request_in_flight_ends_with_its_guard() {
    let telemetry = Telemetry::new(Options::default());
    let line = |n: u32| format!("sluice_requests_in_flight{{endpoint=\"mutate\"}} {n}\n");
    let (first, second) = (telemetry.in_flight(Endpoint::Mutate), telemetry.in_flight(Endpoint::Mutate));
    assert!(telemetry.text().contains(&line(2)));
    drop(first);
    assert!(telemetry.text().contains(&line(1)));
    drop(second);
    assert!(telemetry.text().contains(&line(0)));
}

#[test]
fn only_the_last_revision_is_shown_and_a_failed_load_keeps_it() {
    let telemetry = Telemetry::new(Options::default());
    telemetry.policy_loaded("first", 10);
    telemetry.policy_loaded("second", 20);
    telemetry.policy_failed();
    let text = telemetry.text();
    assert!(text.contains("sluice_policy_info{revision=\"second\"} 1\n"), "{text}");
    assert!(!text.contains("first"), "{text}");
    assert!(text.contains("sluice_policy_reload_success 0\n"), "{text}");
    assert!(text.contains("sluice_policy_reload_timestamp_seconds 20\n"), "{text}");
}

#[test]
fn a_kind_that_we_do_not_judge_gets_no_series_of_its_own() {
    let telemetry = Telemetry::new(Options::default());
    for kind in ["Pod", "Deployment", "Invented1", "Invented2", ""] {
        telemetry.request(&Request {
            endpoint: Endpoint::Validate,
            kind,
            operation: "CREATE",
            outcome: Outcome::Allowed,
            took: std::time::Duration::from_micros(60),
        });
    }
    let text = telemetry.text();
    assert!(text.contains("kind=\"Pod\"") && text.contains("kind=\"Deployment\""), "{text}");
    assert!(text.contains("kind=\"none\"") && !text.contains("Invented"), "{text}");
    assert!(text.contains("kind=\"other\",operation=\"CREATE\",result=\"allowed\"} 2\n"), "{text}");
    assert!(
        text.contains("sluice_request_duration_seconds_bucket{endpoint=\"validate\",le=\"0.00005\"} 0\n")
    );
    assert!(text.contains("sluice_request_duration_seconds_bucket{endpoint=\"validate\",le=\"0.0001\"} 5\n"));
}

/// A series in every family, because a family without series is not gathered.
fn touch_everything(telemetry: &Telemetry) {
    let endpoint = Endpoint::Validate;
    drop(telemetry.in_flight(endpoint));
    telemetry.shed(endpoint, Shed::Bytes);
    telemetry.decided(endpoint, std::time::Duration::ZERO);
    telemetry.waited(endpoint, true);
    telemetry.policy_loaded("r", 1);
    telemetry.certificate_loaded(1);
    telemetry.connection_failed("tls");
    telemetry.connected("main");
    telemetry.picture(Some(1.0), [("nodes", 1)]);
    telemetry.admission_skipped("", None);
    telemetry.waited_for_promises(true);
    telemetry.promises(1);
    telemetry.victim(None);
    telemetry.spared(None, Spared::Loading);
    telemetry.woke(true);
    telemetry.lease(true);
    telemetry.request(&Request {
        endpoint,
        kind: "Pod",
        operation: "",
        outcome: Outcome::Panicked,
        took: std::time::Duration::ZERO,
    });
    telemetry.decisions.with_label_values(&["", "", "", ""]).inc();
    telemetry.fallbacks.with_label_values(&[""]).inc();
    telemetry.findings.with_label_values(&["", "", ""]).inc();
    telemetry.findings_spared.with_label_values(&["", ""]).inc();
    telemetry.refusals.with_label_values(&["", ""]).inc();
}

#[test]
fn a_pod_past_admission_is_counted_once_however_often_the_scheduler_asks() {
    let telemetry = Telemetry::new(Options::default());
    let asked = ["a", "b", "a", "a"].map(|uid| telemetry.admission_skipped(uid, Some("llm")));
    assert_eq!(asked, [true, true, false, false]);
    assert!(telemetry.text().contains("sluice_admission_skipped_total{class=\"llm\"} 2"));
}
