//! The policy directory: read as a whole, watched, and published as compiled sets.
//!
//! Whatever writes the directory (a ConfigMap volume that swaps `..data`, git-sync that swaps a symlink,
//! `git pull`, an editor that renames over a file, a slow copy), the content is what counts: events only say
//! when to look, and polling looks even where no event comes, as on network filesystems. Two readings a
//! moment apart have to agree before anything is compiled, so that no half of a change is taken for a whole.
//! A set that does not compile changes nothing: the last good one stays in force and the faults are told.

mod folder;
mod revision;

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, SystemTime},
};

use notify::{
    EventKind, RecursiveMode, Watcher,
    event::{AccessKind, AccessMode},
};
use tokio::{
    sync::{mpsc, watch},
    task::spawn_blocking,
    time::{sleep, timeout},
};

use crate::policy::{self, PolicyError, PolicySet};
use folder::Snapshot;
use revision::Revision;

/// Where policies come from and how eagerly they are looked at.
#[derive(Clone, Debug)]
pub struct PolicyFolder {
    /// The directory; may be a symlink.
    pub path: PathBuf,
    /// Rule ids that policies may name.
    pub known_rules: Vec<&'static str>,
    /// Longest time between two looks, events or not.
    pub poll: Duration,
    /// Time between two readings that have to agree.
    pub settle: Duration,
    /// Whether the operating system's file events are used.
    pub events: bool,
}

/// What is in force, and what is not.
#[derive(Clone, Debug)]
pub struct PolicyState {
    /// The newest set that compiled; nothing where none ever did.
    pub current: Option<Arc<PolicySet>>,
    /// The newest revision, where it did not compile.
    pub rejected: Option<Rejected>,
    /// When the directory last changed and was compiled, well or not.
    pub reloaded: SystemTime,
}

/// A revision that is not used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejected {
    /// Its revision, as far as it could be read.
    pub revision: String,
    /// Every fault.
    pub errors: Vec<PolicyError>,
}

/// How often readings are repeated until two agree; a directory that never rests is taken as it is.
const MOST_READINGS: usize = 20;

impl PolicyFolder {
    /// A directory with the usual times: looked at every 10 s, settled for 200 ms.
    ///
    /// Polling reads a few small files; 10 s is what a ConfigMap volume's own delay (up to a minute) hides.
    #[must_use]
    pub fn new(path: impl Into<PathBuf>, known_rules: Vec<&'static str>) -> Self {
        Self {
            path: path.into(),
            known_rules,
            poll: Duration::from_secs(10),
            settle: Duration::from_millis(200),
            events: true,
        }
    }

    /// Reads and compiles the directory once.
    ///
    /// # Errors
    /// Every fault of every file, or why a file cannot be read.
    pub fn load(&self) -> Result<PolicySet, Vec<PolicyError>> {
        let snapshot = folder::read(&self.path);
        self.compile(&snapshot, &snapshot.revision)
    }

    /// Reads the directory, and goes on reading it whenever it changes, until every receiver is gone. The
    /// first value is that of the first reading.
    ///
    /// # Panics
    /// Outside a tokio runtime.
    #[must_use]
    pub fn watch(self) -> watch::Receiver<PolicyState> {
        let first = folder::read(&self.path);
        let state = self.judge(&first, &first.revision, None);
        let (sender, receiver) = watch::channel(state);
        tokio::spawn(self.follow(first, sender));
        receiver
    }

    async fn follow(self, mut last: Snapshot, sender: watch::Sender<PolicyState>) {
        let (poke, mut pokes) = mpsc::channel(1);
        let mut eyes = Eyes::new(&self, poke);
        // The first content that was seen of a commit is taken for what the commit says.
        let mut committed = last.revision.clone();
        loop {
            // What happened in a folder before it was watched is found by looking once more.
            if !eyes.look_at(&self.path, &last.folders) {
                tokio::select! {
                    () = sender.closed() => return,
                    // The time being over and a poke mean the same.
                    _ = timeout(self.poll, next(&mut pokes)) => {}
                }
            }
            let now = self.read().await;
            if now.same_content(&last) {
                last.folders = now.folders;
                continue;
            }
            let now = self.settled(now).await;
            if !now.revision.same_commit(&committed) {
                committed = now.revision.clone();
            }
            if !now.same_content(&last) {
                sender.send_modify(|state| *state = self.judge(&now, &committed, state.current.clone()));
            }
            last = now;
        }
    }

    async fn read(&self) -> Snapshot {
        let path = self.path.clone();
        // A reading that was cancelled with the runtime is never looked at.
        spawn_blocking(move || folder::read(&path)).await.unwrap_or_default()
    }

    /// Reads until two readings agree.
    async fn settled(&self, first: Snapshot) -> Snapshot {
        let mut before = first;
        for _ in 0..MOST_READINGS {
            sleep(self.settle).await;
            let now = self.read().await;
            if now.same_content(&before) && now.is_whole() {
                return now;
            }
            before = now;
        }
        before
    }

    /// The state after a reading; the set before it stays in force where the new one has faults.
    fn judge(
        &self,
        snapshot: &Snapshot,
        committed: &Revision,
        before: Option<Arc<PolicySet>>,
    ) -> PolicyState {
        let reloaded = SystemTime::now();
        match self.compile(snapshot, committed) {
            Ok(set) => {
                let (classes, pools) = (set.classes.len(), set.pools.len());
                tracing::info!(revision = %set.revision, classes, pools, "policies loaded");
                for warning in &set.warnings {
                    tracing::warn!("{warning}");
                }
                PolicyState { current: Some(Arc::new(set)), rejected: None, reloaded }
            }
            Err(errors) => {
                let kept = before.as_ref().map_or("none", |set| set.revision.as_str());
                tracing::error!(kept, faults = errors.len(), "policies not loaded");
                for error in &errors {
                    tracing::error!("{error}");
                }
                let revision = snapshot.revision.name_under(committed);
                PolicyState { current: before, rejected: Some(Rejected { revision, errors }), reloaded }
            }
        }
    }

    fn compile(&self, snapshot: &Snapshot, committed: &Revision) -> Result<PolicySet, Vec<PolicyError>> {
        if !snapshot.faults.is_empty() {
            return Err(snapshot.faults.clone());
        }
        if snapshot.files.is_empty() {
            // An emptied folder is a mishap of whoever delivers it, not a wish for the built-in policies.
            let why = "without --policies the built-in policies are used";
            return Err(vec![folder::unreadable(".", "no policy file in the directory", why)]);
        }
        policy::compile(&snapshot.files, &snapshot.revision.name_under(committed), &self.known_rules)
    }
}

impl PolicyState {
    /// Whether the newest revision is in force.
    #[must_use]
    pub const fn is_current(&self) -> bool {
        self.rejected.is_none()
    }
}

/// Waits for a poke, for ever where none can come.
async fn next(pokes: &mut mpsc::Receiver<()>) {
    if pokes.recv().await.is_none() {
        std::future::pending::<()>().await;
    }
}

/// File events of the folders that were read, and of the one that holds the directory itself.
struct Eyes {
    watcher: Option<notify::RecommendedWatcher>,
    watched: BTreeSet<PathBuf>,
}

impl Eyes {
    fn new(folder: &PolicyFolder, poke: mpsc::Sender<()>) -> Self {
        let name = folder.path.file_name().map(PathBuf::from);
        let beside = parent(&folder.path);
        let handler = move |event: notify::Result<notify::Event>| {
            let concerns = event.is_ok_and(|event| {
                is_change(event.kind)
                    && event.paths.iter().any(|path| {
                        // Beside the directory only its own name concerns us.
                        path.parent() != Some(&beside) || path.file_name().map(PathBuf::from) == name
                    })
            });
            if concerns {
                // A full channel holds a poke already.
                let _ = poke.try_send(());
            }
        };
        let watcher = folder.events.then(|| notify::recommended_watcher(handler)).and_then(|made| {
            made.inspect_err(|error| tracing::warn!(%error, "no file events, policies are polled")).ok()
        });
        Self { watcher, watched: BTreeSet::new() }
    }

    /// Looks at these folders from now on, and says whether any is new. What cannot be watched is polled.
    fn look_at(&mut self, root: &Path, folders: &BTreeSet<PathBuf>) -> bool {
        let Some(watcher) = &mut self.watcher else { return false };
        let mut wanted = folders.clone();
        wanted.insert(parent(root));
        for gone in self.watched.difference(&wanted) {
            let _ = watcher.unwatch(gone);
        }
        // Watching a folder again is free, and needed where it was removed and made anew.
        wanted.retain(|folder| watcher.watch(folder, RecursiveMode::NonRecursive).is_ok());
        let new = wanted.difference(&self.watched).next().is_some();
        self.watched = wanted;
        new
    }
}

fn parent(path: &Path) -> PathBuf {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => PathBuf::from("."),
        Some(parent) => parent.to_owned(),
        None => path.to_owned(),
    }
}

/// Reading makes events too; those are our own.
const fn is_change(kind: EventKind) -> bool {
    match kind {
        EventKind::Access(AccessKind::Close(AccessMode::Write)) => true,
        EventKind::Access(_) => false,
        _ => true,
    }
}

#[cfg(test)]
mod tests;
