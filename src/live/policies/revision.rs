//! Names of revisions: the git commit of a checkout, else a hash of the content.
//!
//! The commit is read from git's own files (gitrepository-layout(5)) without starting git, which is not in
//! the image and refuses directories of other owners.

use std::{
    fmt::Write,
    fs,
    path::{Path, PathBuf},
};

use sha2::{Digest, Sha256};

use crate::policy::SourceFile;

/// Hexadecimal digits of a content hash in a name.
const HASH_DIGITS: usize = 12;

/// What tells one content of the directory from another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Revision {
    commit: Option<String>,
    hash: String,
}

impl Revision {
    /// The commit, else the hash of the content.
    fn name(&self) -> String {
        self.commit.clone().unwrap_or_else(|| format!("sha256-{}", self.hash))
    }

    /// The same, where `committed` is what the commit is known to say: files that were changed under a
    /// commit are no longer it, and the name shows that.
    pub fn name_under(&self, committed: &Self) -> String {
        match &self.commit {
            Some(commit) if self.same_commit(committed) && self.hash != committed.hash => {
                format!("{commit}-edited-{}", self.hash)
            }
            _ => self.name(),
        }
    }

    pub fn same_commit(&self, other: &Self) -> bool {
        self.commit == other.commit
    }
}

/// The revision of these files below that directory.
pub(super) fn of(root: &Path, files: &[SourceFile]) -> Revision {
    Revision { commit: commit(root), hash: hash(files) }
}

fn hash(files: &[SourceFile]) -> String {
    let mut hasher = Sha256::new();
    for file in files {
        // Lengths keep apart what would else read alike.
        hasher.update((file.path.len() as u64).to_be_bytes());
        hasher.update(&file.path);
        hasher.update((file.text.len() as u64).to_be_bytes());
        hasher.update(&file.text);
    }
    let mut hex = String::with_capacity(64);
    for byte in hasher.finalize() {
        // Writing into a String cannot fail.
        let _ = write!(hex, "{byte:02x}");
    }
    hex.truncate(HASH_DIGITS);
    hex
}

/// The commit that is checked out where the directory stands.
fn commit(root: &Path) -> Option<String> {
    let root = fs::canonicalize(root).ok()?;
    let git = root.ancestors().map(|folder| folder.join(".git")).find(|git| git.exists())?;
    let git = if git.is_dir() { git } else { pointed(&git)? };
    let head = read(&git.join("HEAD"))?;
    let Some(name) = head.strip_prefix("ref:").map(str::trim) else { return object(&head) };
    if name.split('/').any(|part| part == "..") {
        return None;
    }
    // A linked worktree has its own HEAD and shares branches with the repository that `commondir` names.
    let common = read(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common));
    let loose = read(&git.join(name)).or_else(|| read(&common.join(name)));
    loose.and_then(|text| object(&text)).or_else(|| packed(&common, name))
}

/// A `.git` file says where the real folder is, from its own folder.
fn pointed(file: &Path) -> Option<PathBuf> {
    let text = read(file)?;
    let target = text.strip_prefix("gitdir:")?.trim();
    Some(file.parent()?.join(target))
}

fn packed(git: &Path, name: &str) -> Option<String> {
    let text = fs::read_to_string(git.join("packed-refs")).ok()?;
    let line = text.lines().find(|line| line.split_once(' ').is_some_and(|(_, packed)| packed == name))?;
    object(line.split(' ').next()?)
}

/// An object id: 40 hexadecimal digits, or 64 in SHA-256 repositories.
fn object(text: &str) -> Option<String> {
    let id = text.trim();
    let hex = id.bytes().all(|byte| byte.is_ascii_hexdigit());
    (hex && (id.len() == 40 || id.len() == 64)).then(|| id.to_owned())
}

fn read(path: &Path) -> Option<String> {
    fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = "1111111111111111111111111111111111111111";
    const TWO: &str = "2222222222222222222222222222222222222222";

    fn repository() -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join(".git/refs/heads")).unwrap();
        fs::create_dir_all(folder.path().join("policies")).unwrap();
        fs::write(folder.path().join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        folder
    }

    #[test]
    fn a_branch_is_followed_to_its_commit_from_a_folder_within() {
        let folder = repository();
        assert_eq!(commit(&folder.path().join("policies")), None, "a branch without a commit");
        fs::write(folder.path().join(".git/packed-refs"), format!("# pack-refs\n{TWO} refs/heads/main\n"))
            .unwrap();
        assert_eq!(commit(&folder.path().join("policies")).as_deref(), Some(TWO));
        fs::write(folder.path().join(".git/refs/heads/main"), format!("{ONE}\n")).unwrap();
        assert_eq!(commit(folder.path()).as_deref(), Some(ONE), "a loose branch is newer than a packed one");
    }

    #[test]
    fn a_detached_head_is_a_commit_itself() {
        let folder = repository();
        fs::write(folder.path().join(".git/HEAD"), ONE).unwrap();
        assert_eq!(commit(folder.path()).as_deref(), Some(ONE));
        fs::write(folder.path().join(".git/HEAD"), "not a commit").unwrap();
        assert_eq!(commit(folder.path()), None);
        fs::write(folder.path().join(".git/HEAD"), "ref: ../../../etc/hostname").unwrap();
        assert_eq!(commit(folder.path()), None);
    }

    #[test]
    fn a_linked_worktree_has_its_own_head_and_shared_branches() {
        let folder = repository();
        let own = folder.path().join(".git/worktrees/tree");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join("HEAD"), "ref: refs/heads/other").unwrap();
        fs::write(own.join("commondir"), "../..\n").unwrap();
        fs::write(folder.path().join(".git/refs/heads/other"), TWO).unwrap();
        let tree = folder.path().join("tree");
        fs::create_dir_all(&tree).unwrap();
        fs::write(tree.join(".git"), "gitdir: ../.git/worktrees/tree\n").unwrap();
        assert_eq!(commit(&tree).as_deref(), Some(TWO));
    }

    #[test]
    fn without_git_the_content_names_the_revision() {
        let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
        let name = |files: &[SourceFile]| Revision { commit: None, hash: hash(files) }.name();
        assert_eq!(name(&[file("a", "b")]), name(&[file("a", "b")]));
        assert!(name(&[file("a", "b")]).starts_with("sha256-"));
        assert_ne!(name(&[file("a", "b")]), name(&[file("ab", "")]));
        assert_ne!(name(&[file("a", "bc")]), name(&[file("a", "b"), file("c", "")]));
    }

    #[test]
    fn files_that_change_under_one_commit_are_named_as_edited() {
        let revision =
            |commit: &str, hash: &str| Revision { commit: Some(commit.to_owned()), hash: hash.to_owned() };
        let (first, edited, next) = (revision(ONE, "a"), revision(ONE, "b"), revision(TWO, "b"));
        assert_eq!(first.name_under(&first), ONE);
        assert_eq!(edited.name_under(&first), format!("{ONE}-edited-b"));
        assert_eq!(next.name_under(&edited), TWO);
    }
}
