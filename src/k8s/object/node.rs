//! Nodes.

use serde::Deserialize;

use super::{Condition, Meta, ResourceList, nullable};

/// A Node as the API server holds it. Our picture of it is [`crate::cluster::Node`].
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Node {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: NodeSpec,
    /// Observed state.
    #[serde(deserialize_with = "nullable")]
    pub status: NodeStatus,
}

/// `NodeSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Taints.
    #[serde(deserialize_with = "nullable")]
    pub taints: Vec<Taint>,
    /// Cordoned.
    #[serde(deserialize_with = "nullable")]
    pub unschedulable: bool,
}

/// `NodeStatus`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeStatus {
    /// What Pods may use.
    #[serde(deserialize_with = "nullable")]
    pub allocatable: ResourceList,
    /// What there is.
    #[serde(deserialize_with = "nullable")]
    pub capacity: ResourceList,
    /// Conditions.
    #[serde(deserialize_with = "nullable")]
    pub conditions: Vec<Condition>,
    /// Versions.
    #[serde(deserialize_with = "nullable")]
    pub node_info: NodeInfo,
}

/// `NodeSystemInfo`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeInfo {
    /// Such as `v1.37.2`.
    #[serde(deserialize_with = "nullable")]
    pub kubelet_version: String,
    /// Changes with every boot.
    #[serde(rename = "bootID", deserialize_with = "nullable")]
    pub boot_id: String,
}

/// A taint.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Taint {
    /// Key.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// Value.
    #[serde(deserialize_with = "nullable")]
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule`, `NoExecute`.
    #[serde(deserialize_with = "nullable")]
    pub effect: String,
}
