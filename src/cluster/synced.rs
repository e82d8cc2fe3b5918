//! Which kinds are known completely, and since when.

use crate::cluster::Kind;

/// The kinds of which every object is in the picture, and the time of the picture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Synced {
    kinds: u32,
    as_of: Option<i64>,
}

impl Synced {
    pub(super) const fn has(&self, kind: Kind) -> bool {
        self.kinds & bit(kind) != 0
    }

    pub(super) const fn set(&mut self, kind: Kind, synced: bool) {
        if synced {
            self.kinds |= bit(kind);
        } else {
            self.kinds &= !bit(kind);
        }
    }

    pub(super) const fn as_of(&self) -> Option<i64> {
        self.as_of
    }

    pub(super) const fn set_as_of(&mut self, as_of: Option<i64>) {
        self.as_of = as_of;
    }
}

const fn bit(kind: Kind) -> u32 {
    1 << kind as u32
}

const _: () = assert!(Kind::ALL.len() <= 32, "a u32 has a bit for every kind");
