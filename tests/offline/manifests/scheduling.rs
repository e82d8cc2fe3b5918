//! Scheduler configurations: each value that, otherwise set, has cost somebody a day.

use std::collections::BTreeSet;

use serde_json::Value;
use sluice::{cli::manifests::gpu_resources, gpu::is_gpu_like, serve::Limits};

use super::{items, parse, shipped};
use crate::sources;

/// What is wrong with the extenders of a KubeSchedulerConfiguration, one line each.
fn complaints(configuration: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for extender in items(&configuration["extenders"]) {
        let mut say = |what: &str| found.push(what.to_owned());
        if extender["nodeCacheCapable"] != true {
            say("with whole Nodes, in-tree scoring takes every node for empty");
        }
        if !extender["bindVerb"].is_null() {
            say("binding is the scheduler's");
        }
        if extender["ignorable"] != false {
            say("fails open");
        }
        if extender["weight"].as_i64().is_none_or(|weight| weight < 1) {
            say("no weight");
        }
        let timeout = extender["httpTimeout"].as_str().and_then(|text| text.strip_suffix('s')?.parse().ok());
        if timeout.is_none_or(|seconds: u64| !(1..=2).contains(&seconds)) {
            say("a timeout of 1 or 2 seconds: scheduling is serial");
        }
        let url = extender["urlPrefix"].as_str().unwrap_or_default();
        let has_ca = ["caFile", "caData"].iter().any(|ca| !extender["tlsConfig"][ca].is_null());
        let is_private = url.starts_with("http://127.0.0.1:") || url.starts_with("https://") && has_ca;
        if !is_private {
            say("neither loopback nor verified TLS");
        }
        if extender["enableHTTPS"] == true && !has_ca {
            say("enableHTTPS without a CA switches verification off");
        }
    }
    found
}

fn configurations() -> Vec<(String, Value)> {
    let files = sources::below("deploy", ".yaml").into_iter();
    let documents =
        files.flat_map(|file| parse(&file.path, &file.text).into_iter().map(move |d| (file.path.clone(), d)));
    documents.filter(|(_, document)| document["kind"] == "KubeSchedulerConfiguration").collect()
}

#[test]
fn shipped_extenders_are_asked_by_name_and_never_skipped() {
    let configurations = configurations();
    assert_eq!(configurations.len(), 2);
    for (path, configuration) in &configurations {
        assert_eq!(items(&configuration["extenders"]).count(), 1, "{path}");
        assert_eq!(complaints(configuration), [""; 0], "{path}");
    }
}

#[test]
fn an_extender_that_ruins_scores_or_stalls_the_scheduler_is_complained_of() {
    let ruining = "
apiVersion: kubescheduler.config.k8s.io/v1
kind: KubeSchedulerConfiguration
extenders:
- urlPrefix: https://gpu-policy-extender.gpu-policy-system.svc/scheduler
  filterVerb: filter
  bindVerb: bind
  enableHTTPS: true
  httpTimeout: 30s
  nodeCacheCapable: false
  ignorable: true
";
    let found = complaints(&parse("a sample", ruining)[0]);
    assert_eq!(
        found,
        [
            "with whole Nodes, in-tree scoring takes every node for empty",
            "binding is the scheduler's",
            "fails open",
            "no weight",
            "a timeout of 1 or 2 seconds: scheduling is serial",
            "neither loopback nor verified TLS",
            "enableHTTPS without a CA switches verification off",
        ]
    );
}

#[test]
fn the_extender_gives_up_no_later_than_the_scheduler_does() {
    for (path, configuration) in configurations() {
        for extender in items(&configuration["extenders"]) {
            let want = format!("{}s", Limits::default().extender_timeout.as_secs());
            assert_eq!(extender["httpTimeout"], want, "{path}");
        }
    }
}

#[test]
fn every_verb_that_is_configured_is_served() {
    let router = sources::read("src/serve/router.rs");
    for (path, configuration) in configurations() {
        for extender in items(&configuration["extenders"]) {
            for verb in ["filterVerb", "prioritizeVerb", "preemptVerb"] {
                let Some(verb) = extender[verb].as_str() else { continue };
                assert!(router.contains(&format!("\"/scheduler/{verb}\"")), "{path}: {verb}");
            }
            assert!(extender["urlPrefix"].as_str().is_some_and(|url| url.ends_with("/scheduler")), "{path}");
        }
    }
}

#[test]
fn managed_resources_are_gpus_and_only_gpus() {
    let names = gpu_resources();
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), names.len(), "validated to be unique");
    for known in ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "amd.com/gpu"] {
        assert!(names.iter().any(|name| name == known), "{known}");
    }
    for name in &names {
        assert!(is_gpu_like(name), "{name}");
    }
}

#[test]
fn the_second_scheduler_has_a_name_and_a_lease_of_its_own() {
    let (_, configuration) =
        configurations().into_iter().find(|(path, _)| path.contains("base/")).expect("a second scheduler");
    let name = &configuration["profiles"][0]["schedulerName"];
    assert_eq!(name, "sluice-scheduler");
    let election = &configuration["leaderElection"];
    assert_eq!((&election["leaderElect"], &election["resourceName"]), (&Value::Bool(true), name));
    let lease = shipped("Role").into_iter().find(|role| super::name(role) == "sluice-scheduler-lease");
    let lease = lease.expect("a Role for the lease");
    assert_eq!(lease["rules"][1]["resourceNames"][0], *name);
    assert_eq!(election["resourceNamespace"], "sluice-system");
}
