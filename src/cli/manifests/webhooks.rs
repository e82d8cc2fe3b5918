//! The two webhook configurations: which requests the API server asks us about, and what it does when we do
//! not answer.
//!
//! Mutation fails open and validation judges the final object, closed only where a GPU is asked for. DELETE,
//! status and Leases are never ours. An `UPDATE` of a Pod is not either: what could matter in it cannot be
//! changed any more, and finalizers must go.

use super::{
    conditions::{asks_for_gpu, could_reach_gpu, names_node},
    yaml,
};
use crate::subject::templates::{TEMPLATE_KINDS, TemplateKind};

/// A request that an entry is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiRule {
    /// API group; empty for the core group.
    pub group: &'static str,
    /// Versions.
    pub versions: &'static [&'static str],
    /// Operations.
    pub operations: &'static [&'static str],
    /// Plurals, with subresources.
    pub resources: Vec<&'static str>,
    /// Whether the objects live in namespaces.
    pub namespaced: bool,
}

/// A CEL match condition; all of an entry's have to hold.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Name, as error messages and metrics show it.
    pub name: &'static str,
    /// CEL.
    pub expression: String,
}

/// What the API server does where we do not answer, or a condition errs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailurePolicy {
    /// Refuses the request.
    Fail,
    /// Goes on as if we were not there.
    Ignore,
}

/// One webhook of a configuration.
#[derive(Clone, Debug)]
pub struct Entry {
    /// Unique name; the API server puts it before our text.
    pub name: &'static str,
    /// Why it is there.
    pub purpose: &'static str,
    /// Path on the server.
    pub path: &'static str,
    /// What happens without an answer.
    pub failure_policy: FailurePolicy,
    /// Seconds until that counts as no answer.
    pub timeout_seconds: u8,
    /// Requests.
    pub rules: Vec<ApiRule>,
    /// Conditions.
    pub conditions: Vec<Condition>,
}

/// Where the configurations send requests.
#[derive(Clone, Copy, Debug)]
pub struct Target<'a> {
    /// Namespace of the Service `sluice`.
    pub namespace: &'a str,
    /// base64 of the CA's PEM; without one, whoever installs it fills it in.
    pub ca_bundle: Option<&'a str>,
}

/// The mutating entry.
#[must_use]
pub fn mutating() -> Vec<Entry> {
    vec![Entry {
        name: "steer.sluice.dev",
        purpose: "Steers a Pod to the pools of its class. Called again after other webhooks have changed the Pod.",
        path: "/mutate",
        failure_policy: FailurePolicy::Ignore,
        timeout_seconds: 2,
        rules: vec![core(CREATE, &["pods"])],
        conditions: vec![
            not_mirror(),
            Condition { name: "concerns-gpus", expression: concerns_gpus("object") },
        ],
    }]
}

/// The validating entries (a) to (d).
#[must_use]
pub fn validating() -> Vec<Entry> {
    vec![gpu_pods(), other_pods(), templates(), workloads(), budgets(), mig_changes()]
}

/// `webhook-config/mutating.yaml`.
#[must_use]
pub fn mutating_yaml(target: Target<'_>) -> String {
    configuration(MUTATING, &mutating(), "reinvocationPolicy: IfNeeded\n", target)
}

/// `webhook-config/validating.yaml`.
#[must_use]
pub fn validating_yaml(target: Target<'_>) -> String {
    configuration(VALIDATING, &validating(), "", target)
}

/// Both configurations reduced to names and CA, for server-side apply over an installed overlay: whoever
/// applies it owns the CA and nothing else.
#[must_use]
pub fn authority_yaml(ca_bundle: &str) -> String {
    let configuration = |kind: &str, entries: &[Entry]| {
        let webhooks: String = entries
            .iter()
            .map(|entry| format!("- name: {}\n  clientConfig:\n    caBundle: {ca_bundle}\n", entry.name))
            .collect();
        format!("{}webhooks:\n{webhooks}", head(kind))
    };
    format!("{}---\n{}", configuration(MUTATING, &mutating()), configuration(VALIDATING, &validating()))
}

impl FailurePolicy {
    /// The API's word.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Fail => "Fail",
            Self::Ignore => "Ignore",
        }
    }
}

const MUTATING: &str = "MutatingWebhookConfiguration";
const VALIDATING: &str = "ValidatingWebhookConfiguration";

pub(super) const CREATE: &[&str] = &["CREATE"];
pub(super) const UPDATE: &[&str] = &["UPDATE"];
const WRITE: &[&str] = &["CREATE", "UPDATE"];

pub(super) fn core(operations: &'static [&'static str], resources: &[&'static str]) -> ApiRule {
    ApiRule { group: "", versions: &["v1"], operations, resources: resources.to_vec(), namespaced: true }
}

fn gpu_pods() -> Entry {
    Entry {
        name: "gpu-pods.sluice.dev",
        purpose: "(a) A Pod that asks for a GPU runs only if it was judged. The one entry that fails closed.",
        path: "/validate",
        failure_policy: FailurePolicy::Fail,
        timeout_seconds: 3,
        rules: vec![core(CREATE, &["pods"]), core(UPDATE, &["pods/ephemeralcontainers", "pods/resize"])],
        conditions: vec![
            not_deleted(),
            not_mirror(),
            Condition { name: "asks-for-a-gpu", expression: asks_for_gpu("object") },
        ],
    }
}

fn other_pods() -> Entry {
    Entry {
        name: "other-pods.sluice.dev",
        purpose: "(b) A Pod that asks for no GPU and could reach one all the same. A claim counts here, it may be a NIC.",
        path: "/validate",
        failure_policy: FailurePolicy::Ignore,
        timeout_seconds: 2,
        rules: vec![core(CREATE, &["pods"]), core(UPDATE, &["pods/ephemeralcontainers"])],
        conditions: vec![
            not_deleted(),
            not_mirror(),
            Condition {
                name: "could-reach-a-gpu",
                expression: format!(
                    "{}\n|| request.operation == 'CREATE' && {}",
                    could_reach_gpu("object"),
                    names_node("object")
                ),
            },
            Condition { name: "asks-for-no-gpu", expression: format!("!({})", asks_for_gpu("object")) },
        ],
    }
}

fn templates() -> Entry {
    Entry {
        name: "templates.sluice.dev",
        purpose: "(c) What makes Pods: whoever applies it sees the finding at once.",
        path: "/validate",
        failure_policy: FailurePolicy::Ignore,
        timeout_seconds: 2,
        rules: rules_of(TEMPLATE_KINDS.iter().filter(|row| row.is_core())),
        conditions: vec![
            not_deleted(),
            spec_changed(),
            Condition {
                name: "is-not-made-by-a-controller",
                expression: format!("!(request.kind.kind in ['ReplicaSet', 'Job']\n  && {})", HAS_CONTROLLER),
            },
            Condition { name: "template-concerns-gpus", expression: template_concerns_gpus() },
        ],
    }
}

/// Kinds of AI platforms. Their templates stand in lists, in maps and among other fields; what a condition could
/// not find it would hide, so every one is asked about. They are few, and we fail open.
fn workloads() -> Entry {
    Entry {
        name: "workloads.sluice.dev",
        purpose: "(c) The same for the kinds of AI platforms, where they are installed.",
        path: "/validate",
        failure_policy: FailurePolicy::Ignore,
        timeout_seconds: 2,
        rules: rules_of(TEMPLATE_KINDS.iter().filter(|row| !row.is_core())),
        conditions: vec![
            not_deleted(),
            spec_changed(),
            Condition { name: "is-not-made-by-a-controller", expression: format!("!{HAS_CONTROLLER}") },
        ],
    }
}

/// What a controller makes of an object that was judged is not judged again.
const HAS_CONTROLLER: &str =
    "object.metadata.?ownerReferences.orValue([]).exists(o, o.?controller.orValue(false))";

/// One rule for each group, its versions and scope.
fn rules_of(rows: impl Iterator<Item = &'static TemplateKind>) -> Vec<ApiRule> {
    let mut rules: Vec<ApiRule> = Vec::new();
    for row in rows {
        let same = |rule: &&mut ApiRule| {
            (rule.group, rule.versions, rule.namespaced) == (row.group, row.versions, row.namespaced)
        };
        match rules.iter_mut().find(same) {
            Some(rule) => rule.resources.push(row.plural),
            None => rules.push(ApiRule {
                group: row.group,
                versions: row.versions,
                operations: WRITE,
                resources: vec![row.plural],
                namespaced: row.namespaced,
            }),
        }
    }
    rules
}

/// Whether what is being created concerns us for any reason.
fn concerns_gpus(pod: &str) -> String {
    [asks_for_gpu(pod), could_reach_gpu(pod), names_node(pod)].join("\n|| ")
}

/// Whether any of an object's templates concerns us; a template without a Pod spec counts.
fn template_concerns_gpus() -> String {
    let mut paths: Vec<String> = TEMPLATE_KINDS
        .iter()
        .filter(|row| row.is_core())
        .flat_map(|row| row.groups)
        .map(|group| format!("?object.?{}", group.template.replace('.', ".?")))
        .collect();
    paths.sort();
    paths.dedup();
    format!("[{}].exists(t, !has(t.spec)\n|| {})", paths.join(", "), concerns_gpus("t"))
}

fn budgets() -> Entry {
    let budgets = ApiRule { group: "policy", ..core(WRITE, &["poddisruptionbudgets"]) };
    Entry {
        name: "budgets.sluice.dev",
        purpose: "(c) Budgets, quotas and limits under which GPU Pods could not be drained, or not be created.",
        path: "/validate",
        failure_policy: FailurePolicy::Ignore,
        timeout_seconds: 2,
        rules: vec![budgets, core(WRITE, &["resourcequotas", "limitranges"])],
        conditions: vec![not_deleted(), spec_changed()],
    }
}

fn mig_changes() -> Entry {
    let label = "metadata.?labels[?'nvidia.com/mig.config']";
    Entry {
        name: "mig-changes.sluice.dev",
        purpose: "(d) A new MIG layout for a node ends whoever runs on the old one. No other change of a Node is ours.",
        path: "/validate",
        failure_policy: FailurePolicy::Ignore,
        timeout_seconds: 1,
        rules: vec![ApiRule { namespaced: false, ..core(UPDATE, &["nodes"]) }],
        conditions: vec![Condition {
            name: "mig-config-changed",
            expression: format!("object.{label} != oldObject.{label}"),
        }],
    }
}

/// Finalizers have to go, whatever the rest of the object looks like.
fn not_deleted() -> Condition {
    Condition {
        name: "is-not-being-deleted",
        expression: "!has(object.metadata.deletionTimestamp)".to_owned(),
    }
}

fn spec_changed() -> Condition {
    Condition {
        name: "spec-is-new",
        expression: "request.operation == 'CREATE' || object.spec != oldObject.spec".to_owned(),
    }
}

/// The kubelet's own record of a static Pod, which runs whatever we say. The annotation alone proves nothing:
/// only the node that the Pod names may use it.
pub(super) fn not_mirror() -> Condition {
    Condition {
        name: "is-not-a-mirror-pod",
        expression: "!('kubernetes.io/config.mirror' in object.metadata.?annotations.orValue({})\n  \
                     && request.userInfo.username == 'system:node:' + object.spec.?nodeName.orValue('')\n  \
                     && has(request.userInfo.groups) && 'system:nodes' in request.userInfo.groups)"
            .to_owned(),
    }
}

fn configuration(kind: &str, entries: &[Entry], policy: &str, target: Target<'_>) -> String {
    let entries: String = entries.iter().map(|entry| webhook(entry, policy, target)).collect();
    format!("{}{}webhooks:\n{entries}", yaml::header("Why each choice: docs/installation.md."), head(kind))
}

fn head(kind: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1\nkind: {kind}\nmetadata:\n  name: sluice\n  labels:\n    \
         app.kubernetes.io/name: sluice\n"
    )
}

fn webhook(entry: &Entry, policy: &str, target: Target<'_>) -> String {
    let is_namespaced = entry.rules.iter().any(|rule| rule.namespaced);
    let selector = if is_namespaced { yaml::namespace_selector(target.namespace) } else { String::new() };
    let ca_bundle = target.ca_bundle.map(|ca| format!("  caBundle: {ca}\n")).unwrap_or_default();
    let rules: String = entry.rules.iter().map(yaml::rule).collect();
    let conditions: String = entry.conditions.iter().map(yaml::condition).collect();
    let body = format!(
        "admissionReviewVersions: [v1]\nclientConfig:\n{ca_bundle}  service:\n    name: sluice\n    namespace: {}\n    path: {}\n    port: 443\n\
         failurePolicy: {}\ntimeoutSeconds: {}\nsideEffects: None\nmatchPolicy: Equivalent\n{policy}rules:\n{rules}{selector}matchConditions:\n{conditions}",
        target.namespace,
        entry.path,
        entry.failure_policy.as_str(),
        entry.timeout_seconds,
    );
    format!("{}- name: {}\n{}", yaml::comment(entry.purpose), entry.name, yaml::indent(&body, 2))
}
