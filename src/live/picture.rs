//! The present World, for readers that never wait and for readers that wait for something to appear.

use std::{
    path::Path,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use arc_swap::ArcSwap;
use kube::Client;
use tokio::{
    sync::{mpsc, watch},
    task::JoinSet,
    time::{Instant, timeout_at},
};

use crate::{
    cluster::{Cluster, Kind},
    live::{
        changes::News,
        file::{self, FileError},
        keeper::Keeper,
        list_watch::{ABSENT, ListWatch},
        policies::PolicyState,
        status::{Counters, KindStatus, Readiness, Statuses},
    },
    policy::PolicySet,
    world::{Features, World},
};

/// The live World. Clones are the same picture; the watches end with the last of them.
#[derive(Clone, Debug)]
pub struct Picture {
    shared: Arc<Shared>,
    news: mpsc::Sender<News>,
    _tasks: Arc<JoinSet<()>>,
}

/// What writer and readers share.
#[derive(Debug)]
pub(super) struct Shared {
    world: ArcSwap<World>,
    /// Laid over every World that is published.
    features: OnceLock<Features>,
    ready: AtomicBool,
    told: watch::Sender<()>,
    notes: Mutex<Notes>,
    pub(super) counters: Counters,
}

#[derive(Debug, Default)]
struct Notes {
    statuses: Statuses,
    policies_known: bool,
    policy_errors: Vec<String>,
}

/// Messages that may wait for the keeper; a list waits when it is full.
const QUEUE: usize = 256;

impl Picture {
    /// Starts to watch a cluster, under these policies, or under none until [`Picture::set_policies`].
    /// Returns at once; see [`Picture::readiness`].
    #[must_use]
    pub fn watch(client: &Client, policies: Option<Arc<PolicySet>>) -> Self {
        Self::watch_at(client, policies, ABSENT)
    }

    /// Watches, and asks again for kinds that the server does not have after these pauses.
    pub(super) fn watch_at(client: &Client, policies: Option<Arc<PolicySet>>, absent: [Duration; 2]) -> Self {
        let (picture, mut tasks) = Self::start(policies);
        for kind in Kind::ALL {
            tasks.spawn(ListWatch::new(kind, client.clone(), picture.news.clone(), absent).run());
        }
        Self { _tasks: Arc::new(tasks), ..picture }
    }

    /// The picture of a file, under these policies. The file is read again when it changes; a version that
    /// cannot be read changes nothing.
    ///
    /// # Errors
    /// A file that cannot be read in the beginning.
    pub fn of_file(path: &Path, policies: Option<Arc<PolicySet>>) -> Result<Self, FileError> {
        let (text, cluster) = file::read(path)?;
        let (picture, mut tasks) = Self::start(policies);
        tasks.spawn(file::follow(path.to_owned(), text, cluster, picture.news.clone()));
        Ok(Self { _tasks: Arc::new(tasks), ..picture })
    }

    fn start(policies: Option<Arc<PolicySet>>) -> (Self, JoinSet<()>) {
        let (news, inbox) = mpsc::channel(QUEUE);
        let shared = Arc::new(Shared::new(policies.clone().unwrap_or_default()));
        let mut tasks = JoinSet::new();
        tasks.spawn(Keeper::new(Arc::clone(&shared), inbox, policies).run());
        (Self { shared, news, _tasks: Arc::default() }, tasks)
    }

    /// Takes it that the control plane has these features, from now on. Only the first word counts.
    #[must_use]
    pub fn with_features(self, features: Features) -> Self {
        let features = *self.shared.features.get_or_init(|| features);
        self.shared.world.rcu(|world| World { features, ..World::clone(world) });
        self
    }

    /// The World of this moment.
    #[must_use]
    pub fn load(&self) -> Arc<World> {
        self.shared.load()
    }

    /// Whether policies and every kind have been complete once. Stays true from then on.
    #[must_use]
    pub fn is_ready(&self) -> bool {
        self.shared.ready.load(Ordering::Acquire)
    }

    /// What is missing, and what a person should know although nothing is.
    #[must_use]
    pub fn readiness(&self) -> Readiness {
        let notes = self.shared.notes();
        let mut readiness = notes.statuses.readiness();
        if notes.policies_known {
            readiness.notes.extend(notes.policy_errors.iter().cloned());
        } else {
            readiness.missing.push("policies: not loaded yet".to_owned());
            readiness.missing.extend(notes.policy_errors.iter().cloned());
        }
        readiness
    }

    /// How each kind stands.
    #[must_use]
    pub fn statuses(&self) -> Vec<(Kind, KindStatus)> {
        self.shared.notes().statuses.iter().map(|(kind, status)| (kind, status.clone())).collect()
    }

    /// Counts for metrics.
    #[must_use]
    pub fn counters(&self) -> &Counters {
        &self.shared.counters
    }

    /// Tells of every new World.
    #[must_use]
    pub fn subscribe(&self) -> watch::Receiver<()> {
        self.shared.told.subscribe()
    }

    /// The World as soon as it is `enough`, else the newest one after `at_most`.
    pub async fn wait_for(
        &self,
        enough: impl Fn(&World) -> bool + Send + Sync,
        at_most: Duration,
    ) -> Arc<World> {
        let mut told = self.subscribe();
        let end = Instant::now() + at_most;
        loop {
            let world = self.load();
            if enough(&world) {
                return world;
            }
            match timeout_at(end, told.changed()).await {
                Ok(Ok(())) => {}
                Ok(Err(_)) | Err(_) => return self.load(),
            }
        }
    }

    /// Puts other policies in force. Earlier policy errors are forgotten.
    pub async fn set_policies(&self, policies: Arc<PolicySet>) {
        self.shared.notes().policy_errors.clear();
        // The keeper lives as long as any clone of the picture, so somebody listens.
        let _ = self.news.send(News::Policies(policies)).await;
    }

    /// Puts in force what a policy folder publishes, from what it holds now on, until it ends. `told` is
    /// called for every state, for metrics.
    pub fn follow_policies(
        &self,
        mut states: watch::Receiver<PolicyState>,
        told: impl Fn(&PolicyState) + Send + 'static,
    ) {
        let (shared, news) = (Arc::clone(&self.shared), self.news.clone());
        // What is wrong already is told from the first moment on.
        shared.notes().policy_errors = faults(&states.borrow());
        tokio::spawn(async move {
            let mut in_force: Option<Arc<PolicySet>> = None;
            loop {
                let state = states.borrow_and_update().clone();
                told(&state);
                shared.notes().policy_errors = faults(&state);
                let other =
                    state.current.filter(|set| !in_force.as_ref().is_some_and(|old| Arc::ptr_eq(old, set)));
                if let Some(set) = other {
                    in_force = Some(Arc::clone(&set));
                    if news.send(News::Policies(set)).await.is_err() {
                        return;
                    }
                }
                if states.changed().await.is_err() {
                    return;
                }
            }
        });
    }

    /// Says why the policies of a new revision were not taken; those before stay in force.
    pub fn note_policy_errors(&self, errors: Vec<String>) {
        self.shared.notes().policy_errors = errors;
    }
}

impl Shared {
    fn new(policies: Arc<PolicySet>) -> Self {
        Self {
            world: ArcSwap::from_pointee(World::new(policies, Cluster::none())),
            features: OnceLock::new(),
            ready: AtomicBool::new(false),
            told: watch::Sender::new(()),
            notes: Mutex::new(Notes { statuses: Statuses::waiting(), ..Notes::default() }),
            counters: Counters::default(),
        }
    }

    pub(super) fn load(&self) -> Arc<World> {
        self.world.load_full()
    }

    /// Swaps a World in and tells whoever waits.
    pub(super) fn publish(&self, world: World, statuses: Statuses, policies_known: bool, ready: bool) {
        let features = self.features.get().copied().unwrap_or(world.features);
        self.world.store(Arc::new(World { features, ..world }));
        let mut notes = self.notes();
        notes.statuses = statuses;
        notes.policies_known = policies_known;
        drop(notes);
        if ready && !self.ready.swap(true, Ordering::AcqRel) {
            tracing::info!("policies and picture are complete");
        }
        Counters::add(&self.counters.worlds);
        self.told.send_replace(());
    }

    /// A panic while it was held leaves nothing half done, so a poisoned lock is as good as any.
    fn notes(&self) -> std::sync::MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Why the newest policies were not taken.
fn faults(state: &PolicyState) -> Vec<String> {
    state.rejected.iter().flat_map(|rejected| &rejected.errors).map(ToString::to_string).collect()
}
