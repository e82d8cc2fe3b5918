//! Standard output and error.

use std::{
    ffi::OsStr,
    io::{self, BufWriter, IsTerminal, StdoutLock, Write},
};

/// Standard output, written in large pieces.
pub(super) fn standard() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Whether standard output may be coloured: a terminal, and nobody asked for none (<https://no-color.org>).
pub(super) fn colour() -> bool {
    let value = |name: &str| std::env::var_os(name).unwrap_or_default();
    is_coloured(&value("NO_COLOR"), &value("TERM"), io::stdout().is_terminal())
}

fn is_coloured(no_colour: &OsStr, term: &OsStr, terminal: bool) -> bool {
    terminal && no_colour.is_empty() && term != "dumb"
}

/// Says on standard error what is wrong.
pub(super) fn complain(text: &str) {
    say(&format!("error: {text}"));
}

/// Says something on standard error. Where that is closed there is nobody to tell.
pub(super) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_for_terminals_whose_owner_wants_them() {
        let coloured =
            |no_colour: &str, term: &str, terminal| is_coloured(no_colour.as_ref(), term.as_ref(), terminal);
        assert!(coloured("", "xterm-256color", true));
        assert!(!coloured("1", "xterm-256color", true));
        assert!(!coloured("", "dumb", true));
        assert!(!coloured("", "xterm-256color", false));
    }
}
