//! The objects of a cluster, judged one by one: as they are, as if everything were enforced, and as if made anew.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    cli::{
        input::Object,
        judge::{Judge, Judged, Look, RuleFilter},
    },
    decide::{STAMP, decide},
    policy::{PolicySet, Severity},
    report::{
        VerdictWord,
        json::ChangeResult,
        scan::{ScanReport, ScanResult},
    },
    subject::{Body, Facts, Reading, Subject, read, stamp},
    world::World,
};

/// Judges every object of a wanted namespace, and tells those that cannot be read.
pub(super) fn scan(
    world: &World,
    objects: &[Object],
    now: i64,
    wanted: impl Fn(&str) -> bool,
) -> (ScanReport, Vec<String>) {
    let judge = Judge { world: world.clone(), rules: RuleFilter::default(), nodes: false, now };
    let enforcing = enforcing(world);
    let (mut results, mut faults, mut others) = (Vec::new(), Vec::new(), 0);
    for object in objects.iter().filter(|object| is_running(&object.value)) {
        match judge.look(object) {
            Ok(look) if !wanted(&look.subject.namespace) => {}
            Ok(look) if look.decision.relevant => results.push(result(world, enforcing.as_ref(), look)),
            Ok(_) | Err(Judged::NotOurs) => others += 1,
            Err(Judged::Unreadable(why)) => faults.push(why),
            Err(Judged::Result(_)) => {}
        }
    }
    (ScanReport::new(&world.policies, results, others, now), faults)
}

/// What ended or is going holds nothing, and what a controller makes of a workload is judged with the workload.
fn is_running(object: &Value) -> bool {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let ended = text("/kind") == "Pod" && matches!(text("/status/phase"), "Succeeded" | "Failed");
    let going = object.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null());
    let owners = object.pointer("/metadata/ownerReferences").and_then(Value::as_array);
    let owned = owners.into_iter().flatten().any(|owner| owner["controller"] == true);
    let made = owned && matches!(text("/kind"), "ReplicaSet" | "Job");
    !(ended || going || made)
}

/// The same World with every policy enforced; nothing where they are already.
fn enforcing(world: &World) -> Option<World> {
    if world.policies.policies.iter().all(|policy| policy.action == Severity::Deny) {
        return None;
    }
    let mut set = PolicySet::clone(&world.policies);
    for policy in &mut set.policies {
        Arc::make_mut(policy).action = Severity::Deny;
    }
    Some(world.with_policies(Arc::new(set)))
}

fn result(world: &World, enforcing: Option<&World>, look: Look) -> ScanResult {
    let Look { subject, decision, mut result } = look;
    let enforced =
        enforcing.map_or(result.verdict, |world| VerdictWord::from(decide(world, &subject).verdict));
    if result.source.as_ref().is_some_and(|source| source.file.is_empty()) {
        result.source = None;
        result.findings.iter_mut().for_each(|finding| finding.line = None);
    }
    let node = match &subject.body {
        Body::Pod(pod) if !pod.spec.node_name.is_empty() => Some(pod.spec.node_name.clone()),
        _ => None,
    };
    let (drift, misplaced) = drift(world, &subject, node.as_deref());
    ScanResult { result, enforced, drift, node, misplaced, policy: decision.policy.to_string() }
}

/// What admission would do to a running Pod if it were made anew today, and why its node is none that it would get.
fn drift(world: &World, subject: &Subject, node: Option<&str>) -> (Vec<ChangeResult>, Option<String>) {
    let (Body::Pod(_), Some(node)) = (&subject.body, node) else { return (Vec::new(), None) };
    let facts = Facts::of_file(subject.facts.now);
    let Reading::Subject(anew) = read(Arc::new(anew(&subject.raw)), None, facts) else {
        return (Vec::new(), None);
    };
    let decision = decide(world, &anew);
    let changes =
        decision.changes.iter().filter(|change| change.rule != STAMP).map(ChangeResult::from).collect();
    let known = world.cluster.node(node).filter(|_| !decision.candidates.is_empty());
    let misplaced = known.and_then(|known| {
        let pools: Vec<&str> = world.pools.of_node(known).map(|live| &*live.pool.name).collect();
        let wanted: Vec<&str> = decision.candidates.iter().map(|candidate| &*candidate.pool).collect();
        let fits = pools.iter().any(|pool| wanted.contains(pool));
        let here = if pools.is_empty() { "no pool".to_owned() } else { pools.join(", ") };
        (!fits).then(|| format!("runs on {node} ({here}), and would go to {} today", wanted.join(", ")))
    });
    (changes, misplaced)
}

/// The Pod as it was made: without what the API server, the scheduler and we gave it.
fn anew(pod: &Value) -> Value {
    let mut pod = pod.clone();
    if let Some(object) = pod.as_object_mut() {
        object.remove("status");
    }
    if let Some(metadata) = pod.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("uid");
        if let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) {
            annotations.retain(|key, _| !stamp::KEYS.contains(&key.as_str()));
        }
    }
    if let Some(spec) = pod.get_mut("spec").and_then(Value::as_object_mut) {
        spec.remove("nodeName");
    }
    pod
}
