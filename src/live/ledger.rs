//! The account of room that was promised and is not seen bound yet: what only we keep the account of
//! (neighbours and GPU memory on shared cards) must not be promised twice.
//!
//! The scheduler never tells which of the offered nodes it took, so a Pod is assumed on all of them until the
//! picture shows its binding, its end, or the promise expires. One ledger belongs to one scheduler, which asks
//! one question at a time and has chosen before it asks the next. This is the only state that does not come
//! from the API server, and a restart forgets it: an instance that is asked for the first time takes all such
//! room for promised by its predecessor, for as long as a promise lasts.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::{Duration, Instant},
};

use crate::{
    decide::{Promise, Promised},
    world::World,
};

/// Promises, and who had to wait because of them.
#[derive(Debug)]
pub struct Ledger {
    lasts: Duration,
    state: Mutex<State>,
}

/// The state of a ledger that an answer was made from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Version(u64);

/// What a question is answered over.
#[derive(Clone, Debug)]
pub struct Page {
    /// The promises to other Pods.
    pub promised: Promised,
    /// The state that they are of.
    pub version: Version,
    /// Among how many Pods, at least, the room that is left has to be shared out: 1 where nobody had to wait
    /// lately.
    pub sharers: usize,
}

#[derive(Debug, Default)]
struct State {
    version: u64,
    first_asked: Option<Instant>,
    entries: Vec<Entry>,
    /// Pods that found room only promised, with the time until which that is remembered.
    waiting: BTreeMap<Arc<str>, Instant>,
    /// Until when it is remembered that somebody waited.
    contended: Option<Instant>,
}

#[derive(Debug)]
struct Entry {
    promise: Arc<Promise>,
    until: Instant,
    /// Whether the picture has shown the Pod: if it does not any more, the Pod is gone.
    seen: bool,
}

/// How long it is remembered that Pods stood in each other's way.
const MEMORY: Duration = Duration::from_secs(2);

impl Ledger {
    /// A ledger whose promises last so long; zero keeps none.
    #[must_use]
    pub fn new(lasts: Duration) -> Self {
        Self { lasts, state: Mutex::default() }
    }

    /// Opens the ledger for a question about the Pod with that UID: what the World shows is settled first.
    #[must_use]
    pub fn open(&self, world: &World, uid: &str, now: Instant) -> Page {
        let mut state = self.state();
        if self.lasts.is_zero() {
            return Page { promised: Promised::NONE, version: Version(state.version), sharers: 1 };
        }
        let first = *state.first_asked.get_or_insert(now);
        state.settle(world, now);
        let others = state.entries.iter().filter(|entry| *entry.promise.uid != *uid);
        let pods = others.map(|entry| Arc::clone(&entry.promise)).collect();
        let waiting = state.waiting.keys().filter(|waiting| ***waiting != *uid).count();
        let contended = state.contended.is_some_and(|until| now < until);
        Page {
            promised: Promised { pods, unknown: now < first + self.lasts },
            version: Version(state.version),
            sharers: if contended { 1 + waiting.max(1) } else { 1 },
        }
    }

    /// Enters that the Pod was offered these nodes, in place of what it was offered before. False where the
    /// ledger is another one by now: then the answer must be made anew.
    #[must_use]
    pub fn promise(&self, promise: Promise, of: Version, now: Instant) -> bool {
        if self.lasts.is_zero() {
            return true;
        }
        let mut state = self.state();
        if state.version != of.0 {
            return false;
        }
        state.waiting.remove(&promise.uid);
        let before = state.entries.len();
        state.entries.retain(|entry| entry.promise.uid != promise.uid);
        if promise.nodes.is_empty() && before == state.entries.len() {
            return true;
        }
        state.version += 1;
        if !promise.nodes.is_empty() {
            let entry = Entry { promise: Arc::new(promise), until: now + self.lasts, seen: false };
            state.entries.push(entry);
        }
        true
    }

    /// Notes that a Pod found no room but what is promised.
    pub fn waits(&self, uid: &str, now: Instant) {
        if self.lasts.is_zero() || uid.is_empty() {
            return;
        }
        let mut state = self.state();
        state.waiting.insert(uid.into(), now + MEMORY.max(self.lasts));
        state.contended = Some(now + MEMORY);
    }

    /// Whether this World settles a promise.
    #[must_use]
    pub fn would_settle(&self, world: &World) -> bool {
        self.state().entries.iter().any(|entry| entry.is_settled(world))
    }

    /// How many promises are open.
    #[must_use]
    pub fn len(&self) -> usize {
        self.state().entries.len()
    }

    /// Whether no promise is open.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// A panic while it was held leaves nothing half done, so a poisoned lock is as good as any.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn settle(&mut self, world: &World, now: Instant) {
        let before = self.entries.len();
        for entry in &mut self.entries {
            entry.seen |= world.cluster.tenant(&entry.promise.uid).is_some();
        }
        self.entries.retain(|entry| now < entry.until && !entry.is_settled(world));
        if self.entries.len() != before {
            self.version += 1;
        }
        self.waiting.retain(|_, until| now < *until);
    }
}

impl Entry {
    /// Bound, or gone after it was seen. Before the picture shows the Pod for the first time it is late, not
    /// the Pod gone.
    fn is_settled(&self, world: &World) -> bool {
        match world.cluster.tenant(&self.promise.uid) {
            Some(tenant) => tenant.node.is_some(),
            None => self.seen,
        }
    }
}

/// Which of so many equally open nodes are offered where several Pods want them, the best first: a part, so
/// that the next Pods find some that nobody was promised, and never a single one where there are more.
#[must_use]
pub fn fair_share(open: usize, sharers: usize) -> usize {
    open.div_ceil(sharers.max(1)).max(FEWEST).min(open)
}

/// The scheduler has its own reasons for a choice, so it keeps one.
const FEWEST: usize = 2;

/// A promise.
#[must_use]
pub fn promise(uid: &str, class: Option<Arc<str>>, nodes: BTreeSet<Arc<str>>) -> Promise {
    Promise { uid: uid.into(), class, nodes }
}

#[cfg(test)]
mod tests;
