//! What the node agent publishes about a node's cards: the status of a `GpuNode` (sluice.dev/v1alpha1,
//! cluster-scoped, named after its node). One shape for the agent that writes and the engine that reads.
//!
//! Whether it is still fresh is judged by the reader, who has a clock; nothing here does.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Mebibytes, MigProfile};

/// A `GpuNode` status and whether it may still be believed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentFacts {
    /// False once the last heartbeat is older than three intervals: then it is no evidence at all.
    pub fresh: bool,
    /// What was published.
    pub status: GpuNodeStatus,
}

/// `status` of a `GpuNode`. Absent fields are unknown, never "no".
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct GpuNodeStatus {
    /// RFC 3339; when the agent last read the hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub observed_at: Option<String>,
    /// Seconds between two readings.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub heartbeat_seconds: Option<u32>,
    /// `status.nodeInfo.bootID` of the node at that time: another one there means that it has rebooted since.
    #[serde(skip_serializing_if = "Option::is_none", rename = "bootID")]
    pub boot_id: Option<String>,
    /// NVIDIA driver, as NVML prints it: `580.159.04`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver_version: Option<String>,
    /// Whether an MPS control daemon serves the cards.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mps_daemon: Option<bool>,
    /// Units that the device plugin makes of one card or slice: from the kubelet's device ids, where the
    /// plugin appends `::n` to a shared device's id. 1 = not shared.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing_replicas: Option<u32>,
    /// What the node has, in a few words: `8 × NVIDIA H200`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// What MIG is here and why: `capable, disabled`, `not capable`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig: Option<String>,
    /// How cards are shared, as the kubelet's device ids and the MPS daemon show it: `none`,
    /// `time-slicing × 4`, `mps × 4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sharing: Option<String>,
    /// Highest CUDA version of the driver: `13.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cuda_version: Option<String>,
    /// Devices that the kubelet can hand out, by resource. The plugin's unhealthy ones are not in it.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub advertised: BTreeMap<String, u32>,
    /// What holds of the node, each with its reason and since when.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<AgentCondition>,
    /// Physical cards, in NVML's order.
    pub devices: Vec<AgentDevice>,
}

/// One condition, as Kubernetes writes them.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentCondition {
    /// `Readable`: NVML answers. `Ready`: what the kubelet advertises is what the hardware is.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True` or `False`.
    pub status: String,
    /// One word for programs.
    pub reason: String,
    /// The same for people.
    pub message: String,
    /// RFC 3339; since when the status is this one.
    pub last_transition_time: String,
}

/// One physical card as NVML sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentDevice {
    /// `GPU-…`.
    pub uuid: String,
    /// Name as NVML gives it, with blanks: `NVIDIA H200`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub product: Option<String>,
    /// Total memory.
    #[serde(rename = "memoryMib", skip_serializing_if = "Option::is_none")]
    pub memory: Option<Mebibytes>,
    /// Memory in use, rounded up to whole GiB, so that the object is not written for every allocation.
    #[serde(rename = "memoryUsedMib", skip_serializing_if = "Option::is_none")]
    pub memory_used: Option<Mebibytes>,
    /// `9.0`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_capability: Option<String>,
    /// MIG mode in effect: `not-supported`, `disabled`, `enabled`, `unknown`.
    #[schemars(with = "String")]
    pub mig: MigMode,
    /// MIG mode after the next reset, where it differs (A100 and A30 need a reset to toggle).
    #[schemars(with = "Option<String>")]
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig_pending: Option<MigMode>,
    /// What MIG is on this card and why: `capable, disabled`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mig_reason: Option<String>,
    /// Profiles that the card offers now, with their true memory.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub mig_profiles: Vec<AgentProfile>,
    /// MIG devices that exist now. None exist with MIG off, so an empty list is not "no MIG".
    pub mig_devices: Vec<AgentMigDevice>,
    /// Memory that programs can have: total without what driver and firmware keep.
    #[serde(rename = "usableMemoryMib", skip_serializing_if = "Option::is_none")]
    pub usable: Option<Mebibytes>,
    /// NVML's compute mode: `default`, `exclusive-process`, `prohibited`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute_mode: Option<String>,
    /// What is wrong with the card: `lost`, `row-remap-failed`, `row-remap-pending`, `ecc-uncorrected`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub faults: Vec<String>,
    /// Containers that were given a part of the card.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub tenants: Vec<AgentTenant>,
}

/// A profile that a card offers.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentProfile {
    /// `1g.18gb`.
    pub profile: String,
    /// Memory of one instance.
    #[serde(rename = "memoryMib")]
    pub memory: Mebibytes,
    /// How many fit on an empty card.
    pub max_instances: u32,
}

/// A container on a card.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentTenant {
    /// Namespace of its Pod.
    pub namespace: String,
    /// Name of its Pod.
    pub pod: String,
    /// Its own name.
    pub container: String,
    /// Resource that it was given.
    pub resource: String,
    /// How many units.
    pub units: u32,
}

/// NVML's answer about the MIG mode of a card.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MigMode {
    /// `NVML_ERROR_NOT_SUPPORTED`: the card has no MIG.
    NotSupported,
    /// The card has MIG, and it is off.
    Disabled,
    /// MIG is on.
    Enabled,
    /// Not asked, or another error, or a word that we do not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// One MIG device.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct AgentMigDevice {
    /// `MIG-…`; changes with every re-creation.
    #[serde(default)]
    pub uuid: String,
    /// Its profile.
    #[schemars(with = "String")]
    pub profile: MigProfile,
    /// Its memory as NVML measures it.
    #[serde(default, rename = "memoryMib", skip_serializing_if = "Option::is_none")]
    pub memory: Option<Mebibytes>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_reads_back_as_it_was_written() {
        let text = r#"{"driverVersion":"580.159.04","mpsDaemon":false,"devices":[{"uuid":"GPU-1",
            "product":"NVIDIA H200","memoryMib":143771,"computeCapability":"9.0","mig":"enabled",
            "migDevices":[{"uuid":"MIG-1","profile":"1g.18gb","memoryMib":16384}]}]}"#;
        let status: GpuNodeStatus = serde_json::from_str(text).unwrap();
        assert_eq!(status.devices[0].mig, MigMode::Enabled);
        assert_eq!(status.devices[0].mig_devices[0].memory, Some(Mebibytes(16384)));
        assert_eq!(status.sharing_replicas, None);
        let again: GpuNodeStatus = serde_json::from_str(&serde_json::to_string(&status).unwrap()).unwrap();
        assert_eq!(again, status);
    }

    #[test]
    fn a_mig_mode_from_a_newer_agent_is_unknown_rather_than_unreadable() {
        let device: AgentDevice = serde_json::from_str(r#"{"uuid":"GPU-1","mig":"hibernating"}"#).unwrap();
        assert_eq!(device.mig, MigMode::Unknown);
    }
}
