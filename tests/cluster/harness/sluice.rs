//! The built `sluice` as a child process, and as a command.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::command::{self, Output};
use super::controlplane::ControlPlane;
use super::eventually::{SOON, eventually};
use super::http::Http;
use super::metrics;
use super::process::{Launch, Process, tail};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sluice");

/// More than the longest drain of a graceful end.
const PATIENCE: Duration = Duration::from_secs(30);

static STARTED: AtomicUsize = AtomicUsize::new(1);

/// A running `sluice`, such as `sluice serve`. Killed when dropped.
pub struct Sluice {
    process: Process,
    launch: Launch,
    http: Http,
    operations: String,
}

impl Sluice {
    /// Starts `sluice ARGUMENTS` without waiting. `operations` is the address of its health and metrics pages,
    /// such as `http://127.0.0.1:21007`. The log lies in the control plane's folder.
    pub fn start(plane: &ControlPlane, arguments: &[String], operations: &str) -> Sluice {
        Sluice::start_with(plane, arguments, &[], operations)
    }

    /// The same with environment variables.
    pub fn start_with(
        plane: &ControlPlane,
        arguments: &[String],
        environment: &[(&str, &str)],
        operations: &str,
    ) -> Sluice {
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let owned = |(name, value): &(&str, &str)| (name.to_string(), value.to_string());
        let launch = Launch {
            name: format!("sluice-{number}"),
            program: PROGRAM.into(),
            arguments: arguments.to_vec(),
            environment: environment.iter().map(owned).collect(),
            log: plane.folder().join(format!("sluice-{number}.log")),
        };
        let process = Process::start(&launch);
        Sluice { process, launch, http: plane.http().clone(), operations: operations.into() }
    }

    /// Waits until `/readyz` answers 200; fails at once, with its last words, if it has ended instead.
    pub fn until_ready(mut self) -> Sluice {
        let page = format!("{}/readyz", self.operations);
        eventually(SOON, "sluice to be ready", || {
            if let Some(status) = self.process.ended() {
                panic!("sluice ended with {status}:\n{}", tail(&self.launch.log, 30));
            }
            match self.http.get(&page) {
                Ok(answer) if answer.status == 200 => Ok(()),
                Ok(answer) => Err(format!("{}: {}", answer.status, answer.body)),
                Err(error) => Err(error),
            }
        });
        self
    }

    /// A page of its operations address, such as `/readyz`; status and text.
    pub fn page(&self, path: &str) -> (u16, String) {
        let answer =
            self.http.get(&format!("{}{path}", self.operations)).unwrap_or_else(|error| panic!("{error}"));
        (answer.status, answer.body)
    }

    /// The sum of the series of a metric that carry all these labels; 0 where there is none.
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        metrics::sum(&self.page("/metrics").1, name, labels)
    }

    /// Everything that it has logged.
    pub fn log(&self) -> String {
        self.process.log()
    }

    /// Asks it to end and waits: the exit status of a graceful end.
    pub fn stop(mut self) -> ExitStatus {
        self.process.stop(PATIENCE)
    }

    /// Kills it: an unplanned loss.
    pub fn kill(mut self) {
        self.process.kill();
    }
}

/// Runs `sluice ARGUMENTS` to its end, as a person would, with a kubeconfig if the command needs a cluster.
pub fn run_sluice(arguments: &[&str], kubeconfig: Option<&Path>, input: &str) -> Output {
    let environment: Vec<(&str, &Path)> = kubeconfig.map(|path| ("KUBECONFIG", path)).into_iter().collect();
    command::run(Path::new(PROGRAM), arguments, &environment, input)
}
