//! Priority, quota, limits and DRA objects.

use serde::Deserialize;
use serde_json::Value;

use super::{Meta, ResourceList, nullable};

/// A PriorityClass.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PriorityClass {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Higher goes first.
    #[serde(deserialize_with = "nullable")]
    pub value: i64,
    /// Used by Pods that name no class.
    #[serde(deserialize_with = "nullable")]
    pub global_default: bool,
    /// `PreemptLowerPriority` where absent.
    pub preemption_policy: Option<String>,
}

/// A Namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Namespace {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
}

/// A ResourceQuota.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuota {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceQuotaSpec,
}

/// `ResourceQuotaSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuotaSpec {
    /// Bound of each key.
    #[serde(deserialize_with = "nullable")]
    pub hard: ResourceList,
}

/// A LimitRange.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitRange {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: LimitRangeSpec,
}

/// `LimitRangeSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitRangeSpec {
    /// Items.
    #[serde(deserialize_with = "nullable")]
    pub limits: Vec<LimitRangeItem>,
}

/// `LimitRangeItem`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LimitRangeItem {
    /// `Container`, `Pod`, `PersistentVolumeClaim`.
    #[serde(rename = "type", deserialize_with = "nullable")]
    pub kind: String,
    /// Lower bound; becomes `defaultRequest` where that and `default` are absent.
    #[serde(deserialize_with = "nullable")]
    pub min: ResourceList,
    /// Upper bound; becomes `default` where that is absent.
    #[serde(deserialize_with = "nullable")]
    pub max: ResourceList,
    /// Limit of containers that name none.
    #[serde(deserialize_with = "nullable")]
    pub default: ResourceList,
    /// Request of containers that name none.
    #[serde(deserialize_with = "nullable")]
    pub default_request: ResourceList,
}

/// A DeviceClass (resource.k8s.io/v1).
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClass {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: DeviceClassSpec,
}

/// `DeviceClassSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceClassSpec {
    /// Which devices: CEL selectors, read as text.
    #[serde(deserialize_with = "nullable")]
    pub selectors: Vec<Value>,
    /// An extended resource that this class backs (KEP-5004).
    pub extended_resource_name: Option<String>,
}

/// A ResourceClaim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceClaim {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: ClaimSpec,
}

/// A ResourceClaimTemplate.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceClaimTemplate {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceClaimTemplateSpec,
}

/// `ResourceClaimTemplateSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceClaimTemplateSpec {
    /// The claim to be made.
    #[serde(deserialize_with = "nullable")]
    pub spec: ClaimSpec,
}

/// `ResourceClaimSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSpec {
    /// Devices asked for.
    #[serde(deserialize_with = "nullable")]
    pub devices: ClaimDevices,
}

/// `DeviceClaim`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimDevices {
    /// Requests, ANDed.
    #[serde(deserialize_with = "nullable")]
    pub requests: Vec<DeviceRequest>,
    /// Driver configuration.
    #[serde(deserialize_with = "nullable")]
    pub config: Vec<Value>,
}

/// One device request.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeviceRequest {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Exactly this.
    pub exactly: Option<ExactRequest>,
    /// The first of these that is free (KEP-4816).
    #[serde(deserialize_with = "nullable")]
    pub first_available: Vec<ExactRequest>,
}

/// What is asked for in one alternative.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExactRequest {
    /// DeviceClass.
    #[serde(deserialize_with = "nullable")]
    pub device_class_name: String,
    /// 1 where absent.
    pub count: Option<i64>,
    /// `All`, or `ExactCount` where absent.
    #[serde(deserialize_with = "nullable")]
    pub allocation_mode: String,
}

/// A ResourceSlice.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSlice {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Content.
    #[serde(deserialize_with = "nullable")]
    pub spec: ResourceSliceSpec,
}

/// `ResourceSliceSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSliceSpec {
    /// Such as `gpu.nvidia.com`.
    #[serde(deserialize_with = "nullable")]
    pub driver: String,
    /// The node that has these devices.
    #[serde(deserialize_with = "nullable")]
    pub node_name: String,
    /// Devices.
    #[serde(deserialize_with = "nullable")]
    pub devices: Vec<Device>,
}

/// One device of a slice.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Device {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Attributes: name to a one-key object of the value's type.
    #[serde(deserialize_with = "nullable")]
    pub attributes: std::collections::BTreeMap<String, Value>,
    /// Capacity: name to `{value: quantity}`.
    #[serde(deserialize_with = "nullable")]
    pub capacity: std::collections::BTreeMap<String, Value>,
    /// Whether several claims may hold it at once (KEP-5075).
    #[serde(deserialize_with = "nullable")]
    pub allow_multiple_allocations: bool,
}
