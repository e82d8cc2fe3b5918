//! What a node rule answers, and the score of a node that fits.

use super::Rule;

/// Can this Pod run on that node?
#[derive(Clone, Debug)]
pub enum Fit {
    /// Now, and this well.
    Yes(Score),
    /// Not now: evicting Pods, or waiting, could make room. → `FailedNodes`
    Busy(&'static Rule),
    /// Not while the node is what it is. → `FailedAndUnresolvableNodes`
    Never(&'static Rule),
}

/// How well a node fits. Field order is the order of importance: compare, never add up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Score {
    /// Preference of the node's pool: the later in the class's terms, the smaller.
    pub preference: u8,
    /// Fewer tenants for a class that spreads, more for one that packs; 0 to 10.
    pub packing: u8,
}

impl Score {
    /// The extender's 0 to 10 (`MaxExtenderPriority`).
    #[must_use]
    pub fn points(self) -> i64 {
        let preference = u32::from(self.preference.min(10));
        let packing = u32::from(self.packing.min(10));
        i64::from((preference * 7 + packing * 3) / 10)
    }
}
