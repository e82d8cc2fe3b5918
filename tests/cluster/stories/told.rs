//! kubectl's own words, compared with text files in `expected/`. `UPDATE=1` writes them anew.

use std::path::Path;

use crate::harness::command::Output;

/// Compares what a person saw with `expected/FILE`: warnings and refusals first, as a terminal shows them.
/// Namespaces of stories have numbers, and an id changes with every policy: both are put aside.
#[track_caller]
pub fn compare(file: &str, namespace: &str, output: &Output) {
    let seen = without_ids(&format!("{}{}", output.stderr, output.stdout)).replace(namespace, "team-a");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/stories/expected").join(file);
    if std::env::var_os("UPDATE").is_some() {
        std::fs::write(&path, &seen).expect("a text file");
        return;
    }
    let expected = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(seen == expected, "{file}\n--- expected\n{expected}\n--- seen\n{seen}");
}

/// `decision 0123456789abcdef` without the digits.
fn without_ids(text: &str) -> String {
    const WORD: &str = "decision ";
    let mut parts = text.split(WORD);
    let mut made = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|letter: char| letter.is_ascii_hexdigit());
        let digits = part.len() - rest.len();
        made.push_str(WORD);
        made.push_str(if digits == 16 { "…" } else { &part[..digits] });
        made.push_str(rest);
    }
    made
}
