//! The Makefile is what people and CI call: what the documents promise is there.

use std::collections::BTreeSet;

use crate::sources;

fn targets() -> BTreeSet<String> {
    let makefile = sources::read("Makefile");
    let heads = makefile.lines().filter_map(|line| line.split_once(':').map(|(head, _)| head));
    let words = heads.filter(|head| !head.starts_with(['\t', '#', '.', ' '])).flat_map(str::split_whitespace);
    words.map(str::to_owned).collect()
}

/// The word after each `make` that stands in code: between backticks or on a line of a code block.
fn calls(markdown: &str) -> BTreeSet<String> {
    let code = markdown.split('`').skip(1).step_by(2).flat_map(str::lines);
    let targets = code.filter_map(|line| line.trim().strip_prefix("make ")?.split_whitespace().next());
    targets.map(str::to_owned).collect()
}

#[test]
fn every_make_target_of_the_documents_exists() {
    let targets = targets();
    for document in ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md"] {
        for call in calls(&sources::read(document)) {
            assert!(targets.contains(&call), "{document} says `make {call}`, which the Makefile lacks");
        }
    }
    assert!(calls(&sources::read("README.md")).contains("ci"), "README.md names the command that tests all");
}

#[test]
fn ci_calls_exactly_what_the_readme_says() {
    let workflow = sources::read(".github/workflows/ci.yml");
    let runs: Vec<&str> = workflow.lines().filter_map(|l| l.trim().strip_prefix("- run: ")).collect();
    assert_eq!(runs, ["make ci"]);
    let script = sources::read(".ci/run");
    assert_eq!(script.lines().filter(|l| l.contains("make ")).collect::<Vec<_>>(), ["exec make ci"]);
}

#[test]
fn help_lists_every_target_that_has_a_sentence() {
    let makefile = sources::read("Makefile");
    let told = makefile.lines().filter(|l| l.contains(": ") && l.contains(" ## ")).count();
    assert!(told >= 8, "only {told} targets have a sentence");
}
