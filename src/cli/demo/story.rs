//! The way of one Pod: what an API server and a scheduler would ask, asked of the real server.

use std::{collections::BTreeSet, sync::Arc};

use anyhow::Context;
use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::{Value, json};

use super::client::Client;
use crate::{
    cli::{cases::Seen, judge},
    decide::{Decision, STAMP, decide},
    report::json::{FitWord, NodeResult},
    subject::{Facts, Reading, Stage, Subject, read, stamp},
    world::World,
};

/// What happened to a Pod.
pub(super) struct Story {
    /// The Pod as it came.
    pub subject: Box<Subject>,
    /// The decision that the server took, taken again here for its reasons.
    pub decision: Decision,
    /// Warnings, as kubectl would show them.
    pub warnings: Vec<String>,
    /// The refusal in full.
    pub refusal: Option<String>,
    /// Every node and what the extender says of it; empty for a refused Pod.
    pub nodes: Vec<NodeResult>,
    /// What is compared.
    pub seen: Seen,
}

/// Sends a Pod through `/mutate`, `/validate` and, unless it is refused, the extender.
///
/// # Errors
/// Where the server does not answer as the API wants it.
pub(super) async fn tell(client: &Client, world: &World, pod: &Value) -> anyhow::Result<Story> {
    let subject = subject(pod)?;
    let decision = decide(world, &subject);
    let mutated = admit(client, "/mutate", pod).await?;
    let changed = mutated.patched(pod)?;
    let validated = admit(client, "/validate", &changed).await?;
    let refusal = mutated.refusal().or_else(|| validated.refusal());
    let mut warnings = mutated.warnings();
    warnings.extend(validated.warnings());
    let mut told = BTreeSet::new();
    // The API server shows equal warnings once.
    warnings.retain(|warning| told.insert(warning.clone()));
    let nodes = if refusal.is_none() { ask_nodes(client, world, &changed).await? } else { Vec::new() };
    let mut seen = seen(&changed, &decision, refusal.as_deref(), &warnings, &nodes);
    seen.patch = mutated.operations()?;
    Ok(Story { subject, decision, warnings, refusal, nodes, seen })
}

/// The answer to an AdmissionReview.
struct Answer(Value);

async fn admit(client: &Client, path: &str, pod: &Value) -> anyhow::Result<Answer> {
    let review = review(pod);
    let mut answer = client.post(path, &review).await?;
    let response = answer["response"].take();
    anyhow::ensure!(response["uid"] == review["request"]["uid"], "{path} answers another request");
    Ok(Answer(response))
}

/// What an API server would send for the creation of a Pod.
pub(super) fn review(pod: &Value) -> Value {
    let name = pod.pointer("/metadata/name");
    json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "00000000-0000-4000-8000-000000000001",
            "kind": {"group": "", "version": "v1", "kind": "Pod"},
            "resource": {"group": "", "version": "v1", "resource": "pods"},
            "operation": "CREATE",
            "namespace": pod.pointer("/metadata/namespace"),
            "name": name,
            "userInfo": {"username": "demo", "groups": ["system:authenticated"]},
            "object": pod,
            "oldObject": null,
            "dryRun": false,
            "options": null,
        },
    })
}

impl Answer {
    fn operations(&self) -> anyhow::Result<Vec<Value>> {
        let Some(patch) = self.0["patch"].as_str() else { return Ok(Vec::new()) };
        let patch = BASE64_STANDARD.decode(patch).context("the patch is no base64")?;
        serde_json::from_slice(&patch).context("the patch is no list")
    }

    fn patched(&self, pod: &Value) -> anyhow::Result<Value> {
        let mut pod = pod.clone();
        let patch = Value::Array(self.operations()?);
        let patch: json_patch::Patch = serde_json::from_value(patch).context("the patch is no patch")?;
        json_patch::patch(&mut pod, &patch).context("the patch cannot be applied")?;
        Ok(pod)
    }

    fn refusal(&self) -> Option<String> {
        let allowed = self.0["allowed"].as_bool().unwrap_or(false);
        (!allowed).then(|| self.0["status"]["message"].as_str().unwrap_or("no reason given").to_owned())
    }

    fn warnings(&self) -> Vec<String> {
        let warnings = self.0["warnings"].as_array().into_iter().flatten();
        warnings.filter_map(|warning| warning.as_str().map(str::to_owned)).collect()
    }
}

async fn ask_nodes(client: &Client, world: &World, pod: &Value) -> anyhow::Result<Vec<NodeResult>> {
    let names: Vec<&str> = world.cluster.nodes().map(|node| &*node.name).collect();
    let arguments = |names: &[&str]| json!({"Pod": pod, "Nodes": null, "NodeNames": names});
    let filtered = client.post("/scheduler/filter", &arguments(&names)).await?;
    let error = filtered["Error"].as_str().unwrap_or_default();
    anyhow::ensure!(error.is_empty(), "/scheduler/filter: {error}");
    let kept = filtered["NodeNames"].as_array().into_iter().flatten();
    let kept: Vec<&str> = kept.filter_map(Value::as_str).collect();
    let scores = client.post("/scheduler/prioritize", &arguments(&kept)).await?;
    let score = |name: &str| {
        let mut scores = scores.as_array().into_iter().flatten();
        scores.find(|score| score["Host"] == name).and_then(|score| score["Score"].as_i64())
    };
    Ok(names
        .iter()
        .map(|name| {
            let reason = |map: &str| filtered[map][name].as_str().map(str::to_owned);
            let (busy, never) = (reason("FailedNodes"), reason("FailedAndUnresolvableNodes"));
            let fit = match (&busy, &never) {
                (None, None) => FitWord::Yes,
                (Some(_), _) => FitWord::Busy,
                (None, Some(_)) => FitWord::Never,
            };
            NodeResult {
                name: (*name).to_owned(),
                fit,
                rule: None,
                reason: busy.or(never),
                score: score(name),
                score_parts: None,
            }
        })
        .collect())
}

fn subject(pod: &Value) -> anyhow::Result<Box<Subject>> {
    let facts = Facts { now: judge::now(), ..Facts::new(Stage::Mutate) };
    match read(Arc::new(pod.clone()), None, facts) {
        Reading::Subject(subject) => Ok(subject),
        Reading::NotOurs => anyhow::bail!("the object is not of a kind that is judged"),
        Reading::Unreadable(why) => anyhow::bail!("{why}"),
    }
}

/// What came over the wire; of the decision only which rules changed something.
fn seen(
    pod: &Value,
    decision: &Decision,
    refusal: Option<&str>,
    warnings: &[String],
    nodes: &[NodeResult],
) -> Seen {
    let stamped = |key: &str| pod["metadata"]["annotations"][key].as_str().unwrap_or_default();
    let first_word = |line: &str| line.split_whitespace().next().map(str::to_owned);
    let is_rule = |word: &String| crate::rules::find(word).is_some();
    let lines = refusal.into_iter().flat_map(str::lines).chain(warnings.iter().map(String::as_str));
    let verdict = match (refusal, warnings) {
        (Some(_), _) => "deny",
        (None, []) => "allow",
        (None, _) => "warn",
    };
    let fitting = nodes.iter().filter(|node| node.fit == FitWord::Yes);
    Seen {
        verdict: verdict.to_owned(),
        class: stamped(stamp::CLASS).to_owned(),
        pools: stamped(stamp::POOLS).split(',').filter(|pool| !pool.is_empty()).map(str::to_owned).collect(),
        rules: lines.filter_map(first_word).filter(is_rule).collect(),
        changes: decision
            .applied_changes()
            .map(|change| change.rule.to_owned())
            .filter(|rule| rule != STAMP)
            .collect(),
        nodes: refusal.is_none().then(|| fitting.map(|node| node.name.clone()).collect()),
        fit: nodes
            .iter()
            .map(|node| (node.name.clone(), (node.fit.as_str().to_owned(), rule_of(node))))
            .collect(),
        ..Seen::default()
    }
}

/// The rule of a filter reason: `sluice RULE, unmet: …`.
fn rule_of(node: &NodeResult) -> String {
    let reason = node.reason.as_deref().and_then(|reason| reason.strip_prefix("sluice "));
    reason.and_then(|reason| reason.split_once(',')).map(|(rule, _)| rule.to_owned()).unwrap_or_default()
}
