//! Rules one by one: `tests/fixtures/rules/FAMILY.yaml`, each a table of small situations around its rules. Under
//! `with` stand pictures and policies, to be referred to; each row is written as a fixture of `cases` is.
//!
//! `SLUICE_RULE=shm` judges only rows whose rule's id contains that.

use std::{collections::BTreeSet, fs};

use sluice::{
    k8s::yaml,
    rules::{self, Check, Family},
};

use crate::{
    cases::{
        self,
        fixture::{self, Fixture},
    },
    sources,
};

#[test]
fn each_row_is_decided_as_it_says() {
    let wrong: Vec<String> = rows().iter().flat_map(cases::problems).collect();
    assert!(wrong.is_empty(), "{} rows differ\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn a_row_made_right_raises_nothing_of_its_rule() {
    let wrong: Vec<String> = rows().iter().filter_map(cases::still_raised).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn every_rule_of_these_families_has_a_situation_with_its_negative_control() {
    const FAMILIES: [Family; 13] = [
        Family::Resources,
        Family::Placement,
        Family::Taints,
        Family::Mig,
        Family::Sharing,
        Family::Parallelism,
        Family::Bypass,
        Family::Dra,
        Family::Priority,
        Family::ProbesAndRollout,
        Family::Disruption,
        Family::Quota,
        Family::Installation,
    ];
    if chosen().is_some() || fixture::chosen().is_some() {
        return;
    }
    let named = rows().into_iter().chain(fixture::all()).chain(fixture::of("workloads"));
    let tried: BTreeSet<String> = named.flat_map(|row| row.rules_and_controls()).collect();
    let untried: Vec<&str> = rules::ALL
        .iter()
        .filter(|rule| FAMILIES.contains(&rule.family) && matches!(rule.check, Check::Case(_)))
        .map(|rule| rule.id)
        .filter(|id| !tried.contains(*id))
        .collect();
    assert!(untried.is_empty(), "no fixture names {untried:?} as its rule");
}

/// The part of rule ids that was asked for.
fn chosen() -> Option<String> {
    std::env::var("SLUICE_RULE").ok().filter(|part| !part.is_empty())
}

fn rows() -> Vec<Fixture> {
    let folder = sources::root().join("tests/fixtures/rules");
    let entries = fs::read_dir(&folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.unwrap().path()).collect();
    files.sort();
    let rows = files.iter().flat_map(|file| {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let text = fs::read_to_string(file).unwrap();
        let document = yaml::documents(&text).next().unwrap_or_else(|| panic!("{name} is empty"));
        let table = document.unwrap_or_else(|e| panic!("{name}: {e}")).value;
        let rows = table["rows"].as_array().unwrap_or_else(|| panic!("{name} has no rows")).clone();
        rows.into_iter().map(move |row| {
            let about = row["about"].as_str().unwrap_or_default().to_owned();
            fixture::of_value(&format!("{name}, {about}"), row)
        })
    });
    let wanted = |row: &Fixture| {
        chosen().is_none_or(|part| row.rule.as_ref().is_some_and(|rule| rule.contains(&part)))
    };
    rows.filter(wanted).collect()
}
