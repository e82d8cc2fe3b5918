//! SARIF 2.1.0 (OASIS): findings at their place in the file, for code-scanning pages and editors.

use serde_json::{Value, json};

use super::json::{FindingResult, ObjectResult};
use crate::{
    policy::Severity,
    rules::{self, Rule},
};

/// The log of one run. Only the rules that found something are described.
#[must_use]
pub fn log(version: &str, results: &[ObjectResult]) -> Value {
    let mut used: Vec<&str> =
        results.iter().flat_map(|result| &result.findings).map(|finding| finding.rule.as_str()).collect();
    used.sort_unstable();
    used.dedup();
    let found: Vec<Value> = results
        .iter()
        .flat_map(|result| result.findings.iter().map(|finding| entry(result, finding, &used)))
        .collect();
    json!({
        "$schema": "https://json.schemastore.org/sarif-2.1.0.json",
        "version": "2.1.0",
        "runs": [{
            "tool": {"driver": {
                "name": "sluice",
                "semanticVersion": version,
                "rules": used.iter().map(|id| describe(id)).collect::<Vec<_>>(),
            }},
            "columnKind": "unicodeCodePoints",
            "results": found,
        }],
    })
}

fn describe(id: &str) -> Value {
    let Some(rule) = rules::find(id) else { return json!({"id": id}) };
    json!({
        "id": id,
        "shortDescription": {"text": rule.summary},
        "fullDescription": {"text": rule.why},
        "help": {"text": help(rule)},
        "defaultConfiguration": {"level": level(rule.severity)},
    })
}

fn help(rule: &Rule) -> String {
    format!("{} `sluice explain {}` tells more.", super::text::sentence(rule.remedy), rule.id)
}

fn entry(result: &ObjectResult, finding: &FindingResult, used: &[&str]) -> Value {
    let object = &result.object;
    let name = format!("{} {}/{}", object.kind, object.namespace, object.name);
    let mut location = json!({
        "logicalLocations": [{"fullyQualifiedName": format!("{name} {}", finding.path), "kind": "member"}],
    });
    if let Some(source) = &result.source {
        location["physicalLocation"] = json!({
            "artifactLocation": {"uri": uri(&source.file)},
            "region": {"startLine": finding.line.unwrap_or(source.line)},
        });
    }
    let mut entry = json!({
        "ruleId": finding.rule,
        "ruleIndex": used.iter().position(|id| *id == finding.rule),
        "level": level(finding.severity),
        "message": {"text": format!("{name}: {}: {}", finding.path, finding.message)},
        "locations": [location],
        "partialFingerprints": {"object/v1": format!("{name}:{}:{}", finding.rule, finding.path)},
    });
    // `external`: outside of what was scanned, as a policy is; `inSource`: in the manifest itself.
    let spared = match (&finding.excepted_by, &finding.suppressed) {
        (Some(exception), _) => Some(("external", format!("PolicyException {exception}"))),
        (None, Some(reason)) => Some(("inSource", reason.clone())),
        (None, None) => None,
    };
    if let Some((kind, justification)) = spared {
        entry["suppressions"] = json!([{"kind": kind, "justification": justification}]);
    }
    entry
}

const fn level(severity: Severity) -> &'static str {
    match severity {
        Severity::Deny => "error",
        Severity::Warn => "warning",
        Severity::Audit => "note",
    }
}

/// A path as a relative reference: what a URI reserves is percent-encoded.
fn uri(path: &str) -> String {
    let mut uri = String::with_capacity(path.len());
    for byte in path.trim_start_matches("./").bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
                uri.push(byte.into())
            }
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}
