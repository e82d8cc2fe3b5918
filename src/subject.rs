//! What is judged: raw JSON and the facts of its request, read into a [`Subject`].
//!
//! Time, user and operation enter the engine here and nowhere else. The raw object is kept as it came:
//! changes are applied to it, so that fields which we do not know survive.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod demand;
pub mod engine;
mod read;
pub mod relevant;
pub mod suppress;
pub mod templates;

use std::sync::Arc;

use serde_json::Value;

use crate::k8s::object::{
    Certificate, LabelSelector, LimitRange, Node, Pod, PodDisruptionBudget, PriorityClass, ResourceQuota,
    SchedulerConfiguration, WebhookConfiguration, Workload,
};

pub use read::{Kinds, Reading, Unreadable, read, read_as};

/// Annotation keys of the stamp: the record of a decision on the object. Never an input of a decision.
pub mod stamp {
    /// Id of the decision.
    pub const DECISION: &str = "sluice.dev/decision";
    /// Class that was recognised.
    pub const CLASS: &str = "sluice.dev/decided-class";
    /// Candidate pools in order of preference, separated by commas.
    pub const POOLS: &str = "sluice.dev/pools";
    /// Why it is on a later choice of its class.
    pub const FALLBACK: &str = "sluice.dev/fallback";
    /// Revision of the policies.
    pub const REVISION: &str = "sluice.dev/revision";
    /// Arm of an experiment.
    pub const ARM: &str = "sluice.dev/arm";
    /// Every key of the stamp.
    pub const KEYS: [&str; 6] = [DECISION, CLASS, POOLS, FALLBACK, REVISION, ARM];
}

/// The label by which a team names the class of a Pod.
pub const CLASS_LABEL: &str = "sluice.dev/class";

/// What is judged, with the facts of its request.
#[derive(Clone, Debug)]
pub struct Subject {
    /// `apiVersion` of the object.
    pub api_version: String,
    /// `kind` of the object.
    pub kind: String,
    /// Namespace of object or request; empty for cluster-scoped kinds.
    pub namespace: String,
    /// Name, or what `generateName` will make of it.
    pub name: String,
    /// The object as it came.
    pub raw: Arc<Value>,
    /// What was read from it.
    pub body: Body,
    /// Facts of the request.
    pub facts: Facts,
}

/// The kinds of things that are judged.
#[derive(Clone, Debug)]
pub enum Body {
    /// A Pod.
    Pod(Box<Pod>),
    /// Anything that holds Pod templates.
    Template(Box<Template>),
    /// A PodDisruptionBudget.
    Budget(Box<PodDisruptionBudget>),
    /// A ResourceQuota.
    Quota(Box<ResourceQuota>),
    /// A LimitRange.
    Limits(Box<LimitRange>),
    /// A PriorityClass.
    Priority(Box<PriorityClass>),
    /// A Node whose labels change.
    Node(Box<NodeChange>),
    /// Configuration of webhooks or schedulers.
    Installation(Box<Installation>),
}

/// What an installation is set up by.
#[derive(Clone, Debug)]
pub enum Installation {
    /// A ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
    Webhooks(WebhookConfiguration),
    /// A KubeSchedulerConfiguration.
    Scheduler(SchedulerConfiguration),
    /// A cert-manager Certificate that is an authority.
    Authority(Certificate),
}

/// A Node before and after.
#[derive(Clone, Debug)]
pub struct NodeChange {
    /// After.
    pub new: Node,
    /// Before, on UPDATE.
    pub old: Option<Node>,
}

/// A workload with its Pod groups.
#[derive(Clone, Debug)]
pub struct Template {
    /// Counts and rollout of the whole.
    pub workload: Workload,
    /// One or more Pod groups: leader and workers, replicated jobs, head and worker groups. None where a policy
    /// names the kind and nothing in the object looks like a Pod.
    pub groups: Vec<PodGroup>,
    /// The kind by which classes know its Pods.
    pub owner: String,
}

/// One Pod template with how many Pods it makes.
#[derive(Clone, Debug, Default)]
pub struct PodGroup {
    /// Where the template stands in the object, from its root: `spec.template`.
    pub path: String,
    /// The Pod that it makes.
    pub pod: Pod,
    /// The same as JSON, with what the kind's controller adds.
    pub raw: Arc<Value>,
    /// Beginnings of the Pod's own paths with what they are in the object, where they do not simply follow
    /// [`PodGroup::path`].
    pub places: Vec<(String, String)>,
    /// Pods at full size; `None` where the object does not say (one a node, or set by an autoscaler).
    pub count: Option<i64>,
    /// Pods that must run together, or none can work; `None` where each is of use alone.
    pub together: Option<i64>,
    /// How it rolls out.
    pub rollout: Rollout,
    /// What its Pods are for the others.
    pub role: Role,
    /// Where a deadline of the whole may stand.
    pub deadlines: Vec<String>,
    /// Whether changes may be shown on the template.
    pub takes_changes: bool,
}

/// What the Pods of a group are for the others.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Role {
    /// They work alone.
    #[default]
    Whole,
    /// They answer for their group.
    Leader,
    /// They answer to their leader only.
    Worker,
}

/// How a Pod group is replaced by its next version.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Rollout {
    /// As a Deployment: surge and unavailable Pods side by side.
    Deployment,
    /// As a StatefulSet: one by one, old before new.
    StatefulSet,
    /// As a DaemonSet.
    DaemonSet,
    /// As a LeaderWorkerSet: group by group.
    LeaderWorkerSet,
    /// As an Argo Rollout: canary or blue and green.
    Argo,
    /// The next version starts whole before the last one goes.
    Beside,
    /// Runs once: nothing is rolled out.
    #[default]
    Once,
}

/// Facts of the request under which an object is judged.
#[derive(Clone, Debug, PartialEq)]
pub struct Facts {
    /// Which question is asked.
    pub stage: Stage,
    /// Operation.
    pub operation: Operation,
    /// Subresource, such as `ephemeralcontainers`.
    pub subresource: Option<String>,
    /// The object before an UPDATE.
    pub old: Option<Arc<Value>>,
    /// Who asks.
    pub user: String,
    /// Groups of who asks.
    pub groups: Vec<String>,
    /// No side effects wanted.
    pub dry_run: bool,
    /// Seconds since the Unix epoch: the only clock of the engine.
    pub now: i64,
}

/// Which question is asked of the engine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stage {
    /// What should this object be? (mutating webhook)
    Mutate,
    /// Is this final object permitted and possible? (validating webhook)
    Validate,
    /// Which nodes can run this Pod? (extender)
    Schedule,
    /// Both of the first two, on a file. (`check`, `test`, `scan`)
    Check,
}

/// Operation of an admission request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Made.
    #[default]
    Create,
    /// Changed.
    Update,
    /// Deleted.
    Delete,
    /// Connected to.
    Connect,
}

impl Facts {
    /// Facts of an object that stands in a file, judged at `now` (Unix seconds).
    #[must_use]
    pub fn of_file(now: i64) -> Self {
        Self { now, ..Self::new(Stage::Check) }
    }

    /// A creation at that stage, at time 0 and by nobody.
    #[must_use]
    pub fn new(stage: Stage) -> Self {
        Self {
            stage,
            operation: Operation::Create,
            subresource: None,
            old: None,
            user: String::new(),
            groups: Vec::new(),
            dry_run: false,
            now: 0,
        }
    }
}

impl Operation {
    /// The word of `AdmissionRequest.operation`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }

    /// From that word.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::Create, Self::Update, Self::Delete, Self::Connect].into_iter().find(|o| o.as_str() == word)
    }
}

impl PodGroup {
    /// Where a path of the Pod (`spec.containers[0]`) stands in the object.
    #[must_use]
    pub fn place(&self, path: &str) -> String {
        let moved =
            self.places.iter().find_map(|(from, to)| Some(format!("{to}{}", path.strip_prefix(&**from)?)));
        moved.unwrap_or_else(|| format!("{}.{path}", self.path))
    }
}

impl Template {
    /// The group whose paths begin with `prefix`, which may end in a dot.
    #[must_use]
    pub fn group(&self, prefix: &str) -> Option<&PodGroup> {
        let path = prefix.strip_suffix('.').unwrap_or(prefix);
        self.groups.iter().find(|group| group.path == path)
    }
}

impl Subject {
    /// The Pods that this object is or makes: path prefix (empty for a Pod itself, else ending in a dot),
    /// Pod, and count where it is known.
    pub fn pods(&self) -> impl Iterator<Item = (String, &Pod, Option<i64>)> {
        let (pod, groups) = match &self.body {
            Body::Pod(pod) => (Some(&**pod), [].as_slice()),
            Body::Template(template) => (None, template.groups.as_slice()),
            _ => (None, [].as_slice()),
        };
        pod.map(|pod| (String::new(), pod, Some(1)))
            .into_iter()
            .chain(groups.iter().map(|group| (format!("{}.", group.path), &group.pod, group.count)))
    }

    /// The selector of the workload's Pods, where it has one.
    #[must_use]
    pub fn selector(&self) -> Option<&LabelSelector> {
        match &self.body {
            Body::Template(template) => template.workload.spec.selector.as_ref(),
            _ => None,
        }
    }

    /// The object before an UPDATE is being deleted: only finalizers and status still change.
    #[must_use]
    pub fn is_being_deleted(&self) -> bool {
        let marked =
            |object: &Value| object.pointer("/metadata/deletionTimestamp").is_some_and(|t| !t.is_null());
        marked(&self.raw) || self.facts.old.as_deref().is_some_and(marked)
    }
}
