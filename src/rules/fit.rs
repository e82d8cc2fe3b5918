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
    /// 10 for the pools that the class prefers most among those that can serve it, 9 for the next.
    pub preference: u8,
    /// Emptier for a class that spreads, fuller for one that packs; 0 to 10.
    pub packing: u8,
}

impl Score {
    /// The preference where nobody has one.
    pub const NEUTRAL: u8 = 9;

    /// The extender's 0 to 10 (`MaxExtenderPriority`): one range a preference, so that no fullness outweighs
    /// it, and within the range by packing.
    #[must_use]
    pub fn points(self) -> i64 {
        let (lowest, range) = match self.preference {
            10.. => (7, 3),
            9 => (3, 3),
            _ => (0, 2),
        };
        lowest + i64::from(self.packing.min(10)) * range / 10
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_fullness_outweighs_a_preference() {
        let points = |preference, packing| Score { preference, packing }.points();
        assert!(points(10, 0) > points(9, 10) && points(9, 0) > points(8, 10));
        assert_eq!((points(10, 10), points(0, 0)), (10, 0));
        assert!(points(10, 7) > points(10, 3));
    }
}
