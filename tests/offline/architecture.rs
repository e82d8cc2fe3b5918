//! ARCHITECTURE.md tells the truth: its paths exist and its map is complete.

use std::collections::BTreeSet;

use crate::sources;

/// Folders at the top level, with which a path in backticks begins.
const FOLDERS: &[&str] =
    &["src/", "tests/", "docs/", "deploy/", "policies/", "webhook-config/", ".ci/", ".github/"];

/// Documents that name files of the project.
const DOCUMENTS: &[&str] = &["ARCHITECTURE.md", "CONTRIBUTING.md", "README.md", "docs/installation.md"];

/// The words between backticks, code blocks left out.
fn quoted(markdown: &str) -> Vec<String> {
    let prose: String = markdown.split("```").step_by(2).collect();
    prose.split('`').skip(1).step_by(2).map(str::to_owned).collect()
}

fn named_paths(markdown: &str) -> BTreeSet<String> {
    let is_path = |word: &String| FOLDERS.iter().any(|folder| word.starts_with(folder));
    let plain = |word: String| word.split([' ', ':']).next().unwrap_or_default().to_owned();
    quoted(markdown).into_iter().filter(is_path).map(plain).filter(|p| !p.contains(['*', '<', '…'])).collect()
}

/// A room may be one file as yet: `src/live/` is then `src/live.rs`.
fn exists(path: &str) -> bool {
    let room = path.strip_suffix('/').filter(|p| p.starts_with("src/"));
    let file = room.map(|room| sources::root().join(format!("{room}.rs")));
    sources::root().join(path).exists() || file.is_some_and(|file| file.exists())
}

/// The rows of the table below a heading, without its two header lines.
fn rows(markdown: &str, heading: &str) -> Vec<String> {
    let section = markdown.split(&format!("\n## {heading}\n")).nth(1).unwrap_or_default();
    let section = section.split("\n## ").next().unwrap_or_default();
    section.lines().filter(|line| line.starts_with('|')).skip(2).map(str::to_owned).collect()
}

fn rooms() -> Vec<String> {
    let root = sources::read("src/lib.rs");
    let names = root.lines().filter_map(|l| l.strip_prefix("pub mod ")?.strip_suffix(';'));
    names.map(str::to_owned).collect()
}

#[test]
fn every_path_that_a_document_names_exists() {
    for document in DOCUMENTS {
        let paths = named_paths(&sources::read(document));
        for path in &paths {
            assert!(exists(path), "{document} names {path}, which does not exist");
        }
        if *document == "ARCHITECTURE.md" {
            assert!(paths.len() >= 20, "only {} paths are named", paths.len());
        }
    }
}

#[test]
fn every_room_stands_on_the_map() {
    let map = rows(&sources::read("ARCHITECTURE.md"), "The rooms");
    let rooms = rooms();
    assert!(rooms.len() >= 13, "only {} rooms were read from src/lib.rs", rooms.len());
    for room in rooms {
        let row = format!("| `src/{room}/` |");
        assert!(map.iter().any(|line| line.starts_with(&row)), "the map has no row {row}");
    }
}

#[test]
fn twelve_usual_changes_name_the_files_to_touch() {
    let changes = rows(&sources::read("ARCHITECTURE.md"), "Twelve usual changes");
    assert_eq!(changes.len(), 12);
    for change in changes {
        assert!(!named_paths(&change).is_empty(), "names no file: {change}");
    }
}

#[test]
fn paths_and_rows_are_read_from_markdown() {
    let text = "\n## A\nSee `src/lib.rs:12`, `tests/x/`, `cargo test` and `src/*/y.rs`.\n```\n`src/code.rs`\n```\n\
                | a | b |\n|---|---|\n| one | `docs/a.md` |\n\n## B\n| c |\n";
    let want: BTreeSet<String> = ["src/lib.rs", "tests/x/", "docs/a.md"].map(str::to_owned).into();
    assert_eq!(named_paths(text), want);
    assert_eq!(rows(text, "A"), ["| one | `docs/a.md` |"]);
}
