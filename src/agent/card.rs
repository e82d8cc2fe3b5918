//! What a card answers, and the trait through which it is asked.
//!
//! Every answer can be missing for a reason of its own: "the card has no such thing" is a fact, "we may
//! not ask" and "it failed" are not, so none of them is ever turned into a zero or a no.

use serde::{Deserialize, Serialize};

use crate::gpu::Mebibytes;

/// The hardware of one node.
pub trait Cards: Send {
    /// Everything that changes rarely: what is there and what it can do.
    ///
    /// # Errors
    /// If the hardware as a whole cannot be read; one lost card is an answer, not an error.
    fn inventory(&mut self) -> Result<Inventory, Unreadable>;

    /// Everything that changes every second: utilisation, memory and processes.
    ///
    /// # Errors
    /// As [`Cards::inventory`].
    fn sample(&mut self) -> Result<Sample, Unreadable>;
}

/// One answer, or why there is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Answer<T> {
    /// The answer.
    Value(T),
    /// `NVML_ERROR_NOT_SUPPORTED`: the card has no such thing, which is a fact.
    NotSupported,
    /// `NVML_ERROR_NO_PERMISSION`: it may be there, we may not see it.
    NoPermission,
    /// `NVML_ERROR_GPU_IS_LOST`: the card fell off the bus.
    Lost,
    /// Another error, in NVML's words.
    Failed(String),
}

/// Why the hardware as a whole cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Unreadable {
    /// The library is not on this node.
    #[error("no NVIDIA driver on this node: libnvidia-ml.so.1 cannot be loaded ({0})")]
    NoLibrary(String),
    /// The library is there and the kernel module is not loaded.
    #[error("the NVIDIA kernel module is not loaded")]
    NoDriver,
    /// Library and kernel module are of different versions: the driver was changed under running programs.
    #[error("library and kernel module of the NVIDIA driver differ: reboot the node or reload the module")]
    VersionMismatch,
    /// We may not ask.
    #[error("NVML refuses us: the agent needs access to /dev/nvidiactl")]
    NoPermission,
    /// A call did not come back.
    #[error("NVML has not answered for {0} s")]
    Hung(u64),
    /// Another error, in NVML's words.
    #[error("NVML failed: {0}")]
    Failed(String),
    /// A recording that cannot be used.
    #[error("{0}")]
    Recording(String),
}

/// Driver and cards.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Inventory {
    /// `580.159.04`.
    pub driver_version: Answer<String>,
    /// Highest CUDA version of the driver: `13.0`.
    pub cuda_version: Answer<String>,
    /// Version of the library.
    pub nvml_version: Answer<String>,
    /// Physical cards, in NVML's order. None is a fact too: a driver without a card.
    pub cards: Vec<Card>,
}

/// One physical card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Card {
    /// NVML index; not stable across reboots.
    pub index: u32,
    /// `GPU-…`.
    pub uuid: Answer<String>,
    /// `NVIDIA H200`.
    pub product: Answer<String>,
    /// `00000000:00:1E.0`.
    pub pci_bus_id: Answer<String>,
    /// Device id in the upper, vendor id in the lower half: `0x233510DE`.
    pub pci_device_id: Answer<String>,
    /// `9.0`.
    pub compute_capability: Answer<String>,
    /// Memory of the card.
    pub memory: Answer<Memory>,
    /// MIG mode now and after the next reset.
    pub mig_mode: Answer<MigModes>,
    /// GPU instance profiles that the card offers now. Hopper and later list them with MIG off as well.
    pub mig_profiles: Answer<Vec<Profile>>,
    /// GPU instances that exist.
    pub gpu_instances: Answer<Vec<GpuInstance>>,
    /// MIG devices that exist: what a Pod is given.
    pub mig_devices: Answer<Vec<MigDevice>>,
    /// `default`, `exclusive-process`, `prohibited`.
    pub compute_mode: Answer<ComputeMode>,
    /// Whether ECC is on.
    pub ecc: Answer<bool>,
    /// Uncorrected memory errors since the driver was loaded.
    pub ecc_uncorrected: Answer<u64>,
    /// Rows remapped because of memory errors.
    pub remapped_rows: Answer<RemappedRows>,
    /// Why clocks are held down now, in NVML's words; empty while nothing holds them.
    pub throttled_by: Answer<Vec<String>>,
    /// PCI bus ids at the other end of the active NVLinks, each once.
    pub nvlink_peers: Answer<Vec<String>>,
    /// Processes of an MPS server on the card.
    pub mps_clients: Answer<u32>,
}

/// Memory in MiB, rounded down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Memory {
    /// Installed.
    pub total: Mebibytes,
    /// Kept by driver and firmware.
    pub reserved: Mebibytes,
    /// What programs can have: total without reserved.
    pub usable: Mebibytes,
}

/// MIG modes: on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigModes {
    /// In effect.
    pub current: bool,
    /// After the next reset of the card.
    pub pending: bool,
}

/// What the card calls a profile, with its true size.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Profile {
    /// NVML's id, by which instances name their profile.
    pub id: u32,
    /// `1g.18gb`, without the word MIG; absent where the driver gives no name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Memory of one instance.
    pub memory: Mebibytes,
    /// Compute slices.
    pub slices: u32,
    /// Streaming multiprocessors.
    pub multiprocessors: u32,
    /// Video decoders.
    pub decoders: u32,
    /// Video encoders.
    pub encoders: u32,
    /// How many fit on an empty card.
    pub max_instances: u32,
    /// Where one can begin, in memory slices; empty where the driver does not tell while MIG is off.
    pub starts: Vec<u32>,
}

/// One GPU instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct GpuInstance {
    /// Its id on the card; dcgm-exporter's `GPU_I_ID`.
    pub id: u32,
    /// The profile that it was made of.
    pub profile_id: u32,
    /// First memory slice.
    pub start: u32,
    /// Memory slices.
    pub size: u32,
}

/// One MIG device: a compute instance of a GPU instance.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MigDevice {
    /// `MIG-…`; another one after each re-creation.
    pub uuid: Answer<String>,
    /// The GPU instance.
    pub gpu_instance: Answer<u32>,
    /// The compute instance in it.
    pub compute_instance: Answer<u32>,
    /// Its memory.
    pub memory: Answer<Mebibytes>,
}

/// Who may use the card at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComputeMode {
    /// Any number of processes.
    Default,
    /// One process; under MPS that is the server.
    ExclusiveProcess,
    /// None.
    Prohibited,
    /// An older mode.
    Other,
}

/// Row remapping (Ampere and later).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct RemappedRows {
    /// Because of corrected errors.
    pub correctable: u32,
    /// Because of uncorrected errors.
    pub uncorrectable: u32,
    /// A row waits for the next reset.
    pub pending: bool,
    /// A row could not be remapped: the card has to be replaced.
    pub failed: bool,
}

/// What is going on now.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Sample {
    /// Cards, in NVML's order.
    pub cards: Vec<CardSample>,
}

/// One card now.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CardSample {
    /// `GPU-…`.
    pub uuid: String,
    /// Memory in use, without what is reserved.
    pub memory_used: Answer<Mebibytes>,
    /// Percent of the last sampling period in which a kernel ran. Not supported under MIG.
    pub busy_percent: Answer<u32>,
    /// Percent of the encoder.
    pub encoder_percent: Answer<u32>,
    /// Percent of the decoder.
    pub decoder_percent: Answer<u32>,
    /// Why clocks are held down.
    pub throttled_by: Answer<Vec<String>>,
    /// Processes with a context on the card.
    pub processes: Answer<Vec<Process>>,
}

/// One process on a card.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Process {
    /// Process id, in the host's namespace.
    pub pid: u32,
    /// Memory that it holds; absent where the driver does not tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub memory: Option<Mebibytes>,
    /// Percent of the multiprocessors' time since the last sample. Under MPS it is the server's, and
    /// under MIG there is none: then it is absent, which is not 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sm_percent: Option<u32>,
    /// GPU instance, under MIG.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gpu_instance: Option<u32>,
}

impl<T> Answer<T> {
    /// The answer, where there is one.
    #[must_use]
    pub const fn value(&self) -> Option<&T> {
        match self {
            Self::Value(value) => Some(value),
            _ => None,
        }
    }

    /// Whether the card has fallen off the bus.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        matches!(self, Self::Lost)
    }

    /// Another answer made of this one.
    #[must_use]
    pub fn map<U>(self, to: impl FnOnce(T) -> U) -> Answer<U> {
        match self {
            Self::Value(value) => Answer::Value(to(value)),
            Self::NotSupported => Answer::NotSupported,
            Self::NoPermission => Answer::NoPermission,
            Self::Lost => Answer::Lost,
            Self::Failed(why) => Answer::Failed(why),
        }
    }
}

impl Card {
    /// Whether it has fallen off the bus: NVML then answers nothing else.
    #[must_use]
    pub const fn is_lost(&self) -> bool {
        self.uuid.is_lost() || self.memory.is_lost()
    }
}
