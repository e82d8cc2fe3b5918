//! Hardware from a file: recorded on a real node, or constructed for a card or a fault that nobody here
//! has. The file is read anew for every question, so that a test can change the hardware under the agent.

use std::{
    fs,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};

use super::card::{Cards, Inventory, Sample, Unreadable};

/// One node's hardware, and where the answers come from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Recording {
    /// Where it comes from.
    pub origin: Origin,
    /// What NVML answers about the node.
    pub inventory: Result<Inventory, Unreadable>,
    /// Samples, given one after the other and then from the beginning.
    #[serde(default)]
    pub samples: Vec<Sample>,
}

/// Where a recording comes from. A recording of real hardware names all of it; anything else is
/// constructed and says why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub enum Origin {
    /// Taken from real hardware.
    Recorded {
        /// The card.
        card: String,
        /// Version of its driver.
        driver: String,
        /// Day, as `2026-12-01`.
        date: String,
        /// What was run.
        command: String,
    },
    /// Written by hand.
    Constructed {
        /// Which state it stands for, and what it is made after.
        because: String,
    },
}

/// Hardware that a file describes.
#[derive(Debug)]
pub struct Recorded {
    path: PathBuf,
    asked: usize,
}

impl Recorded {
    /// The hardware of that file.
    #[must_use]
    pub const fn new(path: PathBuf) -> Self {
        Self { path, asked: 0 }
    }
}

impl Recording {
    /// Reads a recording.
    ///
    /// # Errors
    /// If the file cannot be read, or is no recording.
    pub fn open(path: &Path) -> Result<Self, Unreadable> {
        let wrong = |why: String| Unreadable::Recording(format!("{}: {why}", path.display()));
        let text = fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
        serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))
    }
}

impl Cards for Recorded {
    fn inventory(&mut self) -> Result<Inventory, Unreadable> {
        Recording::open(&self.path)?.inventory
    }

    fn sample(&mut self) -> Result<Sample, Unreadable> {
        let mut recording = Recording::open(&self.path)?;
        recording.inventory?;
        if recording.samples.is_empty() {
            return Ok(Sample::default());
        }
        let at = self.asked % recording.samples.len();
        self.asked += 1;
        Ok(recording.samples.swap_remove(at))
    }
}
