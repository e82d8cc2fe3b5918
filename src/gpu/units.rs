//! Units as types, so that no bare number stands for memory.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// GPU memory in MiB.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
pub struct Mebibytes(pub u64);

impl Mebibytes {
    /// From GiB.
    #[must_use]
    pub const fn from_gib(gib: u64) -> Self {
        Self(gib.saturating_mul(1024))
    }
}

impl fmt::Display for Mebibytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0 >= 1024 && self.0.is_multiple_of(1024) {
            write!(f, "{}Gi", self.0 / 1024)
        } else {
            write!(f, "{}Mi", self.0)
        }
    }
}
