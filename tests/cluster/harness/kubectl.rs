//! kubectl of the control plane's own version, run as a person runs it: its words are what stories compare.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::io::AsyncWriteExt as _;

use super::http::block_on;

/// No command may hang a story; `drain` and `wait` have shorter limits of their own.
const DEADLINE: Duration = Duration::from_secs(120);

/// kubectl with one kubeconfig.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
}

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

impl Kubectl {
    /// `home` takes kubectl's discovery cache, so that no person's configuration takes part.
    pub fn new(program: &Path, kubeconfig: &Path, home: &Path) -> Kubectl {
        Kubectl { program: program.into(), kubeconfig: kubeconfig.into(), home: home.into() }
    }

    /// Runs `kubectl ARGUMENTS`.
    pub fn run(&self, arguments: &[&str]) -> Output {
        self.run_with_input(arguments, "")
    }

    /// Runs `kubectl ARGUMENTS` with a text on standard input, for `-f -`.
    pub fn run_with_input(&self, arguments: &[&str], input: &str) -> Output {
        let command = format!("kubectl {}", arguments.join(" "));
        let finished =
            block_on(async { tokio::time::timeout(DEADLINE, self.finish(arguments, input)).await });
        let output = finished
            .unwrap_or_else(|_| panic!("{command} did not end within {DEADLINE:?}"))
            .unwrap_or_else(|error| panic!("{command}: {error}"));
        Output {
            command,
            status: output.status.code().unwrap_or(-1),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }

    /// `kubectl apply -f -` of a manifest.
    pub fn apply(&self, manifest: &str) -> Output {
        self.run_with_input(&["apply", "-f", "-"], manifest)
    }

    /// `kubectl create -f -` of a manifest.
    pub fn create(&self, manifest: &str) -> Output {
        self.run_with_input(&["create", "-f", "-"], manifest)
    }

    /// `kubectl create -f - --dry-run=server`: what admission says, with nothing stored.
    pub fn dry_run(&self, manifest: &str) -> Output {
        self.run_with_input(&["create", "-f", "-", "--dry-run=server"], manifest)
    }

    /// `kubectl apply -f PATH` of a file or folder of the repository, with strict validation.
    pub fn apply_file(&self, path: &str) -> Output {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        self.run(&["apply", "--validate=strict", "-f", &path.display().to_string()])
    }

    /// `kubectl get ARGUMENTS -o json`, which must succeed.
    pub fn get(&self, arguments: &[&str]) -> Value {
        let mut all = vec!["get", "-o", "json"];
        all.extend_from_slice(arguments);
        let text = self.run(&all).succeeded();
        serde_json::from_str(&text).unwrap_or_else(|error| panic!("kubectl get: {error}\n{text}"))
    }

    /// `kubectl drain NODE` as an administrator runs it, giving up after `patience`.
    pub fn drain(&self, node: &str, patience: Duration) -> Output {
        let patience = format!("--timeout={}s", patience.as_secs());
        self.run(&["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", &patience])
    }

    async fn finish(&self, arguments: &[&str], input: &str) -> std::io::Result<std::process::Output> {
        let mut child = tokio::process::Command::new(&self.program)
            .args(arguments)
            .env_clear()
            .env("KUBECONFIG", &self.kubeconfig)
            .env("HOME", &self.home)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()?;
        let mut stdin = child.stdin.take().expect("standard input is piped");
        let feed = async {
            // kubectl may end without reading it all; its own message says why.
            let _ = stdin.write_all(input.as_bytes()).await;
            drop(stdin);
        };
        tokio::join!(feed, child.wait_with_output()).1
    }
}

impl Output {
    /// Standard output of a command that must succeed; what it said is shown where it does not.
    pub fn succeeded(&self) -> String {
        assert!(self.status == 0, "{self}");
        self.stdout.clone()
    }

    /// Standard error of a command that must fail.
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
