//! The command line as a process: what it prints, and its exit status.

mod check;
mod demo;
mod explain;
mod others;
mod policy_tests;
mod sarif;
mod scan;
mod schema;

use std::{
    io::Write,
    process::{Command, Output, Stdio},
};

use crate::sources;

/// What a run printed and how it ended.
pub struct Run {
    pub status: i32,
    pub out: String,
    pub err: String,
}

/// Runs `sluice` in the project's folder with that standard input.
pub fn sluice(arguments: &[&str], input: &str) -> Run {
    let mut child = Command::new(env!("CARGO_BIN_EXE_sluice"))
        .args(arguments)
        .current_dir(sources::root())
        .env_remove("KUBECONFIG")
        .env("HOME", "/nonexistent")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    let input = input.to_owned();
    // The program may end before it has read everything.
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let Output { status, stdout, stderr } = child.wait_with_output().expect("the program ends");
    writer.join().expect("the input is written");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    Run { status: status.code().expect("no signal"), out: text(stdout), err: text(stderr) }
}

/// The text with every decision id masked, so that only what is said is compared.
pub fn without_ids(text: &str) -> String {
    let is_id = |word: &str| word.len() == 16 && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    let mut masked = String::with_capacity(text.len());
    for piece in text.split_inclusive(|c: char| !c.is_ascii_alphanumeric()) {
        let word = piece.trim_end_matches(|c: char| !c.is_ascii_alphanumeric());
        masked.push_str(if is_id(word) { "DECISION" } else { word });
        masked.push_str(&piece[word.len()..]);
    }
    masked
}
