//! How each kind of the picture stands: known or not, how old, and what went wrong.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicU64, Ordering},
};

use crate::{cluster::Kind, live::list_watch::WATCH_SECONDS};

/// How a kind stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KindStatus {
    /// What is known of it.
    pub state: KindState,
    /// Unix seconds at which the server was last heard of.
    pub last_contact: Option<i64>,
    /// What went wrong last, until it works again.
    pub error: Option<String>,
}

/// What is known of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KindState {
    /// The first list is not complete.
    #[default]
    Waiting,
    /// Every object is known, and changes arrive.
    Watched,
    /// Every object was known; since then the watch is broken.
    Broken,
    /// The server does not have this kind.
    Unavailable,
}

/// What is missing before anything can be judged, and what a person should know although nothing is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// What is not there yet; empty when ready.
    pub missing: Vec<String>,
    /// Such as kinds whose watch is broken, or that the server does not have.
    pub notes: Vec<String>,
}

/// Counts for metrics; they only grow.
#[derive(Debug, Default)]
pub struct Counters {
    /// Objects that came by watch, new, changed or gone.
    pub events: AtomicU64,
    /// Complete lists.
    pub lists: AtomicU64,
    /// Watches and lists that broke.
    pub broken: AtomicU64,
    /// Objects that could not be read, and are not in the picture as they are in the cluster.
    pub unreadable: AtomicU64,
    /// Worlds that were swapped in.
    pub worlds: AtomicU64,
}

impl Counters {
    pub(super) fn add(counter: &AtomicU64) {
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

/// Seconds of silence after which a watch is no longer taken to be up to date.
const SILENCE: i64 = WATCH_SECONDS as i64 + 15;

/// How every kind stands.
#[derive(Clone, Debug, Default)]
pub(super) struct Statuses(BTreeMap<Kind, KindStatus>);

impl KindStatus {
    /// Unix seconds up to which what is known is right. An open watch tells every change, so it is right
    /// now, unless the server has been silent for longer than it ever is.
    #[must_use]
    pub fn as_of(&self, now: i64) -> Option<i64> {
        let heard = self.last_contact?;
        match self.state {
            KindState::Watched if now.saturating_sub(heard) <= SILENCE => Some(now),
            KindState::Watched | KindState::Broken => Some(heard),
            KindState::Waiting | KindState::Unavailable => None,
        }
    }

    pub(super) fn heard(&mut self, now: i64) {
        self.last_contact = Some(now);
        self.error = None;
        if self.state == KindState::Broken {
            self.state = KindState::Watched;
        }
    }

    /// A list begins: until it is complete, changes may have been missed.
    pub(super) fn missed(&mut self) {
        if self.state == KindState::Watched {
            self.state = KindState::Broken;
        }
    }

    pub(super) fn broke(&mut self, error: String) {
        self.error = Some(error);
        if self.state == KindState::Watched {
            self.state = KindState::Broken;
        }
    }
}

impl Statuses {
    pub(super) fn waiting() -> Self {
        Self(Kind::ALL.into_iter().map(|kind| (kind, KindStatus::default())).collect())
    }

    pub(super) fn of(&mut self, kind: Kind) -> &mut KindStatus {
        self.0.entry(kind).or_default()
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (Kind, &KindStatus)> {
        self.0.iter().map(|(kind, status)| (*kind, status))
    }

    /// Unix seconds up to which all that is known is right.
    pub(super) fn as_of(&self, now: i64) -> Option<i64> {
        self.0.values().filter_map(|status| status.as_of(now)).min()
    }

    /// What is missing, and what is worth saying.
    pub(super) fn readiness(&self) -> Readiness {
        let mut readiness = Readiness::default();
        for (kind, status) in self.iter() {
            let error = status.error.as_deref();
            match status.state {
                // A kind that the server may lack blocks nobody once the server has answered, with whatever.
                KindState::Waiting if kind.row().optional && error.is_some() => {
                    readiness.notes.push(format!("{kind}: {}", error.unwrap_or_default()));
                }
                KindState::Waiting => {
                    readiness.missing.push(format!("{kind}: {}", error.unwrap_or("not listed yet")));
                }
                KindState::Broken => {
                    let error = error.unwrap_or("it is being listed anew");
                    readiness.notes.push(format!("{kind}: watch broken: {error}"));
                }
                KindState::Unavailable => {
                    readiness.notes.push(format!("{kind}: not served by this API server"));
                }
                KindState::Watched => {}
            }
        }
        readiness
    }
}
