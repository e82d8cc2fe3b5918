//! Report objects of the group `openreports.io` (`v1alpha1`, openreports/reports-api): one for each object, so that
//! dashboards which read those show what `sluice scan` found.

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use super::{
    json::{FindingResult, ObjectReference, VerdictWord},
    scan::{ScanReport, ScanResult},
};
use crate::{policy::Severity, rules};

/// Group and version of the objects.
pub const API_VERSION: &str = "openreports.io/v1alpha1";

/// A Report (or ClusterReport, for cluster-scoped kinds) for each object, at a time in Unix seconds.
pub fn reports(report: &ScanReport, now: i64) -> impl Iterator<Item = Value> {
    report.results.iter().map(move |scan| one(scan, &report.revision, now))
}

fn one(scan: &ScanResult, revision: &str, now: i64) -> Value {
    let object = &scan.result.object;
    let mut results: Vec<Value> =
        scan.result.findings.iter().map(|finding| entry(scan, finding, now)).collect();
    if results.is_empty() {
        results.push(passed(scan, now));
    }
    let count = |word: &str| results.iter().filter(|result| result["result"] == word).count();
    let summary = json!({
        "pass": count("pass"), "fail": count("fail"), "warn": count("warn"), "error": 0, "skip": count("skip"),
    });
    let mut metadata = Map::new();
    metadata.insert("name".to_owned(), name(object).into());
    let kind = if object.namespace.is_empty() { "ClusterReport" } else { "Report" };
    if !object.namespace.is_empty() {
        metadata.insert("namespace".to_owned(), object.namespace.clone().into());
    }
    metadata.insert("labels".to_owned(), json!({"app.kubernetes.io/managed-by": "sluice"}));
    metadata.insert("annotations".to_owned(), json!({"sluice.dev/revision": revision}));
    let mut scope = json!({"apiVersion": object.api_version, "kind": object.kind, "name": object.name});
    if !object.namespace.is_empty() {
        scope["namespace"] = object.namespace.clone().into();
    }
    json!({
        "apiVersion": API_VERSION, "kind": kind, "metadata": metadata, "source": "sluice", "scope": scope,
        "summary": summary, "results": results,
    })
}

/// A name that is the same in every scan: the object's, in short, because names of all kinds share one space.
fn name(object: &ObjectReference) -> String {
    let mut hash = Sha256::new();
    for part in [&object.api_version, &object.kind, &object.namespace, &object.name] {
        hash.update(part.len().to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let short: String = digest.iter().take(6).map(|byte| format!("{byte:02x}")).collect();
    format!("sluice-{}-{short}", object.kind.to_lowercase())
}

fn entry(scan: &ScanResult, finding: &FindingResult, now: i64) -> Value {
    let spared = finding.excepted_by.is_some() || finding.suppressed.is_some();
    // What only audit counts is no failure that anybody is held to.
    let (result, severity) = match finding.severity {
        _ if spared => ("skip", "info"),
        Severity::Deny => ("fail", "high"),
        Severity::Warn => ("warn", "medium"),
        Severity::Audit => ("warn", "info"),
    };
    let mut properties = json!({"path": finding.path, "decision": scan.result.decision});
    let mut put = |key: &str, value: &Option<String>| {
        if let Some(value) = value {
            properties[key] = value.clone().into();
        }
    };
    put("container", &finding.container);
    put("exceptedBy", &finding.excepted_by);
    put("suppressed", &finding.suppressed);
    let category = rules::find(&finding.rule).map_or("", |rule| super::rules_doc::title(rule.family));
    json!({
        "source": "sluice", "policy": scan.policy, "rule": finding.rule, "category": category,
        "severity": severity, "result": result, "scored": true, "timestamp": timestamp(now),
        "message": finding.message, "properties": properties,
    })
}

fn passed(scan: &ScanResult, now: i64) -> Value {
    let message = match scan.result.verdict {
        VerdictWord::Allow => "every rule holds",
        VerdictWord::Warn | VerdictWord::Deny => "nothing to show",
    };
    json!({
        "source": "sluice", "policy": scan.policy, "result": "pass", "scored": true, "timestamp": timestamp(now),
        "message": message, "properties": {"decision": scan.result.decision},
    })
}

fn timestamp(now: i64) -> Value {
    json!({"seconds": now, "nanos": 0})
}
