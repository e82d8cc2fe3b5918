//! `kind: AdmissionPolicy`.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{ApiVersion, Metadata, Selector};
use crate::policy::set::Severity;

/// Where findings act, and how strongly.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdmissionPolicy {
    /// Group and version of this schema.
    pub api_version: ApiVersion,
    /// Always `AdmissionPolicy`.
    pub kind: AdmissionPolicyKind,
    /// Name of the policy.
    pub metadata: Metadata,
    /// What the policy says.
    pub spec: AdmissionPolicySpec,
}

/// The value of `kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum AdmissionPolicyKind {
    /// The only value.
    AdmissionPolicy,
}

/// What an admission policy says.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AdmissionPolicySpec {
    /// Where it applies; left out: everywhere. Of several policies that apply, the most specific counts.
    #[serde(default)]
    pub namespaces: Namespaces,
    /// The strongest thing that happens. `deny`: Pods are changed and refused. `warn`: nothing is refused or
    /// changed, findings and would-be changes are shown. `audit`: nothing is said, everything is counted.
    pub action: Severity,
    /// Severity of single rules, by rule id (`sluice explain` lists them). The action still bounds it.
    #[serde(default)]
    #[schemars(extend("examples" = [{"rollout-needs-spare-gpu": "deny"}]))]
    pub rules: BTreeMap<String, Severity>,
    /// Rules that a manifest may suppress for itself, by the annotation `sluice.dev/suppress` with `RULE: reason`;
    /// such findings are counted and not shown. Left out: none; then only a PolicyException spares anybody.
    #[serde(default)]
    #[schemars(extend("examples" = [["grace-too-short"]]))]
    pub suppressible: Vec<String>,
    /// Age after which the picture of the cluster is too old to refuse something for being absent.
    #[schemars(extend("examples" = ["2m"]))]
    pub max_picture_age: Option<String>,
    /// ServiceAccounts, `namespace/name`, whose Pods may touch GPUs past the scheduler: device plugins,
    /// exporters.
    #[serde(default)]
    #[schemars(extend("examples" = [["gpu-operator/nvidia-device-plugin"]]))]
    pub exempt_service_accounts: Vec<String>,
    /// Scheduler that GPU Pods are given where they name none of their own; left out: they keep what they
    /// have.
    #[schemars(extend("examples" = ["sluice-scheduler"]))]
    pub scheduler_name: Option<String>,
    /// Refuse Pods that ask for no GPU on GPU pools, instead of warning about them.
    #[serde(default)]
    pub gpu_nodes_only_for_gpu: bool,
    /// Kinds that hold Pod templates, besides those of `docs/kinds.md`. They hold for every namespace. `check` and
    /// the server judge them at once; for the API server to ask, add the kind to the rules of the webhook
    /// `workloads.sluice.dev`.
    #[serde(default)]
    #[schemars(extend("examples" = [[{"group": "example.com", "kind": "ModelServer"}]]))]
    pub template_kinds: Vec<TemplateKind>,
}

/// A kind that holds Pod templates.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplateKind {
    /// API group, without a version.
    #[serde(default)]
    #[schemars(extend("examples" = ["example.com"]))]
    pub group: String,
    /// Kind.
    #[schemars(extend("examples" = ["ModelServer"]))]
    pub kind: String,
    /// Where its templates are; left out: whatever looks like a Pod is taken.
    #[serde(default)]
    pub templates: Vec<TemplatePath>,
}

/// A template within an object; `[]` stands for every entry of a list or map.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TemplatePath {
    /// Path of an object with `metadata` and `spec`, or of a Pod's spec.
    #[schemars(extend("examples" = ["spec.groups[].template"]))]
    pub path: String,
    /// Path of the number of Pods.
    #[schemars(extend("examples" = ["spec.groups[].replicas"]))]
    pub count: Option<String>,
}

/// Which namespaces. Everything that is given must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Namespaces {
    /// Names, `*` as wildcard; empty: all.
    #[serde(default)]
    #[schemars(extend("examples" = [["team-*"]]))]
    pub names: Vec<String>,
    /// Names that are left out, `*` as wildcard.
    #[serde(default)]
    #[schemars(extend("examples" = [["kube-system"]]))]
    pub except: Vec<String>,
    /// Labels of the Namespace.
    pub labels: Option<Selector>,
}
