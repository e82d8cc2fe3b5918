//! The one task that writes: it applies what watches tell, in batches, and swaps in a new World.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use serde_json::Value;
use tokio::{
    sync::mpsc,
    time::{Instant, MissedTickBehavior, interval, sleep_until},
};

use crate::{
    cluster::{Cluster, Key, Kind, ReadError},
    live::{
        changes::{KindNews, News},
        object::Object,
        picture::Shared,
        status::{Counters, KindState, Statuses},
    },
    policy::PolicySet,
};

/// Messages that are applied at most before others get the thread.
const BATCH: usize = 64;

/// Time between two Worlds under load: short against the 300 ms that a reader waits for its own writes.
const PACE: Duration = Duration::from_millis(10);

/// How often the picture's age is told anew.
const TICK: Duration = Duration::from_secs(1);

/// Keeps the picture.
pub(super) struct Keeper {
    shared: Arc<Shared>,
    news: mpsc::Receiver<News>,
    cluster: Cluster,
    policies: Arc<PolicySet>,
    /// Whether policies have been given.
    policies_known: bool,
    statuses: Statuses,
    /// What the list in progress has held so far, by kind.
    listed: Vec<(Kind, BTreeSet<Key>)>,
    /// Whether the picture came as a whole, with its own time.
    whole: bool,
    dirty: bool,
}

impl Keeper {
    pub(super) fn new(
        shared: Arc<Shared>,
        news: mpsc::Receiver<News>,
        policies: Option<Arc<PolicySet>>,
    ) -> Self {
        Self {
            shared,
            news,
            cluster: Cluster::none(),
            policies_known: policies.is_some(),
            policies: policies.unwrap_or_default(),
            statuses: Statuses::waiting(),
            listed: Vec::new(),
            whole: false,
            dirty: true,
        }
    }

    /// Runs until nobody sends any more.
    pub(super) async fn run(mut self) {
        let mut tick = interval(TICK);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut batch = Vec::with_capacity(BATCH);
        let mut next = Instant::now();
        loop {
            tokio::select! {
                received = self.news.recv_many(&mut batch, BATCH) => {
                    if received == 0 {
                        return;
                    }
                    for news in batch.drain(..) {
                        self.take(news);
                    }
                }
                _ = tick.tick() => self.tell_the_time(),
                () = sleep_until(next), if self.dirty => {}
            }
            if self.dirty && Instant::now() >= next {
                self.publish();
                next = Instant::now() + PACE;
            }
        }
    }

    fn take(&mut self, news: News) {
        match news {
            News::Policies(policies) => {
                self.policies = policies;
                self.policies_known = true;
                self.dirty = true;
            }
            News::Kind(kind, news) => self.take_of_kind(kind, news),
            News::Whole(cluster) => {
                self.cluster = *cluster;
                self.whole = true;
                self.dirty = true;
            }
        }
    }

    fn take_of_kind(&mut self, kind: Kind, news: KindNews) {
        match news {
            KindNews::ListBegins => {
                self.listed.retain(|(other, _)| *other != kind);
                self.listed.push((kind, BTreeSet::new()));
                self.statuses.of(kind).missed();
            }
            KindNews::Listed(object) => self.list(kind, &object),
            KindNews::ListEnds => {
                self.list_ended(kind);
                self.statuses.of(kind).heard(now());
            }
            KindNews::Applied(object) => {
                Counters::add(&self.shared.counters.events);
                if let Some(object) = self.parse(kind, &object) {
                    self.apply(kind, &object);
                }
                self.statuses.of(kind).heard(now());
            }
            KindNews::Deleted(object) => {
                Counters::add(&self.shared.counters.events);
                self.delete(kind, &object);
                self.statuses.of(kind).heard(now());
            }
            KindNews::Contact => self.statuses.of(kind).heard(now()),
            KindNews::Broken(error) => {
                self.tell_broken(kind, &error);
                Counters::add(&self.shared.counters.broken);
                self.statuses.of(kind).broke(error);
                self.dirty = true;
            }
            KindNews::Unavailable => self.unavailable(kind),
        }
    }

    /// Takes in an object of a list. One that cannot be read keeps its place: it is not gone.
    fn list(&mut self, kind: Kind, object: &Object) {
        let Some(object) = self.parse(kind, object) else { return };
        self.apply(kind, &object);
        let keys = self.listed.iter_mut().find(|(other, _)| *other == kind).map(|(_, keys)| keys);
        if let (Some(keys), Ok(key)) = (keys, Cluster::key_of(kind, &object)) {
            keys.insert(key);
        }
    }

    fn delete(&mut self, kind: Kind, object: &Object) {
        let Some(object) = self.parse(kind, object) else { return };
        let done = self.cluster.delete_as(kind, &object);
        self.note(done.map(|change| change.is_change()));
    }

    /// The server sends JSON that can be read, or the whole answer could not be.
    fn parse(&self, kind: Kind, object: &Object) -> Option<Value> {
        object
            .value()
            .inspect_err(|error| {
                tracing::warn!(%kind, %error, "object not read; the picture keeps what it had");
                Counters::add(&self.shared.counters.unreadable);
            })
            .ok()
    }

    /// Says so once, and more quietly as long as it stays so.
    fn tell_broken(&mut self, kind: Kind, error: &str) {
        if self.statuses.of(kind).error.is_none() {
            tracing::warn!(%kind, error, "watch broken; the picture stays as it is");
        } else {
            tracing::debug!(%kind, error, "watch still broken");
        }
    }

    fn list_ended(&mut self, kind: Kind) {
        let Some(at) = self.listed.iter().position(|(other, _)| *other == kind) else { return };
        let (_, keys) = self.listed.swap_remove(at);
        self.cluster.retain(kind, &keys);
        self.cluster.set_synced(kind, true);
        self.statuses.of(kind).state = KindState::Watched;
        Counters::add(&self.shared.counters.lists);
        tracing::debug!(%kind, objects = keys.len(), "listed");
        self.dirty = true;
    }

    /// What the server no longer has is gone; whether it ever had it cannot be told, so nothing is asserted.
    fn unavailable(&mut self, kind: Kind) {
        self.cluster.retain(kind, &BTreeSet::new());
        self.cluster.set_synced(kind, false);
        let status = self.statuses.of(kind);
        if status.state != KindState::Unavailable {
            tracing::info!(%kind, "not served by this API server; asked again later");
        }
        status.state = KindState::Unavailable;
        status.error = None;
        status.last_contact = Some(now());
        self.dirty = true;
    }

    fn apply(&mut self, kind: Kind, object: &Value) {
        let done = self.cluster.apply_as(kind, object);
        self.note(done.map(|change| change.is_change()));
    }

    fn note(&mut self, done: Result<bool, ReadError>) {
        match done {
            Ok(changed) => self.dirty |= changed,
            Err(error) => {
                tracing::warn!(%error, "object not read; the picture keeps what it had");
                Counters::add(&self.shared.counters.unreadable);
            }
        }
    }

    fn tell_the_time(&mut self) {
        if !self.whole {
            self.cluster.judge_freshness(now());
            self.dirty = true;
        }
    }

    fn publish(&mut self) {
        if !self.whole {
            self.cluster.set_as_of(self.statuses.as_of(now()));
        }
        let old = self.shared.load();
        let world = old.with_cluster(self.cluster.clone());
        let world = if Arc::ptr_eq(&old.policies, &self.policies) {
            world
        } else {
            world.with_policies(Arc::clone(&self.policies))
        };
        let complete = self.whole || self.statuses.readiness().missing.is_empty();
        let statuses = if self.whole { Statuses::default() } else { self.statuses.clone() };
        self.shared.publish(world, statuses, self.policies_known, complete && self.policies_known);
        self.dirty = false;
    }
}

/// Unix seconds.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}
