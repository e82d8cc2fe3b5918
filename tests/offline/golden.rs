//! Files that hold what the program is expected to print; `make generate` writes them anew, and git
//! shows what changed.

use std::fs;

use crate::sources::root;

/// Compares with the file; writes it instead under `SLUICE_GENERATE=1`.
#[track_caller]
pub fn assert_same(path: &str, text: &str) {
    let file = root().join(path);
    if std::env::var_os("SLUICE_GENERATE").is_some_and(|value| value == "1") {
        fs::create_dir_all(file.parent().expect("the path names a file")).expect("the folder can be made");
        fs::write(&file, text).unwrap_or_else(|e| panic!("{path}: {e}"));
        return;
    }
    let expected =
        fs::read_to_string(&file).unwrap_or_else(|e| panic!("{path}: {e}; `make generate` writes it"));
    assert!(
        expected == text,
        "{path} is not what is printed now (`make generate` writes it):\n{}",
        difference(&expected, text)
    );
}

/// The first lines that differ, as `-` expected and `+` printed.
fn difference(expected: &str, text: &str) -> String {
    let (mut left, mut right) = (expected.lines(), text.lines());
    let mut shown = Vec::new();
    for number in 1.. {
        match (left.next(), right.next()) {
            (None, None) => break,
            (a, b) if a == b => {}
            (a, b) => shown.push(format!("{number}\n- {}\n+ {}", a.unwrap_or("(end)"), b.unwrap_or("(end)"))),
        }
        if shown.len() == 8 {
            break;
        }
    }
    shown.join("\n")
}
