//! Licences and versions of the dependencies, held to deny.toml also where cargo-deny is not installed.
//!
//! deny.toml is the one home of what is allowed; this file only reads it.

use std::collections::{BTreeMap, BTreeSet};
use std::process::Command;

use serde_json::Value;

use crate::sources;

/// The platform of the image. Without one, cargo would fetch what only other systems need.
const PLATFORM: &str = "x86_64-unknown-linux-gnu";

struct Package {
    name: String,
    version: String,
    licence: Option<String>,
    source: Option<String>,
}

fn metadata() -> Value {
    let cargo = std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned());
    let mut command = Command::new(cargo);
    command.args(["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM]);
    let output = command.current_dir(sources::root()).output().expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).expect("cargo metadata prints JSON")
}

/// All packages that are built for the platform, ours excepted.
fn packages(metadata: &Value) -> Vec<Package> {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let built = metadata["resolve"]["nodes"].as_array().unwrap();
    let built: BTreeSet<&str> = built.iter().filter_map(|node| node["id"].as_str()).collect();
    let all = metadata["packages"].as_array().unwrap().iter();
    let ours = all.filter(|p| p["name"] != "sluice" && built.contains(p["id"].as_str().unwrap()));
    let package = |p: &Value| Package {
        name: text(&p["name"]).unwrap(),
        version: text(&p["version"]).unwrap(),
        licence: text(&p["license"]),
        source: text(&p["source"]),
    };
    ours.map(package).collect()
}

fn direct(metadata: &Value) -> BTreeSet<String> {
    let all = metadata["packages"].as_array().unwrap();
    let ours = all.iter().find(|p| p["name"] == "sluice").expect("the project is among its packages");
    let names = ours["dependencies"].as_array().unwrap().iter();
    names.map(|d| d["name"].as_str().unwrap().to_owned()).collect()
}

fn deny() -> toml::Table {
    sources::read("deny.toml").parse().expect("deny.toml is TOML")
}

fn strings(deny: &toml::Table, table: &str, key: &str) -> Vec<String> {
    let entries =
        deny[table][key].as_array().unwrap_or_else(|| panic!("deny.toml has no list {table}.{key}"));
    let name = |entry: &toml::Value| entry.as_str().or_else(|| entry["crate"].as_str()).map(str::to_owned);
    entries.iter().map(|e| name(e).unwrap_or_else(|| panic!("{table}.{key}: {e:?} names nothing"))).collect()
}

fn is_allowed(expression: &str, allowed: &[spdx::Licensee]) -> bool {
    let parsed = spdx::Expression::parse_mode(expression, spdx::ParseMode::LAX);
    let parsed = parsed.unwrap_or_else(|e| panic!("{expression}: {e}"));
    parsed.evaluate(|requirement| allowed.iter().any(|licence| licence.satisfies(requirement)))
}

fn allowed() -> Vec<spdx::Licensee> {
    let names = strings(&deny(), "licenses", "allow");
    names.iter().map(|name| spdx::Licensee::parse(name).unwrap_or_else(|e| panic!("{name}: {e}"))).collect()
}

#[test]
fn every_dependency_has_an_allowed_licence() {
    let packages = packages(&metadata());
    assert!(packages.len() > 100, "only {} packages were found", packages.len());
    let allowed = allowed();
    for Package { name, version, licence, .. } in packages {
        let licence = licence.unwrap_or_else(|| panic!("{name} {version} names no licence"));
        assert!(
            is_allowed(&licence, &allowed),
            "{name} {version}: {licence} is not in deny.toml's allow-list"
        );
    }
}

#[test]
fn a_licence_outside_the_list_is_found() {
    let allowed = allowed();
    for (expression, want) in [
        ("MIT", true),
        ("GPL-3.0-only OR MIT", true),
        ("MIT/Apache-2.0", true),
        ("(MIT OR Apache-2.0) AND Unicode-3.0", true),
        ("GPL-3.0-only", false),
        ("MIT AND AGPL-3.0-only", false),
        ("LGPL-2.1-or-later", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), want, "{expression}");
    }
}

#[test]
fn every_allowed_licence_is_in_use() {
    let packages = packages(&metadata());
    for name in strings(&deny(), "licenses", "allow") {
        let used = packages.iter().any(|p| p.licence.as_ref().is_some_and(|l| l.contains(&name)));
        assert!(used, "deny.toml allows {name}, which no dependency has: take it out");
    }
}

#[test]
fn a_direct_dependency_comes_in_one_version_or_deny_toml_says_why() {
    let metadata = metadata();
    let mut versions: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for package in packages(&metadata) {
        versions.entry(package.name).or_default().push(package.version);
    }
    let skipped: Vec<(String, String)> =
        strings(&deny(), "bans", "skip").iter().map(|s| name_and_version(s)).collect();
    let is_skipped =
        |name: &str, version: &String| skipped.iter().any(|(n, v)| n == name && is_version(version, v));
    for name in direct(&metadata) {
        let open: Vec<_> =
            versions.get(&name).into_iter().flatten().filter(|v| !is_skipped(&name, v)).collect();
        assert!(
            open.len() <= 1,
            "{name} comes in versions {open:?}: unify, or skip one in deny.toml with a reason"
        );
    }
    for (name, version) in &skipped {
        let found =
            versions.get(name).is_some_and(|v| v.len() > 1 && v.iter().any(|v| is_version(v, version)));
        assert!(found, "deny.toml skips {name}@{version}, which is no duplicate any more: take it out");
    }
}

fn name_and_version(skip: &str) -> (String, String) {
    let (name, version) = skip.split_once('@').unwrap_or_else(|| panic!("{skip} has no version"));
    (name.to_owned(), version.to_owned())
}

/// Whether a version is the one named, or begins with it: `0.23.1` is a `0.23`.
fn is_version(version: &str, named: &str) -> bool {
    version.strip_prefix(named).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

#[test]
fn no_banned_crate_and_no_foreign_source_is_in_the_lock_file() {
    let banned = strings(&deny(), "bans", "deny");
    assert!(!banned.is_empty());
    for Package { name, source, .. } in packages(&metadata()) {
        assert!(!banned.contains(&name), "{name} is banned in deny.toml");
        let source = source.unwrap_or_default();
        assert_eq!(
            source, "registry+https://github.com/rust-lang/crates.io-index",
            "{name} comes from elsewhere"
        );
    }
}

#[test]
fn every_dependency_says_why_it_is_there() {
    let manifest = sources::read("Cargo.toml");
    let tables = manifest
        .split("\n[")
        .filter(|t| t.starts_with("dependencies]") || t.starts_with("dev-dependencies]"));
    let dependencies: Vec<&str> = tables.flat_map(str::lines).filter(|l| l.contains(" = ")).collect();
    assert!(dependencies.len() > 30, "only {} dependencies were read", dependencies.len());
    for line in dependencies {
        assert!(line.contains(" # "), "no reason beside: {line}");
    }
}
