//! Situations from the field, each with the right answer: `tests/fixtures/cases/NNN-slug.yaml`.
//!
//! A fixture holds a picture, the policies where it needs its own, what is judged, and what is expected; the
//! same object made right, which must raise nothing of its rule; and variants, each a change of the fixture
//! with an expectation of its own. What the engine cannot judge yet stands there with `pending: REASON`, and
//! the test fails when such a case starts to pass, so that the list stays true.
//!
//! `SLUICE_CASE=012` judges only cases whose file name contains that.

mod expect;
pub(crate) mod fixture;
pub(crate) mod setting;
mod wire;

use std::collections::BTreeSet;

use fixture::{Fixture, all};

/// Cases that were collected.
const CASES: usize = 71;

#[test]
fn every_case_of_the_collection_has_one_fixture() {
    if fixture::chosen().is_some() {
        return;
    }
    let numbers: BTreeSet<String> = all().iter().map(|case| case.number().to_owned()).collect();
    assert_eq!(numbers.len(), CASES, "{numbers:?}");
    assert_eq!(all().len(), CASES, "a number is given twice");
}

#[test]
fn each_case_is_decided_as_its_fixture_says() {
    let asserted = all().into_iter().filter(|case| case.pending.is_none());
    let wrong: Vec<String> = asserted.flat_map(|case| problems(&case)).collect();
    assert!(wrong.is_empty(), "{} cases differ\n\n{}", wrong.len(), wrong.join("\n\n"));
}

#[test]
fn the_same_object_made_right_raises_nothing_of_the_rule() {
    let asserted = all().into_iter().filter(|case| case.pending.is_none());
    let wrong: Vec<String> = asserted.filter_map(|case| still_raised(&case)).collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// What is wrong with the negative control of a case that names a rule.
pub(crate) fn still_raised(case: &Fixture) -> Option<String> {
    let rule = case.rule.as_ref()?;
    if case.made_right.is_empty() {
        return Some(format!("{}: names rule {rule} and has no made-right", case.file));
    }
    let right = case.changed(&case.made_right, &fixture::Expectation::default());
    match setting::judge(&right) {
        Ok(outcome) if outcome.rules().contains(rule) => {
            Some(format!("{}: made right, it still raises {rule}\n{outcome}", case.file))
        }
        Ok(_) => None,
        Err(error) => Some(format!("{}: made right, {error}", case.file)),
    }
}

#[test]
fn pending_cases_are_still_pending() {
    let pending: Vec<Fixture> = all().into_iter().filter(|case| case.pending.is_some()).collect();
    let mut passing = Vec::new();
    for case in &pending {
        println!("pending {}: {}", case.file, case.pending.as_deref().unwrap_or_default().trim());
        if case.expects_something() && problems(case).is_empty() {
            passing.push(case.file.clone());
        }
    }
    println!("{} of {CASES} cases are pending", pending.len());
    assert!(passing.is_empty(), "no longer pending, take the word away: {passing:?}");
}

/// What differs from the fixture's own expectation and from those of its variants.
pub(crate) fn problems(case: &Fixture) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut settings = vec![("".to_owned(), case.clone())];
    for variant in &case.variants {
        settings
            .push((format!(" ({})", variant.about.trim()), case.changed(&variant.patch, &variant.expect)));
    }
    for (which, setting) in settings {
        let differences = match setting::judge(&setting) {
            Ok(outcome) => {
                let differences = expect::differences(&setting, &outcome);
                if differences.is_empty() {
                    continue;
                } else {
                    format!("{}\n{outcome}", differences.join("\n"))
                }
            }
            Err(error) => error,
        };
        wrong.push(format!("{}{which}:\n{differences}", case.file));
    }
    wrong
}
