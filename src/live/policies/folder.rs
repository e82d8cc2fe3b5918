//! One reading of a policy directory.

use std::{
    collections::BTreeSet,
    fs, io,
    path::{Path, PathBuf},
};

use super::revision::{self, Revision};
use crate::policy::{PolicyError, SourceFile, is_policy_file};

/// Most bytes of one file: it has to fit into a ConfigMap (1 MiB) to be delivered by one.
const LARGEST_FILE: u64 = 1 << 20;

/// Most files, and deepest folder: a policy directory has tens of files, so more means that the wrong
/// directory was named.
const MOST_FILES: usize = 2000;
const DEEPEST: usize = 16;

/// What stands in the directory.
#[derive(Clone, Debug, Default)]
pub(super) struct Snapshot {
    /// Policy files, by path.
    pub files: Vec<SourceFile>,
    /// What could not be read.
    pub faults: Vec<PolicyError>,
    /// Commit and hash of the content.
    pub revision: Revision,
    /// Every folder that was read, symlinks followed.
    pub folders: BTreeSet<PathBuf>,
}

impl Snapshot {
    pub fn same_content(&self, other: &Self) -> bool {
        self.revision == other.revision && self.faults == other.faults && self.files == other.files
    }

    /// Whether everything that was listed could be read.
    pub fn is_whole(&self) -> bool {
        self.faults.is_empty()
    }
}

/// Reads the directory. What cannot be read is a fault in the result.
pub(super) fn read(root: &Path) -> Snapshot {
    let mut snapshot = Snapshot::default();
    walk(root, "", 0, &mut snapshot);
    snapshot.files.sort_by(|a, b| a.path.cmp(&b.path));
    snapshot.faults.sort();
    snapshot.revision = revision::of(root, &snapshot.files);
    snapshot
}

fn walk(folder: &Path, shown: &str, depth: usize, snapshot: &mut Snapshot) {
    // A folder that was seen under another name, as in a circle of symlinks, is not read again.
    let canonical = match fs::canonicalize(folder) {
        Ok(canonical) => canonical,
        Err(error) => return fault(shown, &error, snapshot),
    };
    if depth > DEEPEST || !snapshot.folders.insert(canonical) {
        return;
    }
    let entries = fs::read_dir(folder).and_then(Iterator::collect::<io::Result<Vec<_>>>);
    let mut entries = match entries {
        Ok(entries) => entries,
        Err(error) => return fault(shown, &error, snapshot),
    };
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if shown.is_empty() { name.clone() } else { format!("{shown}/{name}") };
        // Hidden: `.git`, and the `..data` of a ConfigMap volume, which holds the same files again.
        if name.starts_with('.') || name == "tests" {
            continue;
        }
        // Metadata follows symlinks: files of a ConfigMap volume are symlinks.
        match fs::metadata(entry.path()) {
            Ok(kind) if kind.is_dir() => walk(&entry.path(), &path, depth + 1, snapshot),
            Ok(kind) if kind.is_file() && is_policy_file(&path) => {
                file(&entry.path(), path, kind.len(), snapshot)
            }
            Ok(_) => {}
            Err(error) if is_policy_file(&path) => fault(&path, &error, snapshot),
            Err(_) => {}
        }
    }
}

fn file(path: &Path, shown: String, size: u64, snapshot: &mut Snapshot) {
    const WHAT: &str = "cannot be read";
    if size > LARGEST_FILE {
        let why = format!("it has {size} bytes and a policy file has at most {LARGEST_FILE}");
        return snapshot.faults.push(unreadable(&shown, WHAT, &why));
    }
    if snapshot.files.len() == MOST_FILES {
        let why = format!("the directory has more than {MOST_FILES} policy files");
        return snapshot.faults.push(unreadable(&shown, WHAT, &why));
    }
    match fs::read_to_string(path) {
        Ok(text) => snapshot.files.push(SourceFile { path: shown, text }),
        Err(error) => fault(&shown, &error, snapshot),
    }
}

fn fault(shown: &str, error: &io::Error, snapshot: &mut Snapshot) {
    let shown = if shown.is_empty() { "." } else { shown };
    snapshot.faults.push(unreadable(shown, "cannot be read", &error.to_string()));
}

/// A fault of a file as a whole.
pub(super) fn unreadable(file: &str, what: &str, why: &str) -> PolicyError {
    PolicyError {
        file: file.to_owned(),
        line: 1,
        column: 1,
        what: what.to_owned(),
        why: why.to_owned(),
        suggestion: None,
    }
}
