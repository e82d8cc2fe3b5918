//! What is counted of the scheduler's questions and of what is written so that it asks again.

use std::{
    collections::{BTreeSet, VecDeque},
    sync::{Mutex, PoisonError},
};

use prometheus::{IntCounterVec, IntGaugeVec};

use super::{Register, Telemetry, table};

/// Why a Pod was kept from being a victim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Spared {
    /// Its class is protected.
    Protected,
    /// It still loads its model.
    Loading,
    /// Its class outranks that of the Pod that asks.
    Outranks,
}

/// The counters of the extender and of the wake-up.
#[derive(Debug)]
pub(super) struct Scheduling {
    admission_skipped: IntCounterVec,
    counted: Mutex<Recent>,
    promise_waits: IntCounterVec,
    promises: IntGaugeVec,
    victims: IntCounterVec,
    spared: IntCounterVec,
    wake_ups: IntCounterVec,
    lease_held: IntGaugeVec,
}

/// The Pods that were counted last: the scheduler asks again and again about one that waits.
#[derive(Debug, Default)]
struct Recent {
    order: VecDeque<String>,
    known: BTreeSet<String>,
}

/// How many are remembered; far more than wait at one time after a webhook was away.
const REMEMBERED: usize = 10_000;

impl Spared {
    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Protected => "protected",
            Self::Loading => "loading",
            Self::Outranks => "outranks",
        }
    }
}

impl Scheduling {
    pub(super) fn new(at: &Register<'_>) -> Self {
        Self {
            admission_skipped: at.counters(&table::ADMISSION_SKIPPED),
            counted: Mutex::default(),
            promise_waits: at.counters(&table::PROMISE_WAITS),
            promises: at.gauges(&table::PROMISES),
            victims: at.counters(&table::VICTIMS),
            spared: at.counters(&table::SPARED),
            wake_ups: at.counters(&table::WAKE_UPS),
            lease_held: at.gauges(&table::LEASE_HELD),
        }
    }
}

impl Recent {
    /// Whether it is new.
    fn add(&mut self, uid: &str) -> bool {
        if self.known.contains(uid) {
            return false;
        }
        if self.order.len() >= REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.known.remove(&oldest);
        }
        self.order.push_back(uid.to_owned());
        self.known.insert(uid.to_owned())
    }
}

impl Telemetry {
    /// Counts a Pod that came past admission, once. Whether it was the first time.
    pub fn admission_skipped(&self, uid: &str, class: Option<&str>) -> bool {
        let mut counted = self.extender.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let first = counted.add(uid);
        if first {
            self.extender.admission_skipped.with_label_values(&[class.unwrap_or("none")]).inc();
        }
        first
    }

    /// Counts a question that waited for promises, and whether there was room afterwards.
    pub fn waited_for_promises(&self, settled: bool) {
        let result = if settled { "settled" } else { "busy" };
        self.extender.promise_waits.with_label_values(&[result]).inc();
    }

    /// So many promises are open.
    pub fn promises(&self, open: usize) {
        let open = i64::try_from(open).unwrap_or(i64::MAX);
        self.extender.promises.with_label_values::<&str>(&[]).set(open);
    }

    /// Counts a Pod that preemption was let have.
    pub fn victim(&self, class: Option<&str>) {
        self.extender.victims.with_label_values(&[class.unwrap_or("none")]).inc();
    }

    /// Counts a Pod that preemption was kept from.
    pub fn spared(&self, class: Option<&str>, why: Spared) {
        self.extender.spared.with_label_values(&[class.unwrap_or("none"), why.as_str()]).inc();
    }

    /// Counts a wake-up.
    pub fn woke(&self, written: bool) {
        let result = if written { "written" } else { "failed" };
        self.extender.wake_ups.with_label_values(&[result]).inc();
    }

    /// Whether this process holds the lease.
    pub fn lease(&self, held: bool) {
        self.extender.lease_held.with_label_values::<&str>(&[]).set(i64::from(held));
    }
}
