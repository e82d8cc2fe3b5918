//! The rooms under `src/` and the arrows between them.
//!
//! The arrows are data, below. Every source file is parsed and every path that it names is judged: imports,
//! qualified paths in code, attributes, and the token streams of macros, where neither the compiler's lints nor
//! a search for `use` would look. Comments and strings do not count.
//!
//! A new room gets a row here and a paragraph in ARCHITECTURE.md; a crate that pure rooms may use gets a word in
//! `PURE_CRATES` and a reason in the pull request.

mod judge;
mod paths;
mod tokens;

use std::collections::BTreeSet;

use crate::sources::{self, Source};
use judge::{Finding, findings};

/// The pure rooms, in stages: a room may use every room of an earlier stage and none of its own.
pub const STAGES: &[&[&str]] =
    &[&["k8s", "gpu"], &["subject", "cluster", "policy"], &["world"], &["rules"], &["decide"], &["report"]];

/// Pure rooms beside the stages, with what they may use.
pub const BESIDE: &[(&str, &[&str])] =
    &[("interference", &["gpu", "policy"]), ("experiment", &["gpu", "policy"])];

/// The edges, with the edges that each may use; every edge may use every pure room.
pub const EDGES: &[(&str, &[&str])] = &[
    ("live", &["telemetry"]),
    ("serve", &["live", "telemetry"]),
    ("control", &["live", "telemetry"]),
    ("agent", &["telemetry"]),
    ("telemetry", &[]),
    ("cli", &["live", "serve", "control", "agent", "telemetry"]),
    // Not a room: the program chooses the TLS provider and hands over to the command line.
    ("main", &["cli"]),
];

/// Crates that compute and do nothing else. Any other dependency is out of bounds in a pure room.
pub const PURE_CRATES: &[&str] = &[
    "alloc",
    "base64",
    "cel",
    "core",
    "equivalent",
    "imbl",
    "jiff",
    "json_patch",
    "jsonptr",
    "proptest",
    "schemars",
    "serde",
    "serde_json",
    "serde_path_to_error",
    "serde_saphyr",
    "sha2",
    "std",
    "strsim",
    "tabwriter",
    "thiserror",
    "x509_parser",
];

/// Rooms that read Kubernetes objects may also name the API's data types.
pub const READERS: &[&str] = &["subject", "cluster"];

/// Parts of the standard library that reach outside the process or start something inside it. The compiler's
/// lists in clippy.toml see methods and types; this one also sees macros, modules and imports.
pub const IMPURE_STD: &[&str] = &[
    "std::dbg",
    "std::env",
    "std::eprint",
    "std::eprintln",
    "std::fs",
    "std::io::stderr",
    "std::io::stdin",
    "std::io::stdout",
    "std::net",
    "std::os",
    "std::print",
    "std::println",
    "std::process",
    "std::thread",
    "std::time::Instant",
    "std::time::SystemTime",
];

/// Whether the room may be linked to a laptop's `check` and a server's answer alike, without a difference.
pub fn is_pure(room: &str) -> bool {
    pure_rooms().contains(&room)
}

/// The rooms without clock, file, environment, log, thread or network.
pub fn pure_rooms() -> Vec<&'static str> {
    STAGES
        .iter()
        .flat_map(|stage| stage.iter().copied())
        .chain(BESIDE.iter().map(|(name, _)| *name))
        .collect()
}

fn crates() -> BTreeSet<String> {
    let manifest: toml::Table = sources::read("Cargo.toml").parse().expect("Cargo.toml is TOML");
    let tables = ["dependencies", "dev-dependencies"].map(|t| manifest[t].as_table().cloned());
    tables.into_iter().flatten().flatten().map(|(name, _)| name.replace('-', "_")).collect()
}

fn judged(source: &Source) -> Vec<Finding> {
    findings(&source.path, &source.text, &crates())
}

#[test]
fn every_room_uses_only_what_its_arrows_allow() {
    let sources = sources::below("src", ".rs");
    assert!(sources.len() > 15, "only {} sources were found", sources.len());
    let wrong: Vec<String> = sources.iter().flat_map(judged).map(|f| f.to_string()).collect();
    assert!(wrong.is_empty(), "{} wrong arrows:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn the_library_root_declares_rooms_and_nothing_else() {
    let root = syn::parse_file(&sources::read("src/lib.rs")).expect("src/lib.rs parses");
    for item in root.items {
        let syn::Item::Mod(module) = item else {
            panic!("src/lib.rs holds something else than `pub mod ROOM;`")
        };
        let name = module.ident.to_string();
        assert!(module.content.is_none(), "room {name} has a file of its own");
        assert!(module.attrs.iter().all(|a| a.path().is_ident("doc")), "room {name} has an attribute");
        assert!(
            is_pure(&name) || EDGES.iter().any(|(edge, _)| *edge == name),
            "{name} has no row in the table"
        );
    }
}

#[test]
fn every_pure_room_denies_what_clippy_toml_lists() {
    for source in sources::below("src", ".rs") {
        let Some(room) = source.path.strip_prefix("src/").and_then(|p| p.strip_suffix(".rs")) else {
            continue;
        };
        if is_pure(room) {
            let file = syn::parse_file(&source.text).expect("a source parses");
            let inner = file.attrs.iter().filter(|a| a.path().is_ident("deny"));
            let denied: String =
                inner.filter_map(|a| Some(a.meta.require_list().ok()?.tokens.to_string())).collect();
            let denied = denied.replace(' ', "");
            for lint in ["disallowed_methods", "disallowed_types"] {
                assert!(denied.contains(&format!("clippy::{lint}")), "{} does not deny {lint}", source.path);
            }
        }
    }
}

/// A sample says on its first line which file it stands for, and marks each wrong line with `//~`.
fn marked_and_found(sample: &Source) -> (Vec<usize>, Vec<usize>) {
    let stands_for = sample.text.lines().next().and_then(|l| l.strip_prefix("//! As "));
    let path =
        stands_for.and_then(|l| l.split(':').next()).unwrap_or_else(|| panic!("{}: no header", sample.path));
    let lines = sample.text.lines().enumerate();
    let marked = lines.filter(|(_, line)| line.contains("//~")).map(|(n, _)| n + 1).collect();
    let found: BTreeSet<usize> = findings(path, &sample.text, &crates()).iter().map(|f| f.line).collect();
    (marked, found.into_iter().collect())
}

#[test]
fn every_trick_to_pass_an_arrow_is_found() {
    let samples = sources::below("tests/offline/layers/wrong", ".rs.txt");
    assert!(samples.len() >= 20, "only {} samples were found", samples.len());
    for sample in &samples {
        let (marked, found) = marked_and_found(sample);
        assert!(!marked.is_empty(), "{}: no line is marked", sample.path);
        assert_eq!(found, marked, "{}: found lines (left) are not the marked ones (right)", sample.path);
    }
}

#[test]
fn what_is_allowed_is_not_found() {
    let samples = sources::below("tests/offline/layers/right", ".rs.txt");
    assert!(samples.len() >= 4, "only {} samples were found", samples.len());
    for sample in &samples {
        let (_, found) = marked_and_found(sample);
        assert!(found.is_empty(), "{}: lines {found:?} were found", sample.path);
    }
}
