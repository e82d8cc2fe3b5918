//! Examples in the documents are real: a fenced block below `<!-- output of: sluice … -->` is what the program
//! prints. `…` in such a block stands for any text on its line, and alone on a line for any lines.

use std::process::Command;

use crate::sources;

struct Example {
    arguments: Vec<String>,
    output: String,
}

fn examples(markdown: &str) -> Vec<Example> {
    let marked = markdown.split("<!-- output of: sluice ").skip(1);
    let example = |part: &str| {
        let (arguments, rest) = part.split_once(" -->\n").expect("the mark ends on its line");
        let block = rest.trim_start().strip_prefix("```").expect("a fenced block follows the mark");
        let (_, block) = block.split_once('\n').expect("the fence has a line of its own");
        let (output, _) = block.split_once("\n```").expect("the block ends");
        let arguments = arguments.split_whitespace().map(str::to_owned).collect();
        Example { arguments, output: output.to_owned() }
    };
    marked.map(example).collect()
}

fn run(arguments: &[String]) -> String {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.args(arguments).env("NO_COLOR", "1").env("COLUMNS", "120").current_dir(sources::root());
    let output = command.output().expect("the program runs");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

fn line_matches(shown: &str, real: &str) -> bool {
    let mut parts = shown.trim_end().split('…');
    let Some(mut rest) = real.trim_end().strip_prefix(parts.next().unwrap_or_default()) else { return false };
    let parts: Vec<&str> = parts.collect();
    let Some((last, middle)) = parts.split_last() else { return rest.is_empty() };
    for part in middle {
        let Some((_, after)) = rest.split_once(part) else { return false };
        rest = after;
    }
    rest.ends_with(last)
}

fn matches(shown: &[&str], real: &[&str]) -> bool {
    match (shown.split_first(), real.split_first()) {
        (None, None) => true,
        (Some((&"…", more)), _) => (0..=real.len()).any(|skipped| matches(more, &real[skipped..])),
        (Some((line, more)), Some((printed, rest))) => line_matches(line, printed) && matches(more, rest),
        _ => false,
    }
}

fn shows(shown: &str, real: &str) -> bool {
    matches(&shown.lines().collect::<Vec<_>>(), &real.trim_end().lines().collect::<Vec<_>>())
}

#[test]
fn every_marked_example_is_what_the_program_prints() {
    for document in sources::below(".", ".md") {
        for Example { arguments, output } in examples(&document.text) {
            let real = run(&arguments);
            assert!(shows(&output, &real), "{}: sluice {arguments:?} prints:\n{real}", document.path);
        }
    }
}

#[test]
fn an_example_is_found_with_its_arguments() {
    let text = "Try it:\n<!-- output of: sluice check a.yaml -->\n```console\none\n\ntwo\n```\nDone.\n";
    let found = examples(text);
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].arguments, ["check", "a.yaml"]);
    assert_eq!(found[0].output, "one\n\ntwo");
}

#[test]
fn an_ellipsis_stands_for_text_and_for_lines_and_nothing_else_does() {
    for (shown, real, want) in [
        ("a\nb", "a\nb\n", true),
        ("a\nb", "a\nb\nc\n", false),
        ("a\n…\nd", "a\nb\nc\nd\n", true),
        ("a\n…\nd", "a\nd\n", true),
        ("a\n…\nd", "a\nb\n", false),
        ("port …, ready", "port 4711, ready", true),
        ("port …, ready", "port 4711, not yet", false),
        ("…x…y", "1x2y", true),
        ("x", "y", false),
    ] {
        assert_eq!(shows(shown, real), want, "{shown:?} against {real:?}");
    }
}
