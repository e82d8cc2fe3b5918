//! The kinds that hold Pod templates: the one table from which webhook rules, `check` and `docs/kinds.md` are
//! made, and the reader that turns an object of such a kind into Pod groups.
//!
//! A template is judged, never changed: what its Pods need is added to the Pods. Kinds outside the table are
//! read by the rows that a policy adds, or searched for what looks like a Pod ([`search()`]).

mod completes;
mod layout;
mod path;
mod search;
mod table;
#[cfg(test)]
mod tests;

use std::sync::Arc;

use serde_json::Value;

use super::{PodGroup, Role, Rollout};

use path::Place;

pub use path::{at, keys};
pub use search::search;
pub use table::TEMPLATE_KINDS;

/// One kind that holds Pod templates.
#[derive(Clone, Copy, Debug)]
pub struct TemplateKind {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Versions that the webhook is registered for, the newest first.
    pub versions: &'static [&'static str],
    /// Kind.
    pub kind: &'static str,
    /// Plural, lower case.
    pub plural: &'static str,
    /// Whether objects live in namespaces.
    pub namespaced: bool,
    /// The kind by which classes know its Pods, where that is another.
    pub owner: &'static str,
    /// Its Pod groups.
    pub groups: &'static [GroupPath<'static>],
    /// What its controller adds to a Pod that rules look at: labels, variables, the scheduler.
    pub completes: Option<fn(&Value, &mut Value)>,
    /// Whether fields of placement may be written into the template; where not, only the Pod is changed.
    pub takes_placement: bool,
}

/// Where a Pod group of a kind stands. Paths are those of findings, with `[]` for every entry of a list or map:
/// `spec.replicatedJobs[].template.spec.template`.
#[derive(Clone, Copy, Debug)]
pub struct GroupPath<'a> {
    /// What holds the Pod.
    pub template: &'a str,
    /// What is found there.
    pub layout: Layout<'a>,
    /// How many Pods.
    pub count: Count<'a>,
    /// How many of them must run together, or none can work.
    pub together: Count<'a>,
    /// How it rolls out.
    pub rollout: Rollout,
    /// What its Pods are for the others.
    pub role: Role,
    /// Where a deadline of the whole may stand.
    pub deadline: &'a [&'a str],
}

/// What is found at a template's path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout<'a> {
    /// An object with `metadata` and `spec`.
    Template,
    /// A PodSpec; labels and annotations stand beside it.
    Spec,
    /// A PodSpec that holds labels, annotations and a model server's container among its fields (KServe).
    Component,
    /// A step of an Argo workflow; `defaults` is the path of what holds for all steps.
    Step {
        /// Such as `spec`.
        defaults: &'a str,
    },
    /// The trainer of a Kubeflow TrainJob: one container's fields.
    Trainer,
}

/// How many Pods a group makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Count<'a> {
    /// A number of the object.
    At(Number<'a>),
    /// The product of two.
    Product(Number<'a>, Number<'a>),
    /// As many as there are.
    Same,
    /// One a node.
    EveryNode,
    /// The object does not say.
    Unknown,
}

/// A number at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Number<'a> {
    /// Where it stands; `[]` is the entry that the template stands in.
    pub at: &'a str,
    /// Where it stands if not there.
    pub or: &'a str,
    /// Its value where it is absent.
    pub otherwise: i64,
    /// A bound that it is raised to, such as `minReplicas`.
    pub at_least: &'a str,
    /// It counts one Pod more than this group has where there is something at this path: the leader of the group
    /// has a template of its own.
    pub less_one_for: &'a str,
}

/// A kind that a policy adds to the table.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedKind {
    /// API group; empty for the core group.
    pub group: String,
    /// Kind.
    pub kind: String,
    /// Its templates; empty: searched for.
    pub templates: Vec<AddedTemplate>,
}

/// A template of a kind that a policy adds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AddedTemplate {
    /// Path of an object with `metadata` and `spec`, or of a PodSpec.
    pub path: String,
    /// Path of the number of Pods.
    pub count: Option<String>,
}

/// The row of an object's kind.
#[must_use]
pub fn find(api_version: &str, kind: &str) -> Option<&'static TemplateKind> {
    let group = group_of(api_version);
    TEMPLATE_KINDS.iter().find(|row| row.kind == kind && row.group == group)
}

/// The row that a policy adds for an object's kind.
#[must_use]
pub fn find_added<'a>(added: &'a [AddedKind], api_version: &str, kind: &str) -> Option<&'a AddedKind> {
    let group = group_of(api_version);
    added.iter().find(|row| row.kind == kind && row.group == group)
}

/// What is wrong in a template: path and problem.
pub type Failure = (String, String);

/// Reads the Pod groups of an object of that kind.
///
/// # Errors
/// The path and what is wrong there, where a template has a value of another type.
pub fn groups(row: &TemplateKind, object: &Value) -> Result<Vec<PodGroup>, Failure> {
    let mut groups = Vec::new();
    for path in row.groups {
        for mut group in read(path, object)? {
            if let Some(complete) = row.completes {
                let mut raw = (*group.raw).clone();
                complete(object, &mut raw);
                group.pod = layout::pod_of(&raw).map_err(|(at, what)| (group.place(&at), what))?;
                group.raw = Arc::new(raw);
            }
            group.takes_changes = row.takes_placement;
            groups.push(group);
        }
    }
    if layout::is_queued(object) {
        layout::start_together(&mut groups);
    }
    start_with_fewer(object, &mut groups);
    Ok(groups)
}

/// Reads the Pod groups of an object of a kind that a policy adds; searches for them where it names no path.
///
/// # Errors
/// As [`groups`].
pub fn added_groups(row: &AddedKind, object: &Value) -> Result<Vec<PodGroup>, Failure> {
    if row.templates.is_empty() {
        return search(object);
    }
    let mut groups = Vec::new();
    for template in &row.templates {
        let count = template.count.as_deref().map_or(Count::Unknown, |at| Count::At(Number::at(at)));
        for layout in [Layout::Template, Layout::Spec] {
            let path = GroupPath { layout, count, ..GroupPath::of(&template.path) };
            groups.extend(read(&path, object)?);
        }
    }
    Ok(groups)
}

impl TemplateKind {
    /// Whether it is one of Kubernetes' own.
    #[must_use]
    pub fn is_core(&self) -> bool {
        matches!(self.group, "apps" | "batch")
    }
}

impl<'a> GroupPath<'a> {
    /// A Pod template at that path, of which nothing more is known.
    #[must_use]
    pub const fn of(template: &'a str) -> Self {
        Self {
            template,
            layout: Layout::Template,
            count: Count::Unknown,
            together: Count::Unknown,
            rollout: Rollout::Once,
            role: Role::Whole,
            deadline: &[],
        }
    }

    /// The same with so many Pods.
    #[must_use]
    pub const fn counted(self, count: Count<'a>) -> Self {
        Self { count, ..self }
    }
}

impl<'a> Number<'a> {
    /// A number that is 1 where it is absent.
    #[must_use]
    pub const fn at(at: &'a str) -> Self {
        Self { at, or: "", otherwise: 1, at_least: "", less_one_for: "" }
    }

    /// Always one.
    #[must_use]
    pub const fn one() -> Self {
        Self::at("")
    }
}

/// A job of Volcano's may start with fewer than all Pods; which ones they are it does not say.
fn start_with_fewer(object: &Value, groups: &mut [PodGroup]) {
    let Some(enough) = path::at(object, "spec.minAvailable").and_then(Value::as_i64) else { return };
    let all: i64 = groups.iter().filter_map(|group| group.together).sum();
    if enough < all {
        groups.iter_mut().for_each(|group| group.together = None);
    }
}

fn group_of(api_version: &str) -> &str {
    api_version.rsplit_once('/').map_or("", |(group, _)| group)
}

/// The groups of one row: one for each entry of its lists.
fn read(path: &GroupPath<'_>, object: &Value) -> Result<Vec<PodGroup>, Failure> {
    let mut groups = Vec::new();
    for found in path::walk(object, path.template) {
        let Some(laid) = layout::lay(path.layout, object, &found) else { continue };
        let number = |count: Count<'_>| count_of(count, object, &found.entries);
        let count = number(path.count);
        let mut group = PodGroup {
            path: found.place.clone(),
            raw: Arc::new(laid.pod),
            places: laid.places,
            count,
            together: if path.together == Count::Same { count } else { number(path.together) },
            rollout: path.rollout,
            role: path.role,
            deadlines: path.deadline.iter().map(|at| path::with_entries(at, &found.entries)).collect(),
            ..PodGroup::default()
        };
        group.pod = layout::pod_of(&group.raw).map_err(|(at, what)| (group.place(&at), what))?;
        groups.push(group);
    }
    Ok(groups)
}

fn count_of(count: Count<'_>, object: &Value, entries: &[Place]) -> Option<i64> {
    let number = |number: Number<'_>| {
        let at = |place: &str| path::one(object, place, entries);
        let integer = |place: &str| {
            at(place).and_then(|value| match value {
                // Annotations are text.
                Value::String(text) => text.parse().ok(),
                other => other.as_i64(),
            })
        };
        let least = integer(number.at_least).unwrap_or(i64::MIN);
        let value = integer(number.at).or_else(|| integer(number.or)).unwrap_or(number.otherwise).max(least);
        value - i64::from(!number.less_one_for.is_empty() && at(number.less_one_for).is_some())
    };
    match count {
        Count::At(one) => Some(number(one)),
        Count::Product(one, other) => Some(number(one).saturating_mul(number(other))),
        Count::Same | Count::EveryNode | Count::Unknown => None,
    }
}
