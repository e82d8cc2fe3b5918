//! Pods and what stands inside a Pod template.
//!
//! Long because it is one list of fields, each with what it means; the reader looks up a single one.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use super::{Expression, IntOrText, LabelSelector, Labels, Meta, ResourceList, nullable};

/// A Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Pod {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: PodSpec,
    /// Observed state.
    #[serde(deserialize_with = "nullable")]
    pub status: PodStatus,
}

/// `PodSpec` as far as we read it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Application containers.
    #[serde(deserialize_with = "nullable")]
    pub containers: Vec<Container>,
    /// Init containers; native sidecars are those with `restartPolicy: Always`.
    #[serde(deserialize_with = "nullable")]
    pub init_containers: Vec<Container>,
    /// Ephemeral (debug) containers.
    #[serde(deserialize_with = "nullable")]
    pub ephemeral_containers: Vec<Container>,
    /// Volumes.
    #[serde(deserialize_with = "nullable")]
    pub volumes: Vec<Volume>,
    /// All of these labels on the node.
    #[serde(deserialize_with = "nullable")]
    pub node_selector: Labels,
    /// Affinity.
    #[serde(deserialize_with = "nullable")]
    pub affinity: Affinity,
    /// Tolerations.
    #[serde(deserialize_with = "nullable")]
    pub tolerations: Vec<Toleration>,
    /// Name of the PriorityClass.
    #[serde(deserialize_with = "nullable")]
    pub priority_class_name: String,
    /// The resolved value.
    pub priority: Option<i64>,
    /// `PreemptLowerPriority` or `Never`.
    pub preemption_policy: Option<String>,
    /// Defaulted to `default-scheduler` before any webhook sees it.
    #[serde(deserialize_with = "nullable")]
    pub scheduler_name: String,
    /// Set by the binding, or by who goes around the scheduler.
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
    /// RuntimeClass.
    #[serde(deserialize_with = "nullable")]
    pub runtime_class_name: String,
    /// Host PID namespace.
    #[serde(rename = "hostPID", deserialize_with = "nullable")]
    pub host_pid: bool,
    /// Host IPC namespace.
    #[serde(rename = "hostIPC", deserialize_with = "nullable")]
    pub host_ipc: bool,
    /// Host network namespace.
    #[serde(deserialize_with = "nullable")]
    pub host_network: bool,
    /// Pod-level resources; only cpu, memory and hugepages count (KEP-2837).
    #[serde(deserialize_with = "nullable")]
    pub resources: Resources,
    /// DRA claims.
    #[serde(deserialize_with = "nullable")]
    pub resource_claims: Vec<PodResourceClaim>,
    /// What the RuntimeClass adds.
    #[serde(deserialize_with = "nullable")]
    pub overhead: ResourceList,
    /// `Always`, `OnFailure`, `Never`.
    #[serde(deserialize_with = "nullable")]
    pub restart_policy: String,
    /// Seconds; 30 where absent.
    pub termination_grace_period_seconds: Option<i64>,
    /// Seconds after which the Pod is failed, whatever it does.
    pub active_deadline_seconds: Option<i64>,
    /// ServiceAccount.
    #[serde(deserialize_with = "nullable")]
    pub service_account_name: String,
    /// No scheduling while any is left.
    #[serde(deserialize_with = "nullable")]
    pub scheduling_gates: Vec<Named>,
    /// Topology spread.
    #[serde(deserialize_with = "nullable")]
    pub topology_spread_constraints: Vec<TopologySpread>,
}

/// A container of any kind.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Image reference.
    #[serde(deserialize_with = "nullable")]
    pub image: String,
    /// Entrypoint.
    #[serde(deserialize_with = "nullable")]
    pub command: Vec<String>,
    /// Arguments.
    #[serde(deserialize_with = "nullable")]
    pub args: Vec<String>,
    /// Environment.
    #[serde(deserialize_with = "nullable")]
    pub env: Vec<EnvVar>,
    /// Sources of environment whose content cannot be seen here.
    #[serde(deserialize_with = "nullable")]
    pub env_from: Vec<Value>,
    /// Requests, limits, claims.
    #[serde(deserialize_with = "nullable")]
    pub resources: Resources,
    /// Liveness probe.
    pub liveness_probe: Option<Probe>,
    /// Readiness probe.
    pub readiness_probe: Option<Probe>,
    /// Startup probe.
    pub startup_probe: Option<Probe>,
    /// Mounts.
    #[serde(deserialize_with = "nullable")]
    pub volume_mounts: Vec<VolumeMount>,
    /// Security context.
    #[serde(deserialize_with = "nullable")]
    pub security_context: SecurityContext,
    /// `Always` makes an init container a native sidecar.
    #[serde(deserialize_with = "nullable")]
    pub restart_policy: String,
    /// Ports.
    #[serde(deserialize_with = "nullable")]
    pub ports: Vec<ContainerPort>,
    /// Hooks.
    #[serde(deserialize_with = "nullable")]
    pub lifecycle: Lifecycle,
}

/// Requests, limits and claims of a container or Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Resources {
    /// Requests.
    #[serde(deserialize_with = "nullable")]
    pub requests: ResourceList,
    /// Limits.
    #[serde(deserialize_with = "nullable")]
    pub limits: ResourceList,
    /// Names of entries in `spec.resourceClaims`.
    #[serde(deserialize_with = "nullable")]
    pub claims: Vec<Named>,
}

/// Anything of which only the name is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Named {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// An environment variable.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Literal value; absent where `valueFrom` is used.
    pub value: Option<String>,
    /// A source whose content cannot be seen here.
    pub value_from: Option<Value>,
}

/// A volume, as far as bypasses and `/dev/shm` need it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// A path of the host.
    pub host_path: Option<HostPath>,
    /// An empty folder, on disk or in memory.
    pub empty_dir: Option<EmptyDir>,
}

/// `hostPath` volume source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HostPath {
    /// Path on the node.
    #[serde(deserialize_with = "nullable")]
    pub path: String,
}

/// `emptyDir` volume source.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EmptyDir {
    /// `Memory`, or empty for the node's disk.
    #[serde(deserialize_with = "nullable")]
    pub medium: String,
    /// Bound of its size.
    pub size_limit: Option<super::QuantityText>,
}

/// A volume mount.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// Name of the volume.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Path in the container.
    #[serde(deserialize_with = "nullable")]
    pub mount_path: String,
}

/// Security context of a container.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecurityContext {
    /// Full access to the host's devices.
    #[serde(deserialize_with = "nullable")]
    pub privileged: bool,
}

/// A container port.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerPort {
    /// Port in the container.
    #[serde(deserialize_with = "nullable")]
    pub container_port: i64,
    /// Port on the host; 0 where none.
    #[serde(deserialize_with = "nullable")]
    pub host_port: i64,
    /// Address on the host; empty means all.
    #[serde(rename = "hostIP", deserialize_with = "nullable")]
    pub host_ip: String,
    /// `TCP` where empty.
    #[serde(deserialize_with = "nullable")]
    pub protocol: String,
    /// Name that probes may use.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
}

/// Lifecycle hooks.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Lifecycle {
    /// Runs before SIGTERM, inside the grace period.
    pub pre_stop: Option<Hook>,
}

/// A lifecycle handler, as far as its duration can be read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Hook {
    /// Command.
    pub exec: Option<Exec>,
    /// Built-in sleep.
    pub sleep: Option<Sleep>,
}

/// `exec` handler.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Exec {
    /// Command and arguments.
    #[serde(deserialize_with = "nullable")]
    pub command: Vec<String>,
}

/// `sleep` handler.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Sleep {
    /// Seconds.
    #[serde(deserialize_with = "nullable")]
    pub seconds: i64,
}

/// A probe; zero means the API's default (see [`crate::k8s::probe`]).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Probe {
    /// Seconds before the first probe.
    #[serde(deserialize_with = "nullable")]
    pub initial_delay_seconds: i64,
    /// Seconds between probes; default 10.
    #[serde(deserialize_with = "nullable")]
    pub period_seconds: i64,
    /// Seconds until a probe counts as failed; default 1.
    #[serde(deserialize_with = "nullable")]
    pub timeout_seconds: i64,
    /// Failures in a row; default 3.
    #[serde(deserialize_with = "nullable")]
    pub failure_threshold: i64,
    /// Successes in a row; default 1.
    #[serde(deserialize_with = "nullable")]
    pub success_threshold: i64,
    /// Seconds; overrides the Pod's on a probe failure.
    pub termination_grace_period_seconds: Option<i64>,
    /// HTTP handler.
    pub http_get: Option<HttpGet>,
    /// TCP handler.
    pub tcp_socket: Option<Value>,
    /// gRPC handler.
    pub grpc: Option<Value>,
    /// Command handler.
    pub exec: Option<Exec>,
}

/// HTTP probe handler.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HttpGet {
    /// Path.
    #[serde(deserialize_with = "nullable")]
    pub path: String,
    /// Port number or name.
    pub port: Option<IntOrText>,
}

/// A reference to a claim or to a template of claims.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodResourceClaim {
    /// Name inside the Pod.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// A claim that exists by itself and may be shared between Pods.
    pub resource_claim_name: Option<String>,
    /// A template: one claim for each Pod.
    pub resource_claim_template_name: Option<String>,
}

/// `affinity`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// Node affinity.
    #[serde(deserialize_with = "nullable")]
    pub node_affinity: NodeAffinity,
    /// Keep away from Pods.
    #[serde(deserialize_with = "nullable")]
    pub pod_anti_affinity: PodAntiAffinity,
}

/// `nodeAffinity`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeAffinity {
    /// Hard terms, ORed. `None` matches everything; an empty list matches nothing.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
    /// Soft terms with weights.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution", deserialize_with = "nullable")]
    pub preferred: Vec<PreferredTerm>,
}

/// `NodeSelector`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    /// ORed.
    #[serde(deserialize_with = "nullable")]
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// One term: expressions and fields, ANDed; without either it matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTerm {
    /// On labels.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<Expression>,
    /// On fields; only `metadata.name` exists.
    #[serde(deserialize_with = "nullable")]
    pub match_fields: Vec<Expression>,
}

/// A weighted term.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PreferredTerm {
    /// 1 to 100.
    #[serde(deserialize_with = "nullable")]
    pub weight: i64,
    /// The term.
    #[serde(deserialize_with = "nullable")]
    pub preference: NodeSelectorTerm,
}

/// `podAntiAffinity`, hard part.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAntiAffinity {
    /// Hard terms, ANDed.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution", deserialize_with = "nullable")]
    pub required: Vec<PodAffinityTerm>,
}

/// One hard Pod (anti-)affinity term.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodAffinityTerm {
    /// Which Pods; `None` matches none.
    pub label_selector: Option<LabelSelector>,
    /// The label that makes a domain.
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
}

/// A topology spread constraint.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologySpread {
    /// At least 1.
    #[serde(deserialize_with = "nullable")]
    pub max_skew: i64,
    /// The label that makes a domain.
    #[serde(deserialize_with = "nullable")]
    pub topology_key: String,
    /// `DoNotSchedule` or `ScheduleAnyway`.
    #[serde(deserialize_with = "nullable")]
    pub when_unsatisfiable: String,
    /// Which Pods are counted.
    pub label_selector: Option<LabelSelector>,
    /// Below so many domains the emptiest counts as 0; 1 where absent.
    pub min_domains: Option<i64>,
    /// `Honor`, or `Ignore` where absent: whether nodes whose taints are not tolerated count.
    #[serde(deserialize_with = "nullable")]
    pub node_taints_policy: String,
}

/// A toleration as written.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Toleration {
    /// Empty with `Exists` covers every key.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `Equal` where empty.
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// Compared under `Equal`, `Lt`, `Gt`.
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    /// Empty covers every effect.
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
    /// How long a `NoExecute` taint is endured; seconds.
    pub toleration_seconds: Option<i64>,
}

/// Observed state of a Pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed`, `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub phase: String,
    /// Reason of a terminal phase, such as `UnexpectedAdmissionError`.
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// Conditions.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    /// RFC 3339 time at which the kubelet accepted the Pod.
    pub start_time: Option<String>,
    /// Claims made from templates: name in the Pod to name of the claim.
    #[serde(deserialize_with = "nullable")]
    pub resource_claim_statuses: Vec<ClaimStatus>,
}

/// The claim that was made for an entry of `spec.resourceClaims`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimStatus {
    /// Name inside the Pod.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Name of the claim object.
    pub resource_claim_name: Option<String>,
}

/// A condition.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Condition {
    /// Type, such as `Ready`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// `True`, `False`, `Unknown`.
    #[serde(deserialize_with = "nullable")]
    pub status: String,
    /// Machine-readable reason.
    #[serde(deserialize_with = "nullable")]
    pub reason: String,
    /// RFC 3339.
    pub last_transition_time: Option<String>,
}

impl PodSpec {
    /// Every init and application container with its field path, in the order in which they stand.
    pub fn containers_with_paths(&self) -> impl Iterator<Item = (String, &Container)> {
        let path =
            |list: &'static str| move |(i, container): (usize, _)| (format!("spec.{list}[{i}]"), container);
        self.init_containers
            .iter()
            .enumerate()
            .map(path("initContainers"))
            .chain(self.containers.iter().enumerate().map(path("containers")))
    }
}

impl Container {
    /// A native sidecar: an init container that keeps running (KEP-753).
    #[must_use]
    pub fn is_sidecar(&self) -> bool {
        self.restart_policy == "Always"
    }

    /// The environment variable of that name; the last one wins, as in the kubelet.
    #[must_use]
    pub fn env(&self, name: &str) -> Option<&EnvVar> {
        self.env.iter().rev().find(|variable| variable.name == name)
    }

    /// Literal environment, for tables.
    #[must_use]
    pub fn literal_env(&self) -> BTreeMap<&str, &str> {
        self.env.iter().filter_map(|v| Some((v.name.as_str(), v.value.as_deref()?))).collect()
    }
}
