//! Manifests as charts and guides of public projects make them: on a cluster where they fit, none is refused, and
//! each warning is one that is meant. Each has a broken twin, one thing of it made wrong, that is seen.
//!
//! Written anew from what the projects' pages describe. `SLUICE_CASE=tei` judges only those whose name has that.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    sync::Arc,
};

use serde::Deserialize;
use serde_json::Value;
use sluice::{
    cluster::{Cluster, Kind},
    decide::{Decision, Verdict, decide},
    k8s::yaml,
    policy::{self, Severity},
    rules,
    subject::{Facts, Kinds, Reading, read_as},
    world::World,
};

use crate::cases::{fixture::chosen, setting::NOW};
use crate::sources;

/// What one project makes.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Real {
    name: String,
    #[allow(dead_code, reason = "for the reader")]
    like: String,
    /// Rules that warn, each with why that is right.
    #[serde(default)]
    warns: BTreeMap<String, String>,
    objects: Vec<Value>,
    broken: Vec<Broken>,
}

/// One thing made wrong.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Broken {
    about: String,
    /// JSON Patch of the list of objects.
    patch: Value,
    /// The rule that speaks of it, aloud.
    rule: String,
}

#[test]
fn nothing_real_is_refused_and_every_warning_is_meant() {
    let all = all();
    let mut wrong = Vec::new();
    for real in &all {
        let decisions = judge(&real.objects);
        let spoken = spoken(&decisions);
        let meant: BTreeSet<&str> = real.warns.keys().map(String::as_str).collect();
        let refused = decisions.iter().any(|decision| decision.verdict == Verdict::Deny);
        if refused || spoken != meant {
            wrong.push(format!("{}: warns of {spoken:?}, meant {meant:?}\n{}", real.name, told(&decisions)));
        }
    }
    assert!(chosen().is_some() || all.len() >= 25, "only {} manifests", all.len());
    assert!(wrong.is_empty(), "{} differ\n\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_broken_twin_of_each_is_seen() {
    let mut wrong = Vec::new();
    for real in all() {
        assert!(!real.broken.is_empty(), "{} has no broken twin", real.name);
        for broken in real.broken {
            let mut objects = Value::Array(real.objects.clone());
            let patch: json_patch::Patch = serde_json::from_value(broken.patch).expect("a JSON Patch");
            json_patch::patch(&mut objects, &patch).unwrap_or_else(|e| panic!("{}: {e}", real.name));
            let decisions = judge(objects.as_array().expect("a list"));
            assert!(rules::find(&broken.rule).is_some(), "{}: no rule {}", real.name, broken.rule);
            if !spoken(&decisions).contains(&*broken.rule) || real.warns.contains_key(&broken.rule) {
                let told = told(&decisions);
                wrong.push(format!("{} ({}): nothing of {}\n{told}", real.name, broken.about, broken.rule));
            }
        }
    }
    assert!(wrong.is_empty(), "{} are not seen\n\n{}", wrong.len(), wrong.join("\n"));
}

fn all() -> Vec<Real> {
    let mut all = Vec::new();
    for file in sources::below("tests/fixtures/real", ".yaml") {
        if file.path.ends_with("/cluster.yaml") {
            continue;
        }
        for document in yaml::documents(&file.text) {
            let value = document.unwrap_or_else(|e| panic!("{}: {e}", file.path)).value;
            let read: Vec<Real> =
                serde_path_to_error::deserialize(&value).unwrap_or_else(|e| panic!("{}: {e}", file.path));
            all.extend(read);
        }
    }
    all.retain(|real| chosen().is_none_or(|part| real.name.contains(&part)));
    all
}

/// Judges as `check` does: what is given together sees each other.
fn judge(objects: &[Value]) -> Vec<Decision> {
    let path = sources::root().join("tests/fixtures/real/cluster.yaml");
    let text = fs::read_to_string(path).expect("the cluster");
    let nodes = yaml::documents(&text).map(|document| document.expect("YAML").value);
    let cluster = Cluster::from_documents(nodes).expect("a readable picture");
    let kind_of = |object: &Value| Kind::of(object["apiVersion"].as_str()?, object["kind"].as_str()?);
    let others = objects.iter().filter(|object| kind_of(object).is_some_and(|kind| kind != Kind::Pod));
    let cluster = cluster.with_objects(others).expect("readable objects");
    let world = World::new(Arc::new(policy::built_in(&rules::ids())), cluster);
    let kinds = Kinds { added: &[], search: true };
    let judged = objects.iter().filter_map(|object| {
        match read_as(Arc::new(object.clone()), None, Facts::of_file(NOW), kinds) {
            Reading::Subject(subject) => Some(decide(&world, &subject)),
            Reading::NotOurs => None,
            Reading::Unreadable(why) => panic!("{why}"),
        }
    });
    let judged: Vec<Decision> = judged.collect();
    assert!(judged.iter().any(|decision| decision.relevant), "nothing of it was judged");
    judged
}

/// Rules that warn or refuse.
fn spoken(decisions: &[Decision]) -> BTreeSet<&str> {
    let findings = decisions.iter().flat_map(|decision| &decision.findings);
    findings.filter(|finding| finding.severity > Severity::Audit).map(|finding| finding.rule).collect()
}

fn told(decisions: &[Decision]) -> String {
    let findings = decisions.iter().flat_map(|decision| &decision.findings);
    let loud = findings.filter(|finding| finding.severity > Severity::Audit);
    loud.map(|f| format!("    {} {} {}: {}\n", f.severity, f.rule, f.path, f.message())).collect()
}
