//! A command run to its end, as a person runs it: arguments, standard input, and all that it says.

use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt as _;

use super::http::block_on;

/// No command may hang a story; `kubectl drain` and `wait` have shorter limits of their own.
const DEADLINE: Duration = Duration::from_secs(120);

/// What a command left behind, exactly.
#[derive(Debug, Clone)]
pub struct Output {
    /// The command line, for messages.
    pub command: String,
    /// Exit status; -1 if it was killed.
    pub status: i32,
    /// Standard output.
    pub stdout: String,
    /// Standard error: warnings and refusals.
    pub stderr: String,
}

/// Runs `program ARGUMENTS` with nothing in its environment but `environment`.
pub fn run(program: &Path, arguments: &[&str], environment: &[(&str, &Path)], input: &str) -> Output {
    let name = program.file_name().unwrap_or_default().display();
    let command = format!("{name} {}", arguments.join(" "));
    let finish = async {
        let mut child = tokio::process::Command::new(program)
            .args(arguments)
            .env_clear()
            .envs(environment.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let feed = async {
            // The command may end without reading it all; its own message says why.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        tokio::join!(feed, child.wait_with_output()).1
    };
    let output = block_on(async { tokio::time::timeout(DEADLINE, finish).await })
        .unwrap_or_else(|_| panic!("{command} did not end within {DEADLINE:?}"))
        .unwrap_or_else(|error: std::io::Error| panic!("{command}: {error}"));
    Output {
        command,
        status: output.status.code().unwrap_or(-1),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
    }
}

impl Output {
    /// Standard output of a command that must succeed; what it said is shown where it does not.
    #[track_caller]
    pub fn succeeded(&self) -> String {
        assert!(self.status == 0, "{self}");
        self.stdout.clone()
    }

    /// Standard error of a command that must fail.
    #[track_caller]
    pub fn failed(&self) -> String {
        assert!(self.status != 0, "should have failed:\n{self}");
        self.stderr.clone()
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} → {}\n{}{}", self.command, self.status, self.stdout, self.stderr)
    }
}
