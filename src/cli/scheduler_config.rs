//! `sluice scheduler-config`: the configuration of a kube-scheduler that asks the extender.

mod managed;

use std::{io::Write, process::ExitCode};

use serde_json::{Value, json};

use self::managed::{Managed, scores_matter};
use super::{manifests, output, world};
use crate::{
    k8s::yaml,
    rules::{self, Applies},
};

/// Print the configuration of a kube-scheduler that asks the extender
///
/// An extender that is not asked costs nothing, and one that is asked about half of the scheduler's
/// throughput. So a resource name is left out of `managedResources` where the extender would let every class
/// onto every node that advertises it; what that leaves unenforced is printed on standard error.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice scheduler-config --context prod --policies policies > scheduler-config.yaml
  sluice scheduler-config --cluster cluster.yaml --url https://127.0.0.1:8444/scheduler --ca-file /etc/sluice/tls/ca.crt")]
pub(super) struct Arguments {
    #[command(flatten)]
    world: world::WorldArguments,
    /// Name by which Pods choose this scheduler, and of its lease
    #[arg(long, value_name = "NAME", default_value = manifests::SCHEDULER)]
    scheduler_name: String,
    /// Namespace of the lease
    #[arg(short, long, value_name = "NS", default_value = manifests::NAMESPACE)]
    namespace: String,
    /// Where the scheduler finds the extender
    #[arg(long, value_name = "URL", default_value = "http://127.0.0.1:8444/scheduler")]
    url: String,
    /// PEM file, on the scheduler's machine, of the authority of the extender's certificate
    #[arg(long, value_name = "FILE")]
    ca_file: Option<String>,
}

/// Weight of our scores beside those of the in-tree plugins, which are normalised to 100 and weighted 1 to 3:
/// our 0 to 10 times this outweighs a single one of them and not all of them together.
const WEIGHT: u32 = 5;
/// Scheduling is serial: one late answer delays every Pod behind it.
const TIMEOUT: &str = "2s";

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let https = arguments.url.starts_with("https://");
    anyhow::ensure!(
        https || arguments.url.starts_with("http://"),
        "{:?} is no URL; give http:// for a loopback port, or https:// with --ca-file",
        arguments.url
    );
    anyhow::ensure!(
        !https || arguments.ca_file.is_some(),
        "https without --ca-file: the scheduler would trust the system's authorities, or nobody checks it"
    );
    let world = arguments.world.world()?;
    let (managed, scores) = (Managed::of(&world), scores_matter(&world));
    let mut out = output::standard();
    write!(out, "{}", yaml::to_text(&configuration(arguments, &managed, scores))?)?;
    out.flush()?;
    for line in explain(&managed, scores) {
        output::say(&line);
    }
    Ok(ExitCode::SUCCESS)
}

fn configuration(arguments: &Arguments, managed: &Managed, scores: bool) -> Value {
    let mut configuration = json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "leaderElection": {
            "leaderElect": true,
            "resourceName": arguments.scheduler_name,
            "resourceNamespace": arguments.namespace,
        },
        // The extender sees what in-tree filters let through; a sample could hold none of the right nodes.
        "profiles": [{"schedulerName": arguments.scheduler_name, "percentageOfNodesToScore": 100}],
    });
    let names = match managed {
        Managed::Everything { .. } => None,
        Managed::Names { names, .. } if names.is_empty() => return configuration,
        Managed::Names { names, .. } => Some(names),
    };
    let mut extender = json!({
        "urlPrefix": arguments.url,
        "filterVerb": "filter",
        "preemptVerb": "preempt",
        // With whole Nodes in-tree scoring takes every node for empty (kubernetes#141781).
        "nodeCacheCapable": true,
        "httpTimeout": TIMEOUT,
        // A GPU Pod waits until the extender is back; skipping it would let the Pod onto any node.
        "ignorable": false,
    });
    if scores {
        extender["prioritizeVerb"] = json!("prioritize");
        extender["weight"] = json!(WEIGHT);
    }
    if let Some(file) = &arguments.ca_file {
        extender["tlsConfig"] = json!({"caFile": file});
    }
    if let Some(names) = names {
        extender["managedResources"] =
            names.iter().map(|name| json!({"name": name, "ignoredByScheduler": false})).collect();
    }
    configuration["extenders"] = json!([extender]);
    configuration
}

/// What is asked, what is not, and what nobody enforces then.
fn explain(managed: &Managed, scores: bool) -> Vec<String> {
    let mut lines = explain_names(managed);
    if !scores {
        lines.push(
            "note: prioritizeVerb is left out: no class prefers one of its nodes to another, and being asked costs as much again as the filter"
                .to_owned(),
        );
    }
    lines
}

fn explain_names(managed: &Managed) -> Vec<String> {
    match managed {
        Managed::Everything { because } => {
            vec![format!("note: the extender is asked about every Pod of this scheduler: {because}")]
        }
        Managed::Names { names, omitted } => {
            let mut lines: Vec<String> = omitted
                .iter()
                .map(|(name, why)| format!("note: {name} is left out of managedResources: {why}"))
                .collect();
            if !omitted.is_empty() {
                lines.push(format!(
                    "note: for Pods that ask for nothing but what is left out nobody enforces, when they are placed: {}",
                    node_rules().join(", ")
                ));
                lines.push(
                    "note: a Pod that came in while the webhooks were away is placed as it was written"
                        .to_owned(),
                );
            }
            if names.is_empty() {
                lines.push(
                    "note: no name is left, so no extender is configured; an empty list would mean every Pod"
                        .to_owned(),
                );
            }
            lines
        }
    }
}

fn node_rules() -> Vec<&'static str> {
    rules::ALL.iter().filter(|rule| rule.applies == Applies::Nodes).map(|rule| rule.id).collect()
}

#[cfg(test)]
mod tests;
