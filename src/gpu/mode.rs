//! Sharing modes and what each isolates.

use std::fmt;

use serde::{Deserialize, Serialize};

/// How the cards of a node are shared. "Mode" means this and nothing else.
///
/// The NVIDIA device plugin knows one sharing method for a node, the same for all its cards, so a mode
/// belongs to a node, not to a card.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, schemars::JsonSchema,
)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// One container, one whole card.
    Exclusive,
    /// Several containers take turns on a card; no isolation of memory or faults.
    TimeSlicing,
    /// Several containers run at once under the MPS server; capacity limits, one fault domain.
    Mps,
    /// Hardware partitions with their own memory and SMs.
    Mig,
    /// Fractions by another project's library: recognised, not managed.
    CudaFraction,
    /// HAMi's library: recognised, not managed.
    HamiCore,
}

/// What one tenant is protected from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Isolation {
    /// A neighbour cannot take this tenant's memory.
    pub memory: bool,
    /// A neighbour's fault does not end this tenant.
    pub fault: bool,
}

impl Mode {
    /// Every mode, managed ones first.
    pub const ALL: [Self; 6] =
        [Self::Exclusive, Self::TimeSlicing, Self::Mps, Self::Mig, Self::CudaFraction, Self::HamiCore];

    /// The word used in policies, labels and messages.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exclusive => "exclusive",
            Self::TimeSlicing => "time-slicing",
            Self::Mps => "mps",
            Self::Mig => "mig",
            Self::CudaFraction => "cuda-fraction",
            Self::HamiCore => "hami-core",
        }
    }

    /// What the mode isolates (device plugin README; MPS documentation; MIG user guide). MPS limits memory
    /// but shares faults: one client's fatal fault reaches every client of the card.
    #[must_use]
    pub const fn isolation(self) -> Isolation {
        match self {
            Self::Exclusive | Self::Mig => Isolation { memory: true, fault: true },
            Self::Mps | Self::HamiCore => Isolation { memory: true, fault: false },
            Self::TimeSlicing | Self::CudaFraction => Isolation { memory: false, fault: false },
        }
    }

    /// Whether several tenants use one card, or one slice of it, in software.
    #[must_use]
    pub const fn is_software_shared(self) -> bool {
        !matches!(self, Self::Exclusive | Self::Mig)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
