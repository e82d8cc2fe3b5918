//! Watches files that are replaced whole.
//!
//! kubelet replaces a mounted Secret by swapping one symbolic link of its folder. A watch on the files then
//! follows the old ones into nothing, and is deaf from the first swap on; so the folders are watched. As no
//! watch is certain (network mounts, a folder replaced whole, events lost), the content is compared now and
//! then too, and only content decides whether anything changed.

use std::{collections::BTreeSet, path::PathBuf, time::Duration};

use notify::{RecommendedWatcher, RecursiveMode, Watcher};
use tokio::{sync::mpsc, time::sleep};

use super::{CertificateError, read};

/// A swap is several events; they belong together when they come within this time.
const SETTLE: Duration = Duration::from_millis(100);

/// Files, and what is done with their content when it changes.
pub(in crate::serve) struct Watched<F> {
    /// The files.
    pub(in crate::serve) paths: Vec<PathBuf>,
    /// Their content now; neither taken nor turned down again.
    pub(in crate::serve) seen: Vec<Vec<u8>>,
    /// Time between two looks.
    pub(in crate::serve) poll: Duration,
    /// Takes new content, or says why not.
    pub(in crate::serve) take: F,
}

/// Watches for ever.
pub(in crate::serve) async fn watch<F>(mut watched: Watched<F>)
where
    F: FnMut(&[Vec<u8>]) -> Result<(), CertificateError>,
{
    let (changed, mut changes) = mpsc::channel(1);
    let folders = folders(&watched.paths);
    // Held for as long as the loop runs; dropped, it would watch no more.
    let watcher = folder_watcher(&folders, changed);
    loop {
        // First of all once: what changed before the watch began is no event.
        watched.look();
        tokio::select! {
            Some(()) = changes.recv(), if watcher.is_some() => {
                sleep(SETTLE).await;
                let _ = changes.try_recv();
            }
            () = sleep(watched.poll) => {}
        }
    }
}

impl<F> Watched<F>
where
    F: FnMut(&[Vec<u8>]) -> Result<(), CertificateError>,
{
    fn look(&mut self) {
        let content: Result<Vec<_>, _> = self.paths.iter().map(|path| read(path)).collect();
        let content = match content {
            Ok(content) if content == self.seen => return,
            Ok(content) => content,
            // Between two steps of a swap that is not atomic; the next look sees its end.
            Err(error) => {
                return tracing::warn!(%error, "certificate files cannot be read; keeping what is in use");
            }
        };
        match (self.take)(&content) {
            Ok(()) => tracing::info!(files = ?self.paths, "took changed certificate files into use"),
            Err(error) => {
                tracing::error!(%error, files = ?self.paths, "changed certificate files turned down")
            }
        }
        self.seen = content;
    }
}

fn folders(paths: &[PathBuf]) -> BTreeSet<PathBuf> {
    let folder = |path: &PathBuf| match path.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    paths.iter().map(folder).collect()
}

/// Without a watch, which a system may refuse, looking now and then still finds every change.
fn folder_watcher(folders: &BTreeSet<PathBuf>, changed: mpsc::Sender<()>) -> Option<RecommendedWatcher> {
    let watch = || {
        let mut watcher = notify::recommended_watcher(move |event: notify::Result<notify::Event>| {
            // Our own reading is an access event; to look at that again would never end.
            if !event.is_ok_and(|event| event.kind.is_access()) {
                // Full means that a look is due already.
                let _ = changed.try_send(());
            }
        })?;
        for folder in folders {
            watcher.watch(folder, RecursiveMode::NonRecursive)?;
        }
        Ok(watcher)
    };
    watch()
        .inspect_err(|error: &notify::Error| tracing::warn!(%error, "cannot watch certificate folders; looking now and then"))
        .ok()
}
