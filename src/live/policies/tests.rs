//! Each way in which a directory is written, with real files: seen by events alone and by polling alone.

use std::{fs, os::unix::fs::symlink};

use super::*;

const COMMIT: [&str; 2] =
    ["1111111111111111111111111111111111111111", "2222222222222222222222222222222222222222"];

fn pool(name: &str) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: GpuPool\nmetadata: {{name: {name}}}\nspec:\n  \
         nodes: [{{matchLabels: {{pool: {name}}}}}]\n  mode: exclusive\n"
    )
}

const BROKEN: &str =
    "apiVersion: sluice.dev/v1alpha1\nkind: GpuPool\nmetadata: {name: x}\nspec: {mode: exclusive}\n";

/// A folder seen by events alone, and one seen by polling alone.
fn eyes(path: &Path) -> [PolicyFolder; 2] {
    let folder = PolicyFolder::new(path, Vec::new());
    let settle = Duration::from_millis(40);
    let by_events = PolicyFolder { poll: Duration::from_secs(3600), settle, ..folder.clone() };
    let by_polling = PolicyFolder { poll: Duration::from_millis(30), settle, events: false, ..folder };
    [by_events, by_polling]
}

/// Waits for a state, at most ten seconds.
async fn until(
    receiver: &mut watch::Receiver<PolicyState>,
    what: &str,
    is: impl Fn(&PolicyState) -> bool,
) -> PolicyState {
    let found = timeout(Duration::from_secs(10), receiver.wait_for(|state| is(state))).await;
    found.unwrap_or_else(|_| panic!("never {what}")).expect("the folder is still watched").clone()
}

fn has_pool(state: &PolicyState, name: &str) -> bool {
    state.is_current() && state.current.as_ref().is_some_and(|set| set.pool(name).is_some())
}

/// Three changes by `write`, broken ones between: each good one comes into force, a broken one never.
async fn three_swaps(path: &Path, write: impl Fn(&str)) {
    write(&pool("zero"));
    for folder in eyes(path) {
        write(&pool("zero"));
        let mut receiver = folder.watch();
        until(&mut receiver, "zero", |state| has_pool(state, "zero")).await;
        write(&pool("one"));
        until(&mut receiver, "one", |state| has_pool(state, "one")).await;
        write(BROKEN);
        let state = until(&mut receiver, "broken", |state| !state.is_current()).await;
        let rejected = state.rejected.expect("it is rejected");
        assert_eq!(rejected.errors[0].to_string(), "pools.yaml:4:7: spec has no `nodes`, it is required");
        assert!(state.current.expect("the last good one is kept").pool("one").is_some());
        write(&pool("two"));
        until(&mut receiver, "two", |state| has_pool(state, "two")).await;
        write(&pool("three"));
        let state = until(&mut receiver, "three", |state| has_pool(state, "three")).await;
        assert!(state.current.expect("a set").pool("two").is_none());
    }
}

#[tokio::test]
async fn a_file_that_is_written_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pools.yaml");
    three_swaps(folder.path(), |text| fs::write(&file, text).unwrap()).await;
}

#[tokio::test]
async fn an_editor_that_renames_over_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, draft) = (folder.path().join("pools.yaml"), folder.path().join(".pools.yaml.swp"));
    three_swaps(folder.path(), |text| {
        fs::write(&draft, text).unwrap();
        fs::rename(&draft, &file).unwrap();
    })
    .await;
}

#[tokio::test]
async fn a_config_map_volume_that_swaps_its_data() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let count = std::cell::Cell::new(0);
    three_swaps(root, |text| {
        count.set(count.get() + 1);
        let name = format!("..2026_12_01_{}", count.get());
        fs::create_dir(root.join(&name)).unwrap();
        fs::write(root.join(&name).join("pools.yaml"), text).unwrap();
        let old = fs::read_link(root.join("..data")).ok();
        symlink(&name, root.join("..data_tmp")).unwrap();
        fs::rename(root.join("..data_tmp"), root.join("..data")).unwrap();
        if fs::symlink_metadata(root.join("pools.yaml")).is_err() {
            symlink("..data/pools.yaml", root.join("pools.yaml")).unwrap();
        }
        if let Some(old) = old {
            fs::remove_dir_all(root.join(old)).unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn git_sync_that_swaps_the_directory_s_own_symlink() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let count = std::cell::Cell::new(0);
    three_swaps(&root.join("current"), |text| {
        count.set(count.get() + 1);
        let tree = root.join(format!("tree-{}", count.get()));
        fs::create_dir(&tree).unwrap();
        fs::write(tree.join("pools.yaml"), text).unwrap();
        let old = fs::canonicalize(root.join("current")).ok();
        symlink(&tree, root.join("next")).unwrap();
        fs::rename(root.join("next"), root.join("current")).unwrap();
        if let Some(old) = old {
            fs::remove_dir_all(old).unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_folder_that_is_removed_and_made_anew() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("policies");
    three_swaps(&root, |text| {
        let _ = fs::remove_dir_all(&root);
        fs::create_dir(&root).unwrap();
        fs::write(root.join("pools.yaml"), text).unwrap();
    })
    .await;
}

#[tokio::test]
async fn git_pull_names_the_new_commit_and_an_edit_under_it_is_named_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let branch = root.join(".git/refs/heads/main");
    fs::create_dir_all(branch.parent().unwrap()).unwrap();
    fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
    for watcher in eyes(root) {
        fs::write(&branch, COMMIT[0]).unwrap();
        fs::write(root.join("pools.yaml"), pool("zero")).unwrap();
        let mut receiver = watcher.watch();
        let revision =
            |state: &PolicyState| state.current.as_ref().map(|set| set.revision.clone()).unwrap_or_default();
        assert_eq!(revision(&receiver.borrow()), COMMIT[0]);
        // Git writes the files first and moves the branch last.
        fs::write(root.join("pools.yaml"), pool("one")).unwrap();
        fs::write(&branch, COMMIT[1]).unwrap();
        until(&mut receiver, "the new commit", |s| has_pool(s, "one") && revision(s) == COMMIT[1]).await;
        fs::write(root.join("pools.yaml"), pool("two")).unwrap();
        let state = until(&mut receiver, "the edit", |s| has_pool(s, "two")).await;
        assert!(revision(&state).starts_with(&format!("{}-edited-", COMMIT[1])), "{}", revision(&state));
    }
}

#[tokio::test]
async fn a_file_that_is_half_written_is_not_taken_for_a_whole() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("pools.yaml");
    for watcher in eyes(folder.path()) {
        fs::write(&file, pool("zero")).unwrap();
        let watcher = PolicyFolder { settle: Duration::from_millis(700), ..watcher };
        let mut receiver = watcher.watch();
        receiver.mark_unchanged();
        // Twelve pieces, each well within the time in which readings have to agree.
        let text = pool("whole");
        for end in (1..=12).map(|piece| text.len() * piece / 12) {
            fs::write(&file, &text[..end]).unwrap();
            sleep(Duration::from_millis(30)).await;
        }
        receiver.changed().await.unwrap();
        let state = receiver.borrow_and_update().clone();
        assert!(has_pool(&state, "whole"), "the first thing that is told is the whole: {state:?}");
    }
}

#[tokio::test]
async fn a_new_folder_a_removed_file_and_an_emptied_directory() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    for watcher in eyes(root) {
        fs::write(root.join("a.yaml"), pool("a")).unwrap();
        let mut receiver = watcher.watch();
        fs::create_dir_all(root.join("more/deep")).unwrap();
        fs::write(root.join("more/deep/b.yaml"), pool("b")).unwrap();
        until(&mut receiver, "both", |s| has_pool(s, "a") && has_pool(s, "b")).await;
        fs::remove_file(root.join("a.yaml")).unwrap();
        until(&mut receiver, "b alone", |s| !has_pool(s, "a") && has_pool(s, "b")).await;
        fs::remove_dir_all(root.join("more")).unwrap();
        let state = until(&mut receiver, "rejected", |s| !s.is_current()).await;
        assert!(state.current.expect("kept").pool("b").is_some());
        let told = state.rejected.expect("rejected").errors[0].to_string();
        assert_eq!(
            told,
            ".:1:1: no policy file in the directory, without --policies the built-in policies are used"
        );
    }
}

#[tokio::test]
async fn what_does_not_concern_us_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::write(root.join("a.yaml"), pool("a")).unwrap();
    for watcher in eyes(root) {
        let mut receiver = watcher.watch();
        receiver.mark_unchanged();
        fs::write(root.join("README.md"), "text").unwrap();
        fs::write(root.join("kustomization.yaml"), "resources: []").unwrap();
        fs::create_dir_all(root.join("tests")).unwrap();
        fs::write(root.join("tests/case.yaml"), "not: a policy").unwrap();
        fs::create_dir_all(root.join(".github")).unwrap();
        fs::write(root.join(".github/x.yaml"), "not: a policy").unwrap();
        assert!(timeout(Duration::from_millis(400), receiver.changed()).await.is_err());
    }
}

#[tokio::test]
async fn a_directory_that_is_broken_at_first_is_told_and_comes_into_force_later() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("policies");
    let mut receiver = eyes(&root)[1].clone().watch();
    let state = receiver.borrow_and_update().clone();
    assert!(state.current.is_none());
    let told = state.rejected.expect("rejected").errors[0].to_string();
    assert!(told.starts_with(".:1:1: cannot be read, No such file"), "{told}");
    fs::create_dir(&root).unwrap();
    fs::write(root.join("a.yaml"), pool("a")).unwrap();
    until(&mut receiver, "a", |s| has_pool(s, "a")).await;
}

#[test]
fn circles_of_symlinks_end_and_large_or_binary_files_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    symlink(root, root.join("again")).unwrap();
    fs::write(root.join("a.yaml"), pool("a")).unwrap();
    assert!(PolicyFolder::new(root, Vec::new()).load().is_ok());
    fs::write(root.join("large.yaml"), vec![b'#'; (1 << 20) + 1]).unwrap();
    fs::write(root.join("latin.yaml"), b"a: \xff").unwrap();
    symlink("nowhere", root.join("loose.yaml")).unwrap();
    let errors = PolicyFolder::new(root, Vec::new()).load().unwrap_err();
    let files: Vec<&str> = errors.iter().map(|error| error.file.as_str()).collect();
    assert_eq!(files, ["large.yaml", "latin.yaml", "loose.yaml"]);
}

#[tokio::test]
async fn watching_ends_with_its_last_reader() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.yaml"), pool("a")).unwrap();
    let (sender, receiver) =
        watch::channel(PolicyState { current: None, rejected: None, reloaded: SystemTime::now() });
    let watcher = eyes(folder.path())[0].clone();
    let first = super::folder::read(folder.path());
    let task = tokio::spawn(watcher.follow(first, sender));
    drop(receiver);
    timeout(Duration::from_secs(5), task).await.expect("it ends").unwrap();
}
