//! Standard output and error.

use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};

/// Standard output, written in large pieces.
pub(super) fn standard() -> BufWriter<StdoutLock<'static>> {
    BufWriter::with_capacity(1 << 16, io::stdout().lock())
}

/// Whether standard output may be coloured: a terminal, and nobody asked for none (<https://no-color.org>).
pub(super) fn colour() -> bool {
    let set = |name: &str| std::env::var_os(name).is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
    !set("NO_COLOR") && !dumb && io::stdout().is_terminal()
}

/// Says on standard error what is wrong.
pub(super) fn complain(text: &str) {
    say(&format!("error: {text}"));
}

/// Says something on standard error. Where that is closed there is nobody to tell.
pub(super) fn say(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}
