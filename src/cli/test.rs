//! `sluice test`: the unit tests of a policy repository, in its own CI.

mod play;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, ensure};
use clap::ValueEnum;

use self::play::Player;
use super::{REFUSED, cases, input, output};
use crate::{
    policy::{
        self,
        raw::{ExpectedFit, PolicyTest},
    },
    report::policy_tests::{self, Coverage, TestReport, TestResult},
    rules,
};

/// Run the unit tests of a policy repository
///
/// Every file below DIR that holds a PolicyTest is a test: a cluster, manifests, and what is expected of each
/// (`sluice schema tests` is its schema). They are judged as `sluice check` judges, under the policies of DIR;
/// where DIR is called tests, under those of the folder above it.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 every test passed, 1 a test failed, 2 bad usage, unreadable input or no test.

Examples:
  sluice test policies                        # the policies and the tests below them
  sluice test tests --policies policies       # tests that stand elsewhere
  sluice test policies --only llm --only 'mig-*'
  sluice test policies -o junit > junit.xml   # for a CI system
  sluice test policies --untested             # rules and classes that no test names"
)]
pub(super) struct Arguments {
    /// Folder of the tests, and of the policies where nothing else is said
    #[arg(value_name = "DIR", default_value = ".")]
    folder: PathBuf,
    /// Folder of the policies
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Only tests of that name, * as wildcard; may be repeated
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    output: Form,
    /// Names rules and classes that no test names
    #[arg(long)]
    untested: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// JUnit XML, for CI systems
    Junit,
}

/// A test and its file.
struct Found {
    file: PathBuf,
    test: PolicyTest,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let found = find(&arguments.folder)?;
    ensure!(
        !found.is_empty(),
        "no PolicyTest below {}; policies/tests/README.md shows how one is written",
        arguments.folder.display()
    );
    let is_wanted = |name: &str| {
        arguments.only.is_empty() || arguments.only.iter().any(|pattern| policy::wildcard(pattern, name))
    };
    let wanted: Vec<&Found> = found.iter().filter(|found| is_wanted(&found.test.metadata.name)).collect();
    ensure!(!wanted.is_empty(), "no test is called {}", arguments.only.join(" or "));
    let mut player = Player::new(policies_of(arguments), super::judge::now());
    let mut report = TestReport::default();
    for Found { file, test } in &wanted {
        report.tests.push(TestResult {
            name: test.metadata.name.clone(),
            file: file.display().to_string(),
            description: test.spec.description.clone(),
            objects: player.play(file, test)?,
        });
    }
    report.coverage = coverage(&wanted, &player.classes()?);
    let mut out = output::standard();
    match arguments.output {
        Form::Text => policy_tests::write(&mut out, &report, arguments.untested, output::colour())?,
        Form::Junit => out.write_all(policy_tests::junit(&report).as_bytes())?,
    }
    out.flush()?;
    Ok(if report.failed() == 0 { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}

/// Every test below a folder, in the order of their files. Faults of all files are told at once.
fn find(folder: &Path) -> anyhow::Result<Vec<Found>> {
    let mut files = BTreeSet::new();
    input::files_below(folder, &mut files)?;
    let mut found: Vec<Found> = Vec::new();
    let mut faults = Vec::new();
    for file in files {
        let name = file.display().to_string();
        let text = fs::read_to_string(&file).with_context(|| format!("{name} cannot be read"))?;
        // Clusters and policies stand beside the tests; most of them are not worth a reading.
        if !text.contains("PolicyTest") || !input::kinds(&text).any(|kind| kind == "PolicyTest") {
            continue;
        }
        match cases::read(&name, &text) {
            Ok(test) => found.push(Found { file, test }),
            Err(fault) => faults.push(format!("{fault:#}")),
        }
    }
    let mut names = BTreeMap::new();
    for Found { file, test } in &found {
        if let Some(first) = names.insert(test.metadata.name.as_str(), file) {
            let name = &test.metadata.name;
            faults.push(format!("{}: {} has a test {name} too", file.display(), first.display()));
        }
    }
    ensure!(faults.is_empty(), "{}", faults.join("\nerror: "));
    Ok(found)
}

/// The folder of the policies: as named; else the tests' own where it holds any; else the one above `tests`.
fn policies_of(arguments: &Arguments) -> Option<PathBuf> {
    if let Some(named) = &arguments.policies {
        return Some(named.clone());
    }
    let folder = &arguments.folder;
    let is_tests = folder.file_name().is_some_and(|name| name == "tests");
    let of_tests =
        || folder.parent().map(|above| if above.as_os_str().is_empty() { ".".into() } else { above.into() });
    let holder = if is_tests { of_tests() } else { Some(folder.clone()) };
    holder.filter(|folder| holds_policies(folder))
}

/// Whether a policy of ours stands below the folder.
fn holds_policies(folder: &Path) -> bool {
    let mut files = BTreeSet::new();
    let _ = input::files_below(folder, &mut files);
    files.iter().any(|file| {
        let within = file.strip_prefix(folder).unwrap_or(file);
        policy::is_policy_file(&within.to_string_lossy())
            && fs::read_to_string(file)
                .is_ok_and(|text| input::kinds(&text).any(|kind| policy::raw::Kind::parse(&kind).is_some()))
    })
}

/// What expectations name, of what there is.
fn coverage(tests: &[&Found], classes: &BTreeSet<String>) -> Coverage {
    let expected = || tests.iter().flat_map(|found| &found.test.spec.expect);
    let named: BTreeSet<&str> = expected()
        .flat_map(|one| {
            let lists = one.rules.iter().chain(&one.changes).flatten();
            lists.map(String::as_str).chain(one.fit.values().map(ExpectedFit::as_str))
        })
        .collect();
    let known: BTreeSet<&str> = expected().filter_map(|one| one.class.as_deref()).collect();
    let untested = |id: &&'static str| !named.contains(id);
    let ids = rules::ids();
    Coverage {
        classes: classes.len(),
        untested_classes: classes.iter().filter(|class| !known.contains(class.as_str())).cloned().collect(),
        rules: ids.len(),
        untested_rules: ids.iter().copied().filter(untested).map(str::to_owned).collect(),
    }
}
