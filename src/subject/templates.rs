//! The kinds that hold Pod templates: the one table from which webhook rules, RBAC, `check` and
//! `docs/kinds.md` are made.

use serde::Deserialize;
use serde_json::Value;

use super::{PodGroup, Rollout};
use crate::k8s::object::{Meta, Pod, PodSpec};

/// One kind that holds Pod templates.
#[derive(Clone, Copy, Debug)]
pub struct TemplateKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Version that the webhook is registered for.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Plural, lower case.
    pub plural: &'static str,
    /// Its Pod groups.
    pub groups: &'static [GroupPath],
}

/// Where a Pod group of a kind stands.
#[derive(Clone, Copy, Debug)]
pub struct GroupPath {
    /// Keys from the root to the object with `metadata` and `spec`.
    pub template: &'static [&'static str],
    /// Keys from the root to the number of Pods.
    pub count: Count,
    /// How it rolls out.
    pub rollout: Rollout,
}

/// How many Pods a group makes.
#[derive(Clone, Copy, Debug)]
pub enum Count {
    /// A number at this path; 1 where absent.
    At(&'static [&'static str]),
    /// One a node.
    EveryNode,
}

const TEMPLATE: &[&str] = &["spec", "template"];
const REPLICAS: Count = Count::At(&["spec", "replicas"]);
const PARALLELISM: Count = Count::At(&["spec", "parallelism"]);

/// Every kind, in the order of `docs/kinds.md`.
pub const TEMPLATE_KINDS: &[TemplateKind] = &[
    TemplateKind::apps("Deployment", "deployments", &[GroupPath::of(REPLICAS, Rollout::Deployment)]),
    TemplateKind::apps("StatefulSet", "statefulsets", &[GroupPath::of(REPLICAS, Rollout::StatefulSet)]),
    TemplateKind::apps("DaemonSet", "daemonsets", &[GroupPath::of(Count::EveryNode, Rollout::DaemonSet)]),
    TemplateKind::apps("ReplicaSet", "replicasets", &[GroupPath::of(REPLICAS, Rollout::Once)]),
    TemplateKind::batch("Job", "jobs", &[GroupPath::of(PARALLELISM, Rollout::Once)]),
    TemplateKind::batch(
        "CronJob",
        "cronjobs",
        &[GroupPath {
            template: &["spec", "jobTemplate", "spec", "template"],
            count: Count::At(&["spec", "jobTemplate", "spec", "parallelism"]),
            rollout: Rollout::Once,
        }],
    ),
];

/// The row of an object's kind.
#[must_use]
pub fn find(api_version: &str, kind: &str) -> Option<&'static TemplateKind> {
    let group = api_version.split_once('/').map_or("", |(group, _)| group);
    TEMPLATE_KINDS.iter().find(|row| row.kind == kind && row.group == group)
}

/// Reads the Pod groups of an object of that kind.
///
/// # Errors
/// The path and what is wrong there, where a template has a value of another type.
pub fn groups(row: &TemplateKind, object: &Value) -> Result<Vec<PodGroup>, (String, String)> {
    row.groups
        .iter()
        .map(|path| group(path, object))
        .collect::<Result<Vec<_>, _>>()
        .map(|groups| groups.into_iter().flatten().collect())
}

impl TemplateKind {
    const fn apps(kind: &'static str, plural: &'static str, groups: &'static [GroupPath]) -> Self {
        Self { group: "apps", version: "v1", kind, plural, groups }
    }

    const fn batch(kind: &'static str, plural: &'static str, groups: &'static [GroupPath]) -> Self {
        Self { group: "batch", version: "v1", kind, plural, groups }
    }
}

impl GroupPath {
    const fn of(count: Count, rollout: Rollout) -> Self {
        Self { template: TEMPLATE, count, rollout }
    }
}

fn group(path: &GroupPath, object: &Value) -> Result<Option<PodGroup>, (String, String)> {
    let Some(template) = descend(object, path.template) else { return Ok(None) };
    Ok(Some(PodGroup {
        path: path.template.join("."),
        pod: pod_of(template).map_err(|(at, what)| (format!("{}.{at}", path.template.join(".")), what))?,
        count: match path.count {
            Count::EveryNode => None,
            Count::At(keys) => Some(descend(object, keys).and_then(Value::as_i64).unwrap_or(1)),
        },
        rollout: path.rollout,
    }))
}

fn descend<'a>(object: &'a Value, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().try_fold(object, |value, key| value.get(key)).filter(|value| !value.is_null())
}

fn pod_of(template: &Value) -> Result<Pod, (String, String)> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct PodTemplate {
        metadata: Option<Meta>,
        spec: Option<PodSpec>,
    }
    let read: PodTemplate = serde_path_to_error::deserialize(template)
        .map_err(|error| (error.path().to_string(), error.inner().to_string()))?;
    Ok(Pod {
        metadata: read.metadata.unwrap_or_default(),
        spec: read.spec.unwrap_or_default(),
        ..Pod::default()
    })
}
