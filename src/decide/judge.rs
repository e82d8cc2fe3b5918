//! From subject to what is right and wrong with it, before any policy acts on it.

use std::sync::Arc;

use serde_json::Value;

use super::{
    Decision, Recognized, Verdict,
    changes::{self, Step},
    classify::{self, Classification},
    fit::Need,
    patch, place, reread,
};
use crate::{
    k8s::object::Pod,
    policy::{AdmissionPolicy, Severity},
    rules::{self, Case, Change, Check, Finding, Findings, PodCase, Rule},
    subject::{
        self, Body, Facts, Kinds, Operation, PodGroup, Reading, Stage, Subject, Template,
        relevant::{self, Relevance},
        templates,
    },
    world::World,
};

/// What judging came to.
pub(super) struct Judged {
    pub policy: Arc<AdmissionPolicy>,
    pub class: Option<Recognized>,
    pub placement: rules::Placement,
    pub changes: Vec<Change>,
    pub findings: Vec<Finding>,
    pub not_judged: Vec<&'static str>,
    pub relevant: bool,
    pub need: Option<Need>,
    /// The object with every change applied.
    pub changed: Value,
}

/// Why a Pod concerns us in a World.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Concern {
    /// What it says itself.
    Because(Relevance),
    /// Its selector and affinity choose nodes with GPUs only.
    OnlyGpuNodes,
    /// It does not.
    None,
}

/// Requests that are never judged: objects being deleted, deletions and connections, what a controller
/// makes of an object that was judged, and changes of a Pod that leave its containers alone.
pub(super) fn is_exempt_request(subject: &Subject) -> bool {
    let facts = &subject.facts;
    if matches!(facts.operation, Operation::Delete | Operation::Connect) || subject.is_being_deleted() {
        return true;
    }
    let requested = !matches!(facts.stage, Stage::Check | Stage::Schedule);
    match &subject.body {
        // Most of a Pod's spec cannot change; what can (labels, finalizers, tolerations) is not ours to stop.
        Body::Pod(_) => requested && facts.operation == Operation::Update && facts.subresource.is_none(),
        Body::Template(template) => {
            let made = matches!(subject.kind.as_str(), "ReplicaSet" | "Job")
                || templates::find(&subject.api_version, &subject.kind).is_none_or(|row| !row.is_core());
            requested && made && template.workload.metadata.controller().is_some()
        }
        _ => false,
    }
}

/// The decision on what does not concern us.
pub(super) fn nothing_to_say(world: &World, subject: &Subject) -> Decision {
    let policy = policy_of(world, subject);
    Decision {
        id: String::new(),
        revision: world.policies.revision.clone(),
        class: None,
        candidates: Vec::new(),
        skipped: Vec::new(),
        changes: Vec::new(),
        findings: Vec::new(),
        verdict: Verdict::Allow,
        policy: policy.name.clone(),
        action: policy.action,
        awaits_namespace: false,
        not_judged: Vec::new(),
        as_of: world.cluster.as_of(),
        relevant: false,
        need: None,
    }
}

/// Judges everything; applies nothing.
pub(super) fn judge(world: &World, subject: &Subject) -> Judged {
    let policy = policy_of(world, subject);
    let mut judged = Judged {
        class: None,
        placement: rules::Placement::default(),
        changes: Vec::new(),
        findings: Vec::new(),
        not_judged: Vec::new(),
        relevant: !matches!(subject.body, Body::Pod(_) | Body::Template(_)),
        need: None,
        changed: (*subject.raw).clone(),
        policy: policy.clone(),
    };
    let mut pods = Vec::new();
    for (prefix, pod, count) in subject.pods() {
        if relevance(world, pod) != Concern::None {
            judged.relevant = true;
            let group = template_of(subject).and_then(|template| template.group(&prefix));
            pods.push(judge_pod(world, subject, &policy, &mut judged, PodOf { prefix, pod, count, group }));
        }
    }
    // A kind that a policy names holds a Pod, or somebody has to know.
    judged.relevant |= template_of(subject).is_some_and(|template| template.groups.is_empty());
    if judged.relevant {
        let case = Case { world, subject, policy: &policy, pods };
        apply_rules(&case, &mut judged);
        if let Body::Pod(_) = subject.body {
            judged.need = case.pods.first().map(|pod| Need::of(world, pod));
        }
        judged.placement = case.pods.into_iter().next().map(|pod| pod.placement).unwrap_or_default();
    }
    if let Some(template) = template_of(subject) {
        judged.findings.iter_mut().for_each(|finding| relocate(template, &mut finding.path));
    }
    judged
}

fn template_of(subject: &Subject) -> Option<&Template> {
    match &subject.body {
        Body::Template(template) => Some(template),
        _ => None,
    }
}

/// Rules speak of a Pod's fields; some kinds hold them elsewhere.
fn relocate(template: &Template, path: &mut String) {
    let within =
        |group: &&PodGroup| path.strip_prefix(&*group.path).is_some_and(|rest| rest.starts_with('.'));
    // A template may stand within another's fields.
    let innermost = template.groups.iter().filter(within).max_by_key(|group| group.path.len());
    let place = innermost.map(|group| group.place(&path[group.path.len() + 1..]));
    if let Some(place) = place {
        *path = place;
    }
}

/// An UPDATE is held to what it changes: what was wrong in the same place before is shown and refuses nothing,
/// so that labels, scale and status of an older object can still be changed.
pub(super) fn spare_what_was_there(world: &World, subject: &Subject, judged: &mut Judged) {
    let of_its_own = matches!(subject.body, Body::Pod(_) | Body::Node(_) | Body::Installation(_));
    let refuses = judged.findings.iter().any(|finding| finding.severity == Severity::Deny);
    let Some(old) = subject.facts.old.clone().filter(|_| !of_its_own && refuses) else { return };
    let facts = Facts { operation: Operation::Create, old: None, ..subject.facts.clone() };
    let kinds = Kinds { added: &world.template_kinds, search: false };
    let old = subject::read_as(old, Some(&subject.namespace), facts, kinds);
    let Reading::Subject(old) = old else { return };
    let before = judge(world, &old).findings;
    for finding in &mut judged.findings {
        if before.iter().any(|old| old.rule == finding.rule && old.path == finding.path) {
            finding.at_most(Severity::Warn);
        }
    }
}

struct PodOf<'a> {
    prefix: String,
    pod: &'a Pod,
    count: Option<i64>,
    /// The group that makes it.
    group: Option<&'a PodGroup>,
}

fn judge_pod<'a>(
    world: &'a World,
    subject: &'a Subject,
    policy: &AdmissionPolicy,
    judged: &mut Judged,
    of: PodOf<'a>,
) -> PodCase<'a> {
    let PodOf { prefix, pod, count, group } = of;
    let owner = match &subject.body {
        Body::Template(template) => Some(template.owner.as_str()),
        _ => pod.metadata.controller().map(|owner| owner.kind.as_str()),
    };
    let raw = group.map_or(&*subject.raw, |group| &*group.raw);
    let classification = classify::classify(world, pod, raw, owner);
    let class = match &classification {
        Classification::One(class, recognized) => {
            judged.class.get_or_insert_with(|| recognized.clone());
            Some(class.clone())
        }
        _ => None,
    };
    let changing = may_change(subject, pod);
    let placed = place::place(world, class.as_ref(), pod, &subject.namespace, changing);
    if placed.placement.asks_gpu {
        judged.findings.extend(class_findings(&classification, &prefix, subject, world));
    }
    let mut changed_pod = pod.clone();
    if changing {
        let watches = may_see_devices(subject, policy, pod);
        let exposed = !watches && is_exposed(world, pod, &placed.placement);
        let class = class.as_deref();
        let step = Step { world, policy, class, raw, pod, placed: &placed, exposed, watches };
        let (made, problems) = changes::changes(&step);
        let mut edited = raw.clone();
        for change in &made {
            patch::apply(&mut edited, &change.edit);
        }
        changed_pod = reread(&edited, pod);
        judged.findings.extend(problems.into_iter().map(|finding| below(&prefix, finding)));
        for change in made.into_iter().filter(|_| group.is_none_or(|group| group.takes_changes)) {
            let change = group.map_or_else(|| change.clone(), |group| change_in(group, change.clone()));
            patch::apply(&mut judged.changed, &change.edit);
            judged.changes.push(change);
        }
    }
    PodCase { prefix, written: pod, pod: changed_pod, count, class, placement: placed.placement }
}

/// What runs on every node may be there to watch the cards, and is left alone, as is what a policy exempts.
fn may_see_devices(subject: &Subject, policy: &AdmissionPolicy, pod: &Pod) -> bool {
    let daemon = match &subject.body {
        Body::Template(_) => subject.kind == "DaemonSet",
        _ => pod.metadata.controller().is_some_and(|owner| owner.kind == "DaemonSet"),
    };
    daemon || policy.exempts(&subject.namespace, pod)
}

/// A Pod that asks for no GPU and gets to nodes that have some: its images may make every card visible.
fn is_exposed(world: &World, pod: &Pod, placement: &rules::Placement) -> bool {
    !placement.asks_gpu
        && pod.spec.resource_claims.is_empty()
        && (relevant::names_nvidia_runtime(&pod.spec)
            || rules::reach(world, &pod.spec.tolerations, placement.only_gpu_nodes) != rules::Reach::No)
}

/// A Pod is changed where it is being made; a final one only if it never met the mutating webhook.
fn may_change(subject: &Subject, pod: &Pod) -> bool {
    match (&subject.body, subject.facts.stage) {
        _ if subject.facts.subresource.is_some() => false,
        (Body::Template(_), _) => true,
        (_, Stage::Mutate) => true,
        (_, Stage::Check) => pod.metadata.uid.is_empty(),
        (_, Stage::Validate | Stage::Schedule) => false,
    }
}

/// Whether a Pod concerns us in this World, and why.
#[must_use]
pub fn relevance(world: &World, pod: &Pod) -> Concern {
    match relevant::relevance(pod, world.pools.guarding_taints()) {
        Relevance::None if place::only_gpu_nodes(world, pod) => Concern::OnlyGpuNodes,
        Relevance::None => Concern::None,
        why => Concern::Because(why),
    }
}

fn policy_of(world: &World, subject: &Subject) -> Arc<AdmissionPolicy> {
    let labels = world.cluster.namespace(&subject.namespace).map(|n| &n.metadata.labels);
    let found = world.policies.policy_for(&subject.namespace, labels).cloned();
    // Outside every policy's scope everything is judged and counted, and nothing said.
    found.unwrap_or_else(|| Arc::new(AdmissionPolicy::out_of_scope()))
}

fn class_findings(
    classification: &Classification,
    prefix: &str,
    subject: &Subject,
    world: &World,
) -> Vec<Finding> {
    let known = || {
        let names: Vec<&str> = world.policies.classes.iter().map(|class| &*class.name).collect();
        names.join(", ")
    };
    let labels = format!("{prefix}metadata.labels[{}]", crate::subject::CLASS_LABEL);
    let mut findings = Findings::default();
    match classification {
        Classification::One(..) => {}
        Classification::None => {
            let is = format!("{} without a class", subject.kind);
            let remedy = format!("add the label {}: one of {}", crate::subject::CLASS_LABEL, known());
            findings.add(&rules::CLASS_UNKNOWN, labels, is, "a class", remedy);
        }
        Classification::UnknownName(name) => {
            let is = format!("{name}, which no WorkloadClass is called");
            let names = world.policies.classes.iter().map(|class| &*class.name);
            let near =
                names.max_by(|a, b| strsim::jaro_winkler(a, name).total_cmp(&strsim::jaro_winkler(b, name)));
            let remedy = near.map_or_else(String::new, |near| format!("did you mean {near}?"));
            findings.add(&rules::CLASS_NOT_FOUND, labels, is, format!("one of {}", known()), remedy);
        }
        Classification::Ambiguous(several) => {
            let by: Vec<String> = several.iter().map(|m| format!("{} by {}", m.class, m.by)).collect();
            let remedy = format!("add the label {}", crate::subject::CLASS_LABEL);
            findings.add(&rules::CLASS_AMBIGUOUS, labels, by.join(", "), "one class", remedy);
        }
    }
    findings.into_vec()
}

fn apply_rules(case: &Case<'_>, judged: &mut Judged) {
    let mut findings = Findings::default();
    for rule in rules::ALL {
        let Check::Case(check) = rule.check else { continue };
        if !applies(case, rule) {
            continue;
        }
        if rule.needs.iter().all(|kind| case.world.cluster.is_synced(*kind)) {
            findings.under("");
            check(case, rule, &mut findings);
        } else {
            judged.not_judged.push(rule.id);
        }
    }
    judged.findings.extend(findings.into_vec());
    let placed = super::verdict::placement_findings(case, &judged.findings);
    judged.findings.extend(placed);
}

fn applies(case: &Case<'_>, rule: &Rule) -> bool {
    use crate::rules::Applies;
    let subresource = case.subject.facts.subresource.is_some();
    match (rule.applies, &case.subject.body) {
        (Applies::Pods | Applies::Priorities, Body::Pod(_)) => !subresource,
        (Applies::EphemeralContainers, Body::Pod(_)) => {
            case.subject.facts.subresource.as_deref().is_none_or(|name| name == "ephemeralcontainers")
        }
        (Applies::Pods | Applies::Templates | Applies::Priorities, Body::Template(_))
        | (Applies::Budgets, Body::Budget(_) | Body::Template(_))
        | (Applies::Quotas, Body::Quota(_))
        | (Applies::Limits, Body::Limits(_))
        | (Applies::Priorities, Body::Priority(_))
        | (Applies::NodeChanges, Body::Node(_))
        | (Applies::Installation, Body::Installation(_)) => true,
        _ => false,
    }
}

fn below(prefix: &str, mut finding: Finding) -> Finding {
    finding.path = format!("{prefix}{}", finding.path);
    finding
}

/// A change of a template's Pod, where it stands in the object.
fn change_in(group: &PodGroup, mut change: Change) -> Change {
    use crate::rules::Edit;
    change.path = group.place(&change.path);
    let rooted = |path: Vec<String>| {
        let place = group.places.iter().find_map(|(from, to)| {
            let from = templates::keys(from);
            let rest = path.strip_prefix(from.as_slice())?;
            Some(templates::keys(to).into_iter().chain(rest.iter().cloned()).collect())
        });
        place.unwrap_or_else(|| templates::keys(&group.path).into_iter().chain(path.clone()).collect())
    };
    change.edit = match change.edit {
        Edit::Set(path, value) => Edit::Set(rooted(path), value),
        Edit::Append(path, value) => Edit::Append(rooted(path), value),
        Edit::Remove(path) => Edit::Remove(rooted(path)),
    };
    change
}

/// Severity under the policy: its own word for a rule, else the finding's, never above the policy's action.
pub(super) fn effective(policy: &AdmissionPolicy, finding: &Finding) -> Severity {
    let own = policy.rules.get(finding.rule).copied();
    own.unwrap_or(finding.severity).min(policy.action)
}
