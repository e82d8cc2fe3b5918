//! What makes Pods (as far as rollout and counts are read) and what scales and protects them.

use serde::Deserialize;

use super::{IntOrText, LabelSelector, Meta, nullable};

/// Any workload that holds a Pod template: only counts and rollout are read here, the template is taken
/// by the table of [`crate::subject::templates`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Workload {
    /// Kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Group and version.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: WorkloadSpec,
}

/// The union of the workload fields that we read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadSpec {
    /// 1 where absent.
    pub replicas: Option<i64>,
    /// Pods of this workload.
    pub selector: Option<LabelSelector>,
    /// Deployment.
    #[serde(deserialize_with = "nullable")]
    pub strategy: Strategy,
    /// StatefulSet and DaemonSet.
    #[serde(deserialize_with = "nullable")]
    pub update_strategy: Strategy,
    /// Seconds; 600 where absent.
    pub progress_deadline_seconds: Option<i64>,
    /// Job.
    pub parallelism: Option<i64>,
    /// Job.
    pub completions: Option<i64>,
    /// Job; seconds.
    pub active_deadline_seconds: Option<i64>,
    /// `Parallel` or `OrderedReady` (StatefulSet).
    #[serde(deserialize_with = "nullable")]
    pub pod_management_policy: String,
}

/// Rollout strategy of a Deployment, StatefulSet or DaemonSet.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Strategy {
    /// `RollingUpdate`, `Recreate`, `OnDelete`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// Parameters of `RollingUpdate`.
    pub rolling_update: Option<RollingUpdate>,
}

/// `rollingUpdate`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RollingUpdate {
    /// Rounded up.
    pub max_surge: Option<IntOrText>,
    /// Rounded down by the Deployment controller.
    pub max_unavailable: Option<IntOrText>,
    /// StatefulSet.
    pub partition: Option<i64>,
}

/// A PodDisruptionBudget.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudget {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: PodDisruptionBudgetSpec,
    /// Observed state.
    pub status: Option<PodDisruptionBudgetStatus>,
}

/// `PodDisruptionBudgetSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetSpec {
    /// Pods that must stay.
    pub min_available: Option<IntOrText>,
    /// Pods that may go.
    pub max_unavailable: Option<IntOrText>,
    /// `None` selects no Pod, `{}` every Pod of the namespace (policy/v1).
    pub selector: Option<LabelSelector>,
    /// `IfHealthyBudget` (default) or `AlwaysAllow`.
    pub unhealthy_pod_eviction_policy: Option<String>,
}

/// `PodDisruptionBudgetStatus`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodDisruptionBudgetStatus {
    /// Evictions allowed now.
    #[serde(deserialize_with = "nullable")]
    pub disruptions_allowed: i64,
    /// Pods counted.
    #[serde(deserialize_with = "nullable")]
    pub expected_pods: i64,
}

/// A HorizontalPodAutoscaler.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HorizontalPodAutoscaler {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: HorizontalPodAutoscalerSpec,
}

/// `HorizontalPodAutoscalerSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HorizontalPodAutoscalerSpec {
    /// What is scaled.
    #[serde(deserialize_with = "nullable")]
    pub scale_target_ref: ScaleTarget,
    /// 1 where absent.
    pub min_replicas: Option<i64>,
    /// Upper bound.
    #[serde(deserialize_with = "nullable")]
    pub max_replicas: i64,
}

/// `CrossVersionObjectReference`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ScaleTarget {
    /// Kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}
