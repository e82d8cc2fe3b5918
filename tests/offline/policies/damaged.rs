//! Damaged files: whatever stands in them, the loader answers.

use std::sync::LazyLock;

use proptest::{collection::vec, prelude::*};
use sluice::{
    policy::{self, SourceFile},
    rules,
};

/// Pieces that YAML, selectors, quantities and CEL treat in their own way.
const PIECES: &[&str] = &[
    "---\n",
    "...\n",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!binary x",
    "!x ",
    "|\n",
    ">-\n  ",
    "{",
    "}",
    "[",
    "]",
    "[[[[[[[[",
    "{{{{{{{{",
    ": ",
    "- ",
    "? ",
    "\t",
    "\u{feff}",
    "\u{0}",
    "\u{85}",
    "é",
    "'",
    "\"",
    "#",
    "%YAML 1.2\n",
    "null",
    "~",
    "true",
    "-1",
    "1e999",
    ".nan",
    "0x1F",
    "18446744073709551616",
    "-9223372036854775809",
    "9999999999999999999Ei",
    "1.5Gi",
    "cel: 'pod.x('",
    "cel: pod.y",
    "cel: 'has(pod)'",
    "cel: '\"'",
    "cel: '1 +'",
    "cel: 'pod.map(x, x.y).exists(z, z)'",
    "cel: '((((((((((((((((((((((((((((((((((((1'",
    "cel: 'pod ? pod : pod ? pod'",
    "matchLabels: {'': ''}",
    "operator: Gt",
    "values: [x]",
    "expires: 9999-12-31",
    "expires: '2027-02-29'",
    "1g.10gb+me",
    "99999999999g.1gb",
    "class: llm",
    "name: llm",
    "replicas: 1",
    "kind: GpuPool\n",
    "apiVersion: sluice.dev/v1alpha1\n",
];

#[derive(Clone, Debug)]
enum Damage {
    Cut(prop::sample::Index, usize),
    Insert(prop::sample::Index, &'static str),
    Swap(prop::sample::Index, prop::sample::Index),
    Repeat(prop::sample::Index, usize),
    Indent(prop::sample::Index, usize),
}

fn damage() -> impl Strategy<Value = Damage> {
    let index = any::<prop::sample::Index>;
    prop_oneof![
        (index(), 1..40_usize).prop_map(|(at, length)| Damage::Cut(at, length)),
        (index(), prop::sample::select(PIECES)).prop_map(|(at, piece)| Damage::Insert(at, piece)),
        (index(), index()).prop_map(|(a, b)| Damage::Swap(a, b)),
        (index(), 2..20_usize).prop_map(|(line, times)| Damage::Repeat(line, times)),
        (index(), 0..12_usize).prop_map(|(line, blanks)| Damage::Indent(line, blanks)),
    ]
}

fn apply(text: &str, damage: &Damage) -> String {
    let boundary = |index: &prop::sample::Index| {
        let mut at = index.index(text.len() + 1);
        while !text.is_char_boundary(at) {
            at -= 1;
        }
        at
    };
    let mut lines: Vec<String> = text.split_inclusive('\n').map(str::to_owned).collect();
    if lines.is_empty() {
        return String::new();
    }
    let count = lines.len();
    match damage {
        Damage::Cut(at, length) => {
            let start = boundary(at);
            let mut end = (start + length).min(text.len());
            while !text.is_char_boundary(end) {
                end += 1;
            }
            format!("{}{}", &text[..start], &text[end..])
        }
        Damage::Insert(at, piece) => {
            let (head, tail) = text.split_at(boundary(at));
            format!("{head}{piece}{tail}")
        }
        Damage::Swap(a, b) => {
            lines.swap(a.index(count), b.index(count));
            lines.concat()
        }
        Damage::Repeat(line, times) => {
            let line = line.index(count);
            lines[line] = lines[line].repeat(*times);
            lines.concat()
        }
        Damage::Indent(line, blanks) => {
            let line = line.index(count);
            lines[line] = format!("{}{}", " ".repeat(*blanks), lines[line].trim_start());
            lines.concat()
        }
    }
}

/// What is damaged: the shipped files and those with faults.
static SOUND: LazyLock<Vec<SourceFile>> = LazyLock::new(|| {
    let mut files = super::shipped();
    files.extend(super::files(&crate::sources::root().join("tests/offline/policies/faults")));
    files
});

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_damaged_file_is_answered_and_places_lie_within_it(
        which in any::<prop::sample::Index>(),
        damages in vec(damage(), 1..8),
    ) {
        let file = &SOUND[which.index(SOUND.len())];
        let text = damages.iter().fold(file.text.clone(), |text, damage| apply(&text, damage));
        let lines = text.lines().count() as u64 + 1;
        let damaged = SourceFile { path: file.path.clone(), text };
        if let Err(errors) = policy::compile(&[damaged], "test", &rules::ids()) {
            prop_assert!(!errors.is_empty());
            for error in errors.iter().filter(|error| !error.file.starts_with("built-in/")) {
                prop_assert!(error.line >= 1 && error.line <= lines && error.column >= 1, "{error}");
            }
        }
    }
}

#[test]
fn what_nests_deeply_or_repeats_itself_is_answered() {
    let head = "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {name: deep}\nspec:\n  ";
    let cel =
        |source: String| format!("{head}recognize: [{{cel: \"{source}\"}}]\n  pools: [{{mode: mig}}]\n");
    let bomb: String = (1..30).map(|n| format!("a{n}: &a{n} [*a{m}, *a{m}, *a{m}]\n", m = n - 1)).collect();
    for text in [
        format!("{head}pools: {}{}", "[".repeat(100_000), "]".repeat(100_000)),
        format!("{head}pools: {}", "{a: ".repeat(100_000)),
        format!("{head}pools: {}{}", "{a: ".repeat(23), "}".repeat(23)),
        format!("apiVersion: a/v1\nkind: A\nspec: {}{}", "{a: ".repeat(60), "}".repeat(60)),
        format!("a0: &a0 [x]\n{bomb}"),
        cel("(".repeat(2000) + "1"),
        cel("!".repeat(4000) + "pod.x"),
        cel("-".repeat(4000) + "1"),
        cel(format!("pod.a{}", ".b".repeat(1900))),
        cel(format!("true{}", " && true".repeat(500))),
        cel(format!("true{}", " ? true : true".repeat(280))),
        cel(format!("1{}", " + 1".repeat(1000))),
        cel(format!("{}1{}", "[".repeat(30), "]".repeat(30))),
    ] {
        let file = SourceFile { path: "deep.yaml".into(), text };
        let answer = std::thread::Builder::new()
            // Threads of the runtime have 2 MiB.
            .stack_size(2 << 20)
            .spawn(move || policy::compile(&[file], "test", &[]).is_ok())
            .expect("a thread")
            .join();
        assert!(answer.is_ok());
    }
}
