//! Folders of control planes, and what is left of them.

use std::path::{Path, PathBuf};

use rustix::process::{Pid, test_kill_process};

/// A folder below cargo's own for tests, named after this process: `remove_leftovers` can tell whose it was.
pub fn folder() -> tempfile::TempDir {
    let base = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let prefix = format!("controlplane-{}-", std::process::id());
    tempfile::Builder::new().prefix(&prefix).tempdir_in(base).expect("a folder for the control plane")
}

/// Removes folders of test processes that were killed and could not clean up.
pub fn remove_leftovers() {
    for folder in entries(Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        let name = folder.file_name().unwrap_or_default().to_string_lossy();
        let owner = name.strip_prefix("controlplane-").and_then(|rest| rest.split('-').next()?.parse().ok());
        let alive = |id| Pid::from_raw(id).is_some_and(|id| test_kill_process(id).is_ok());
        if owner.is_some_and(|id| !alive(id)) {
            // Nothing depends on it: what cannot be removed now is tried again next time.
            let _ = std::fs::remove_dir_all(&folder);
        }
    }
}

/// What lies in a folder; nothing if it cannot be read.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let found = std::fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path()).collect()
}
