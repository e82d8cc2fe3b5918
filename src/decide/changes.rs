//! What has to change so that the Pod runs well where it may go. Every step reads the Pod as it is and adds
//! only what is missing, so that doing it again changes nothing.

mod devices;
mod priority;
mod startup;

use serde_json::{Value, json};

use super::{
    place::Placed,
    steer::{self, Narrowing},
};
use crate::{
    k8s::{
        object::{NodeSelectorTerm, Pod},
        taints,
    },
    policy::{AdmissionPolicy, Class},
    rules::{Candidate, Change, Edit, Finding},
    subject::demand,
    world::{LivePool, World},
};

const REQUIRED: [&str; 5] = [
    "spec",
    "affinity",
    "nodeAffinity",
    "requiredDuringSchedulingIgnoredDuringExecution",
    "nodeSelectorTerms",
];
const PREFERRED: [&str; 4] =
    ["spec", "affinity", "nodeAffinity", "preferredDuringSchedulingIgnoredDuringExecution"];

/// What a step may look at.
pub(super) struct Step<'a> {
    pub world: &'a World,
    pub policy: &'a AdmissionPolicy,
    pub class: Option<&'a Class>,
    /// The Pod, or template, as raw JSON: an object with `metadata` and `spec`.
    pub raw: &'a Value,
    pub pod: &'a Pod,
    pub placed: &'a Placed,
    /// It asks for no GPU and gets to nodes that have some.
    pub exposed: bool,
    /// It may see devices that it does not ask for.
    pub watches: bool,
}

/// Changes with paths from the Pod's own root, and what could not be changed.
pub(super) fn changes(step: &Step<'_>) -> (Vec<Change>, Vec<Finding>) {
    let (mut changes, mut findings) = (Vec::new(), Vec::new());
    rewrite(step, &mut changes);
    require(step, &mut changes, &mut findings);
    prefer(step, &mut changes);
    tolerate(step, &mut changes);
    priority::set(step, &mut changes);
    scheduler(step, &mut changes);
    devices::hide(step, &mut changes);
    devices::share_memory(step, &mut changes);
    startup::probe(step, &mut changes);
    (changes, findings)
}

/// A change with its segments and its path for people.
fn change(rule: &'static str, why: impl Into<String>, edit: Edit) -> Change {
    Change { rule, path: path_of(edit.segments()), why: why.into(), edit }
}

/// `spec.containers[0].env` from segments; keys with dots stand in brackets.
pub(super) fn path_of(segments: &[String]) -> String {
    let mut path = String::new();
    for segment in segments {
        if segment.parse::<usize>().is_ok() || segment.contains(['.', '/']) {
            path.push_str(&format!("[{segment}]"));
        } else {
            if !path.is_empty() {
                path.push('.');
            }
            path.push_str(segment);
        }
    }
    path
}

fn segments<const N: usize>(keys: [&str; N]) -> Vec<String> {
    keys.iter().map(|&key| key.to_owned()).collect()
}

fn at_container(place: demand::ContainerPlace, rest: &[&str]) -> Vec<String> {
    place.segments().into_iter().chain(rest.iter().map(|&key| key.to_owned())).collect()
}

fn rewrite(step: &Step<'_>, changes: &mut Vec<Change>) {
    let Some(target) = &step.placed.rewrite else { return };
    let pool = step.placed.placement.candidates.first().map_or("", |first| &first.pool);
    let whole = |ask: &&demand::Ask<'_>| !ask.is_zero() && ask.resource == crate::gpu::resource::WHOLE;
    for ask in demand::asks(&step.pod.spec).iter().filter(whole) {
        for (side, text) in [("limits", ask.limit), ("requests", ask.request)] {
            let Some(text) = text else { continue };
            let why = format!("pool {pool} offers {target}, and the class allows the rewrite");
            let to = at_container(ask.place, &["resources", side, target]);
            let from = at_container(ask.place, &["resources", side, ask.resource]);
            changes.push(change("resource-rewritten", why.clone(), Edit::Set(to, json!(text.0))));
            changes.push(change("resource-rewritten", why, Edit::Remove(from)));
        }
    }
}

fn require(step: &Step<'_>, changes: &mut Vec<Change>, findings: &mut Vec<Finding>) {
    let pools: Vec<&[NodeSelectorTerm]> =
        candidates(step).map(|(_, live)| live.pool.nodes.as_slice()).collect();
    let pointer = format!("/{}", REQUIRED.join("/"));
    let written = match step.raw.pointer(&pointer) {
        Some(Value::Array(terms)) => Some(terms.as_slice()),
        // A required affinity without terms matches nothing, and must not be made to match something.
        _ if step.pod.spec.affinity.node_affinity.required.is_some() => Some([].as_slice()),
        _ => None,
    };
    let names: Vec<&str> = candidates(step).map(|(candidate, _)| &*candidate.pool).collect();
    let why = format!("only {} can serve it", list("pool", &names));
    let edit = |edit| change("affinity-added", why.clone(), edit);
    match steer::narrow(written, &pools) {
        Narrowing::Nothing => {}
        Narrowing::Append(terms) => {
            for (index, expressions) in terms {
                let mut at = segments(REQUIRED);
                at.extend([index.to_string(), "matchExpressions".to_owned()]);
                let append = |e| edit(Edit::Append(at.clone(), steer::expression(e)));
                changes.extend(expressions.iter().map(append));
            }
        }
        Narrowing::Replace(terms) => {
            changes.push(edit(Edit::Set(segments(REQUIRED), Value::Array(terms))));
        }
        Narrowing::TooMany(terms) => findings.push(too_complex(terms)),
    }
}

fn too_complex(terms: usize) -> Finding {
    let rule = &crate::rules::AFFINITY_TOO_COMPLEX;
    Finding {
        rule: rule.id,
        severity: rule.severity,
        path: path_of(&segments(REQUIRED)),
        container: None,
        is: format!("{terms} terms once the pools are ANDed in"),
        should: format!("at most {} terms", steer::MOST_TERMS),
        remedy: "use fewer terms; the Pod is left as it is, and only the extender keeps it on its pools"
            .to_owned(),
        on_absence: false,
        excepted_by: None,
        suppressed: None,
    }
}

fn prefer(step: &Step<'_>, changes: &mut Vec<Change>) {
    let ranked: Vec<(usize, &[NodeSelectorTerm])> =
        candidates(step).map(|(candidate, live)| (candidate.rank, live.pool.nodes.as_slice())).collect();
    for preference in steer::preferences(step.pod, &ranked) {
        let why = "the class prefers this pool among those that can serve it";
        changes.push(change("affinity-added", why, Edit::Append(segments(PREFERRED), preference)));
    }
}

fn tolerate(step: &Step<'_>, changes: &mut Vec<Change>) {
    let mut tolerations = step.pod.spec.tolerations.clone();
    for (candidate, live) in candidates(step) {
        for taint in live.guarding_taints() {
            if taints::covers(&tolerations, taint, false) {
                continue;
            }
            let mut toleration = json!({"key": taint.key, "effect": taint.effect});
            if taint.value.is_empty() {
                toleration["operator"] = json!("Exists");
            } else {
                toleration["operator"] = json!("Equal");
                toleration["value"] = json!(taint.value);
            }
            if let Ok(read) = serde_json::from_value(toleration.clone()) {
                tolerations.push(read);
            }
            let value = if taint.value.is_empty() { String::new() } else { format!("={}", taint.value) };
            let why = format!("pool {} has taint {}{value}:{}", candidate.pool, taint.key, taint.effect);
            let at = segments(["spec", "tolerations"]);
            changes.push(change("toleration-added", why, Edit::Append(at, toleration)));
        }
    }
}

fn scheduler(step: &Step<'_>, changes: &mut Vec<Change>) {
    let Some(wanted) = &step.policy.scheduler_name else { return };
    let written = step.pod.spec.scheduler_name.as_str();
    // API defaulting fills the name in before any webhook sees it, so that empty and default are one.
    if step.placed.placement.asks_gpu && matches!(written, "" | "default-scheduler") && written != wanted {
        let why = "GPU Pods are placed by the scheduler that asks sluice";
        let at = segments(["spec", "schedulerName"]);
        changes.push(change("wrong-scheduler", why, Edit::Set(at, json!(wanted))));
    }
}

fn candidates<'a>(step: &'a Step<'_>) -> impl Iterator<Item = (&'a Candidate, &'a LivePool)> {
    let pools = &step.world.pools;
    let candidates = &step.placed.placement.candidates;
    candidates.iter().filter_map(move |candidate| Some((candidate, pools.get(&candidate.pool)?)))
}

/// `pool a` or `pools a, b`.
pub(super) fn list(noun: &str, names: &[&str]) -> String {
    let s = if names.len() == 1 { "" } else { "s" };
    format!("{noun}{s} {}", names.join(", "))
}
