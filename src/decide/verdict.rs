//! What follows: placement's own findings, exceptions, the policy's severities, the stamp, the verdict.

use serde_json::{Value, json};

use super::{
    Decision, STAMP, Verdict, identity,
    judge::{Judged, effective},
    patch, spare,
};
use crate::{
    policy::{AdmissionPolicy, Severity},
    rules::{self, Case, Change, Edit, Finding, Findings, PodCase},
    subject::{Body, Stage, Subject, stamp},
    world::World,
};

/// Applies policy and exceptions to what was judged, and stamps.
pub(super) fn conclude(world: &World, subject: &Subject, judged: Judged) -> Decision {
    let Judged { policy, class, placement, mut changes, mut findings, not_judged, relevant, need, changed } =
        judged;
    if relevant {
        spare::spare(world, subject, &policy, &mut findings);
    }
    weigh(world, subject, &policy, &mut findings);
    let worst = findings.iter().map(|finding| finding.severity).max();
    let verdict = match worst {
        Some(Severity::Deny) => Verdict::Deny,
        Some(Severity::Warn) => Verdict::Warn,
        Some(Severity::Audit) | None => Verdict::Allow,
    };
    let id = identity::id(&world.policies.revision, &changed);
    let mut decision = Decision {
        id,
        revision: world.policies.revision.clone(),
        class,
        candidates: placement.candidates,
        skipped: placement.skipped,
        changes: Vec::new(),
        findings,
        verdict,
        policy: policy.name.clone(),
        action: policy.action,
        awaits_namespace: relevant && awaits_namespace(world, subject),
        not_judged,
        as_of: world.cluster.as_of(),
        relevant,
        need,
    };
    if relevant && is_stamped_here(subject) {
        changes.extend(stamp_changes(&decision, subject, changed));
    }
    decision.changes = changes;
    decision
}

fn awaits_namespace(world: &World, subject: &Subject) -> bool {
    let namespace = &subject.namespace;
    !namespace.is_empty()
        && world.cluster.namespace(namespace).is_none()
        && world.policies.hangs_on_labels(namespace)
}

/// Gives every finding the severity that it has under the policy, and their order.
fn weigh(world: &World, subject: &Subject, policy: &AdmissionPolicy, findings: &mut Vec<Finding>) {
    let stale = is_stale(world, subject, policy.max_picture_age);
    for finding in findings.iter_mut() {
        finding.severity = effective(policy, finding);
        spare::lower(finding);
        if stale && finding.on_absence {
            finding.severity = finding.severity.min(Severity::Warn);
        }
    }
    sort(findings);
}

/// What placement has to say where no rule said it already.
pub(super) fn placement_findings(case: &Case<'_>, known: &[Finding]) -> Vec<Finding> {
    let mut findings = Findings::default();
    for pod in &case.pods {
        findings.under(&pod.prefix);
        if !pod.placement.asks_gpu {
            continue;
        }
        stamp_missing(case, pod, &mut findings);
        let Some(class) = &pod.class else { continue };
        if pod.placement.candidates.is_empty() {
            if !pod.placement.skipped.is_empty() && !is_explained(pod, known) {
                no_pool(case, pod, &class.name, &mut findings);
            }
        } else {
            // A final Pod is pinned by our own affinity: it was said when that was added.
            let pinned =
                matches!(case.subject.body, Body::Pod(_)) && case.subject.facts.stage == Stage::Validate;
            let unproven = seems_to_serve(case, pod, &class.name, &mut findings);
            if !unproven && !waits_for_layout(case, pod, &mut findings) && !pinned {
                fallback(pod, &class.name, &mut findings);
            }
        }
    }
    findings.into_vec()
}

/// A rule already refused the Pod for what it asks or where it wants to go.
fn is_explained(pod: &PodCase<'_>, known: &[Finding]) -> bool {
    const EXPLAINING: [&str; 13] = [
        "request-limit-mismatch",
        "gpu-not-integer",
        "mixed-gpu-resources",
        "tp-on-mig",
        "tp-on-shared",
        "mig-unsupported-hardware",
        "unknown-gpu-resource",
        "resource-not-in-pool",
        "selector-matches-no-node",
        "shared-request-gt-one",
        "no-node-large-enough",
        "mig-strategy-name",
        "mig-profile-not-available",
    ];
    // What only warns explains no refusal, except that the Pod waits for slices which are on their way.
    let waits = |finding: &Finding| finding.rule == rules::MIG_PROFILE_NOT_AVAILABLE.id;
    let explains = |finding: &&Finding| {
        EXPLAINING.contains(&finding.rule) && (finding.severity == Severity::Deny || waits(finding))
    };
    known.iter().filter(explains).any(|finding| finding.path.starts_with(&pod.prefix))
}

/// One finding with every pool's reason; under the name of the reason where all agree on it.
fn no_pool(case: &Case<'_>, pod: &PodCase<'_>, class: &str, findings: &mut Findings) {
    // Where no GPU is known at all, an autoscaler that nobody declared may bring the first.
    let some_gpu =
        case.world.cluster.shapes().any(|shape| shape.has_gpu()) || !case.policies().pools.is_empty();
    let most = if some_gpu { Severity::Deny } else { Severity::Warn };
    let ranked: Vec<&rules::Skipped> =
        pod.placement.skipped.iter().filter(|skipped| skipped.rank.is_some()).collect();
    let first = ranked.first().map_or("no-compatible-pool", |skipped| skipped.rule);
    let agreed = ranked.iter().all(|skipped| skipped.rule == first);
    let refusing = |rule: &&'static rules::Rule| agreed && rule.severity == Severity::Deny;
    let rule = rules::find(first).filter(refusing).unwrap_or(&rules::NO_COMPATIBLE_POOL);
    let reasons: Vec<String> =
        ranked.iter().map(|skipped| format!("{}: {}", skipped.what, skipped.reason)).collect();
    let finding = findings
        .add(
            rule,
            "spec",
            format!("without a pool for class {class} ({})", reasons.join("; ")),
            "one pool that the class accepts",
            "change what the Pod asks for, add such a pool, or add a pool term to the class; `sluice pools` shows what each pool can do",
        )
        .on_absence();
    finding.at_most(most);
}

/// Nothing else can serve the Pod than nodes whose MIG layout is not in place: it waits, and whoever made it has to
/// know for what.
fn waits_for_layout(case: &Case<'_>, pod: &PodCase<'_>, findings: &mut Findings) -> bool {
    let pools = || pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool));
    let waiting = pools().all(|live| live.usable_shapes().next().is_none());
    let reason =
        pools().find_map(|live| live.coming_shapes().find_map(|shape| rules::offers::layout_to_come(shape)));
    let (true, Some(reason)) = (waiting, reason) else { return false };
    let pool = &pod.placement.candidates[0].pool;
    let finding = findings.add(
        &rules::MIG_CONFIG_PENDING,
        "spec",
        format!("bound for pool {pool}, whose nodes are not ready: {reason}"),
        "a node whose nvidia.com/mig.config.state is success",
        "wait; if the state stays, look at the MIG manager's log on that node",
    );
    finding.severity = Severity::Warn;
    true
}

/// Only pools of which nobody proves the mode can serve the Pod: what is not certain is no reason to refuse it, and
/// whoever runs the cluster has to know.
fn seems_to_serve(case: &Case<'_>, pod: &PodCase<'_>, class: &str, findings: &mut Findings) -> bool {
    let pools = || pod.placement.candidates.iter().filter_map(|c| case.world.pools.get(&c.pool));
    let seeming = pools().next().is_some()
        && pools()
            .all(|live| live.usable_shapes().next().is_none() && live.seeming_shapes().next().is_some());
    let Some(first) = pools().next().filter(|_| seeming) else { return false };
    let why = first.why().into_iter().next().unwrap_or_default();
    let finding = findings.add(
        &rules::POOL_NOT_PROVEN,
        "spec",
        format!(
            "bound for pool {}, of which nobody proves that it is {} ({why})",
            first.pool.name, first.pool.mode
        ),
        format!("a pool of which it is known that it gives class {class} what it needs"),
        "nothing to do for the Pod; run the node agent or gpu-feature-discovery on these nodes",
    );
    finding.severity = Severity::Warn;
    true
}

/// The Pod lands on a later term of its class: legal, and its reason has to be seen.
fn fallback(pod: &PodCase<'_>, class: &str, findings: &mut Findings) {
    let best = pod.placement.candidates.iter().map(|candidate| candidate.rank).min().unwrap_or(0);
    let passed: Vec<&rules::Skipped> =
        pod.placement.skipped.iter().filter(|skipped| skipped.rank.is_some_and(|rank| rank < best)).collect();
    // Whoever selects nodes past a preferred pool chose so; the class's preference was not asked.
    if passed.iter().any(|skipped| skipped.rule == rules::SELECTOR_MATCHES_NO_NODE.id) {
        return;
    }
    let Some(first) = passed.first() else { return };
    let chosen = &pod.placement.candidates[0].pool;
    findings.add(
        &rules::POOL_FALLBACK,
        "spec",
        format!("on pool {chosen} instead of {}: {}", first.what, first.reason),
        format!("{}, which class {class} prefers", first.what),
        "nothing to do; offer the preferred pool if the difference matters",
    );
}

fn stamp_missing(case: &Case<'_>, pod: &PodCase<'_>, findings: &mut Findings) {
    let stamped = pod.written.metadata.annotations.contains_key(stamp::DECISION);
    let is_pod = matches!(case.subject.body, Body::Pod(_)) && case.subject.facts.subresource.is_none();
    let rule = match case.subject.facts.stage {
        Stage::Validate if is_pod => &rules::STAMP_MISSING,
        Stage::Schedule if is_pod => &rules::ADMISSION_SKIPPED,
        _ => return,
    };
    if !stamped {
        let path = format!("metadata.annotations[{}]", stamp::DECISION);
        findings.add(
            rule,
            path,
            "absent: the mutating webhook did not see this Pod",
            "the record of a decision",
            "create it again once the webhook answers; `kubectl get pods -n sluice-system` shows its state",
        );
    }
}

/// A picture older than the policy allows asserts no absence.
fn is_stale(world: &World, subject: &Subject, most: u64) -> bool {
    let requested = subject.facts.stage != Stage::Check;
    let age = world.cluster.as_of().map(|as_of| subject.facts.now.saturating_sub(as_of));
    requested && age.is_some_and(|age| u64::try_from(age).unwrap_or(0) > most)
}

/// Worst first, then by place in the object, then by rule.
fn sort(findings: &mut Vec<Finding>) {
    findings.sort_by(|a, b| {
        b.severity.cmp(&a.severity).then_with(|| a.path.cmp(&b.path)).then_with(|| a.rule.cmp(b.rule))
    });
    findings.dedup();
}

fn is_stamped_here(subject: &Subject) -> bool {
    let made = matches!(subject.facts.stage, Stage::Mutate | Stage::Check);
    let new = !subject.pods().any(|(_, pod, _)| !pod.metadata.uid.is_empty());
    made && new && subject.facts.subresource.is_none() && matches!(subject.body, Body::Pod(_))
}

fn stamp_changes(decision: &Decision, subject: &Subject, mut changed: Value) -> Vec<Change> {
    let pools: Vec<&str> = decision.candidates.iter().map(|candidate| &*candidate.pool).collect();
    let fallback = decision.findings.iter().find(|finding| finding.rule == rules::POOL_FALLBACK.id);
    let mut marks = vec![
        (stamp::CLASS, decision.class.as_ref().map(|class| class.class.to_string())),
        (stamp::DECISION, Some(decision.id.clone())),
        (stamp::FALLBACK, fallback.map(|finding| finding.is.clone())),
        (stamp::POOLS, (!pools.is_empty()).then(|| pools.join(","))),
        (stamp::REVISION, Some(decision.revision.clone())),
    ];
    let annotations = subject.raw.pointer("/metadata/annotations").and_then(Value::as_object);
    // What somebody else wrote under our keys is no record of ours.
    let forged = |key: &str| annotations.is_some_and(|written| written.contains_key(key));
    // Once the Pod is pinned by our own affinity, why it is on a later pool can no longer be seen; the record of
    // this very decision stands.
    let same = annotations.and_then(|written| written.get(stamp::DECISION)?.as_str()) == Some(&*decision.id);
    marks.retain(|(key, _)| !(same && *key == stamp::FALLBACK));
    marks.push((stamp::ARM, None));
    let mut changes = Vec::new();
    for (key, value) in marks {
        let path = vec!["metadata".to_owned(), "annotations".to_owned(), key.to_owned()];
        let edit = match value {
            Some(value) => Edit::Set(path, json!(value)),
            None if forged(key) => Edit::Remove(path),
            None => continue,
        };
        if !patch::apply(&mut changed, &edit).is_empty() {
            changes.push(Change {
                rule: STAMP,
                path: format!("metadata.annotations[{key}]"),
                why: "the record of this decision".to_owned(),
                edit,
            });
        }
    }
    changes
}
