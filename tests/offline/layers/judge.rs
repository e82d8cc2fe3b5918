//! Which of the paths that a file names are out of bounds for its room.

use std::collections::BTreeSet;
use std::fmt;

use super::paths::{self, Named, Names};
use super::{BESIDE, EDGES, IMPURE_STD, PURE_CRATES, READERS, STAGES, is_pure};

/// How often an alias may stand for another alias before the search gives up.
const ALIAS_DEPTH: usize = 8;

/// One thing that a file names and may not.
#[derive(Debug)]
pub struct Finding {
    pub file: String,
    pub line: usize,
    pub what: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Judges one file; `crates` are the dependencies of Cargo.toml as code names them.
pub fn findings(path: &str, text: &str, crates: &BTreeSet<String>) -> Vec<Finding> {
    let finding = |line, what| Finding { file: path.to_owned(), line, what };
    let module = module(path);
    if path == "src/lib.rs" {
        return Vec::new(); // It has a test of its own: it declares rooms and nothing else.
    }
    if path.ends_with("/mod.rs") {
        return vec![finding(1, "a room is foo.rs and foo/, without mod.rs".to_owned())];
    }
    let Some(room) = module.first().and_then(|name| Room::named(name)) else {
        return vec![finding(1, format!("no room of the table holds {path}"))];
    };
    let names = match paths::names(text, &module) {
        Ok(names) => names,
        Err(e) => return vec![finding(e.span().start().line, format!("does not parse: {e}"))],
    };
    let hidden = names.hidden.iter().map(|(line, why)| (*line, (*why).to_owned()));
    let wrong = names.named.iter().flat_map(|named| {
        expand(named, &names, ALIAS_DEPTH)
            .into_iter()
            .filter_map(|n| Some((n.line, room.objection(&n, crates)?)))
    });
    let found: BTreeSet<(usize, String)> = hidden.chain(wrong).collect();
    found.into_iter().map(|(line, what)| finding(line, what)).collect()
}

/// `src/decide/place.rs` → `decide::place`.
fn module(path: &str) -> Vec<String> {
    let inner = path.strip_prefix("src/").unwrap_or(path);
    inner.strip_suffix(".rs").unwrap_or(inner).split('/').map(str::to_owned).collect()
}

/// The path itself, and what it means where its first word was imported.
fn expand(named: &Named, names: &Names, depth: usize) -> Vec<Named> {
    let mut meanings = vec![named.clone()];
    let targets = names.aliases.get(&named.segments[0]).filter(|_| depth > 0 && named.segments[0] != "crate");
    for target in targets.into_iter().flatten().filter(|t| t[0] != named.segments[0]) {
        let segments = [target.as_slice(), &named.segments[1..]].concat();
        meanings.extend(expand(&Named { segments, ..named.clone() }, names, depth - 1));
    }
    meanings
}

/// A row of the table.
struct Room {
    name: &'static str,
    uses: Vec<&'static str>,
}

impl Room {
    fn named(name: &str) -> Option<Room> {
        if let Some(stage) = STAGES.iter().position(|stage| stage.contains(&name)) {
            let name = STAGES[stage].iter().find(|n| **n == name)?;
            return Some(Room { name, uses: STAGES[..stage].concat() });
        }
        if let Some((name, uses)) = BESIDE.iter().find(|(n, _)| *n == name) {
            return Some(Room { name, uses: uses.to_vec() });
        }
        let (name, edges) = EDGES.iter().find(|(n, _)| *n == name)?;
        let uses = super::pure_rooms().into_iter().chain(edges.iter().copied()).collect();
        Some(Room { name, uses })
    }

    /// Why the path may not stand in this room, if it may not.
    fn objection(&self, named: &Named, crates: &BTreeSet<String>) -> Option<String> {
        let path = named.segments.join("::");
        match named.segments[0].as_str() {
            "crate" => self.arrow(&named.segments),
            _ if !is_pure(self.name) => None,
            "std" => impure_std(&path, named.open).then(|| format!("{} is pure and names {path}", self.name)),
            "k8s_openapi" if READERS.contains(&self.name) => None,
            name if PURE_CRATES.contains(&name) || !crates.contains(name) => None,
            _ => Some(format!("{} is pure and names {path}", self.name)),
        }
    }

    fn arrow(&self, segments: &[String]) -> Option<String> {
        let Some(target) = segments.get(1) else {
            return Some(
                "names the crate's root, behind which every room can hide: name the room".to_owned(),
            );
        };
        if *target == self.name || self.uses.contains(&target.as_str()) {
            return None;
        }
        match Room::named(target) {
            Some(_) => Some(format!("{} may not use {target}: names {}", self.name, segments.join("::"))),
            None => {
                Some(format!("{} is no room: name it by the room that holds it", segments[..2].join("::")))
            }
        }
    }
}

/// A listed path or one below it; and, where all names of a module come in, also a module above it.
fn impure_std(path: &str, open: bool) -> bool {
    let below = |outer: &str, inner: &str| inner == outer || inner.starts_with(&format!("{outer}::"));
    IMPURE_STD.iter().any(|listed| below(listed, path) || open && below(path, listed))
}
