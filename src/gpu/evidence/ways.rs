//! The ways in which a node's cards can be handed out, and sets of them.

use crate::gpu::Mode;

/// Finer than [`Mode`]: shares of slices are told apart from shares of cards, so that two sources cannot
/// seem to agree where one speaks of slices and the other of cards. To a tenant, both are time-slicing: it
/// has neighbours within the slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    /// Whole cards.
    Whole = 1,
    /// Cards, shared in time.
    TimeSliced = 2,
    /// Cards, shared by MPS. The device plugin does not combine MPS with MIG.
    Mps = 4,
    /// MIG slices.
    Slices = 8,
    /// MIG slices, shared in time.
    SharedSlices = 16,
}

/// A set of ways.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ways(u8);

impl Ways {
    pub(super) const ANY: Self =
        Self::of(&[Way::Whole, Way::TimeSliced, Way::Mps, Way::Slices, Way::SharedSlices]);
    /// Shared by whatever method.
    pub(super) const SHARED: Self = Self::of(&[Way::TimeSliced, Way::Mps, Way::SharedSlices]);
    pub(super) const SHARED_CARDS: Self = Self::of(&[Way::TimeSliced, Way::Mps]);
    pub(super) const TIME_SLICED: Self = Self::of(&[Way::TimeSliced, Way::SharedSlices]);
    pub(super) const UNSHARED: Self = Self::of(&[Way::Whole, Way::Slices]);
    pub(super) const SLICED: Self = Self::of(&[Way::Slices, Way::SharedSlices]);
    pub(super) const UNSLICED: Self = Self::of(&[Way::Whole, Way::TimeSliced, Way::Mps]);

    pub(super) const fn of(ways: &[Way]) -> Self {
        let mut bits = 0;
        let mut at = 0;
        while at < ways.len() {
            bits |= ways[at] as u8;
            at += 1;
        }
        Self(bits)
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    pub(super) const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn has(self, way: Way) -> bool {
        self.0 & way as u8 != 0
    }

    const fn is_within(self, other: Self) -> bool {
        self.0 & !other.0 == 0
    }

    /// The mode that is left, and whether nothing else is. Slices count as MIG until somebody says that
    /// they are shared, cards as exclusive; between two methods of sharing it is the one that isolates less.
    pub(super) const fn mode(self) -> (Mode, bool) {
        if self.has(Way::Whole) {
            (Mode::Exclusive, self.0 == Way::Whole as u8)
        } else if self.is_within(Self::SLICED) && self.has(Way::Slices) {
            (Mode::Mig, true)
        } else if self.is_within(Self::of(&[Way::Mps])) {
            (Mode::Mps, true)
        } else {
            (Mode::TimeSlicing, self.is_within(Self::TIME_SLICED))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_is_the_mode_and_open_methods_count_as_the_weaker_one() {
        assert_eq!(Ways::of(&[Way::Whole]).mode(), (Mode::Exclusive, true));
        assert_eq!(Ways::ANY.mode(), (Mode::Exclusive, false));
        assert_eq!(Ways::SLICED.mode(), (Mode::Mig, true));
        assert_eq!(Ways::of(&[Way::SharedSlices]).mode(), (Mode::TimeSlicing, true));
        assert_eq!(Ways::SHARED_CARDS.mode(), (Mode::TimeSlicing, false));
        assert_eq!(Ways::TIME_SLICED.mode(), (Mode::TimeSlicing, true));
        assert_eq!(Ways::of(&[Way::Mps]).mode(), (Mode::Mps, true));
        assert_eq!(Ways::SLICED.or(Ways::SHARED_CARDS).mode(), (Mode::TimeSlicing, false));
    }

    #[test]
    fn shares_of_cards_and_shares_of_slices_do_not_agree() {
        assert!(Ways::SHARED_CARDS.and(Ways::SLICED).is_empty());
        assert!(Ways::UNSLICED.and(Ways::SLICED).is_empty());
        assert!(!Ways::SHARED.and(Ways::SLICED).is_empty());
    }
}
