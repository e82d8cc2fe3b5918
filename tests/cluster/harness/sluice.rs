//! The built `sluice`: `sluice serve` as a child process, and any command run to its end.

use std::path::Path;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::command::{self, Output};
use super::components::free_port;
use super::controlplane::ControlPlane;
use super::eventually::{SOON, eventually};
use super::http::Http;
use super::metrics;
use super::process::{Launch, Process, tail};

const PROGRAM: &str = env!("CARGO_BIN_EXE_sluice");

/// More than the longest drain of a graceful end.
const PATIENCE: Duration = Duration::from_secs(30);

static STARTED: AtomicUsize = AtomicUsize::new(1);

/// A `sluice serve` on loopback ports of its own. Killed when dropped.
pub struct Sluice {
    launch: Launch,
    process: Option<Process>,
    http: Http,
    webhooks: String,
    extender: String,
    status: String,
}

impl Sluice {
    /// Starts `sluice serve ARGUMENTS` without waiting, as the user of a kubeconfig. The three addresses are the
    /// harness's to choose: those in the arguments are left out. The log lies in the control plane's folder.
    pub fn serve(plane: &ControlPlane, kubeconfig: &Path, arguments: &[String]) -> Sluice {
        const CHOSEN: [&str; 3] = ["--address=", "--extender-address=", "--status-address="];
        let [webhooks, extender, status] = [(); 3].map(|()| format!("127.0.0.1:{}", free_port()));
        let kept = arguments.iter().filter(|argument| !CHOSEN.iter().any(|flag| argument.starts_with(flag)));
        let mut all = vec!["serve".to_owned()];
        all.extend(kept.cloned());
        all.extend(
            CHOSEN.iter().zip([&webhooks, &extender, &status]).map(|(flag, at)| format!("{flag}{at}")),
        );
        let name = format!("sluice-{}", STARTED.fetch_add(1, Ordering::Relaxed));
        let launch = Launch {
            program: PROGRAM.into(),
            arguments: all,
            environment: vec![("KUBECONFIG".to_owned(), kubeconfig.display().to_string())],
            log: plane.folder().join(format!("{name}.log")),
            name,
        };
        let process = Some(Process::start(&launch));
        Sluice {
            launch,
            process,
            http: plane.http().clone(),
            webhooks: format!("https://{webhooks}"),
            extender: format!("http://{extender}"),
            status: format!("http://{status}"),
        }
    }

    /// Waits until `/readyz` answers 200; fails at once, with its last words, if it has ended instead.
    pub fn until_ready(mut self) -> Sluice {
        self.wait_until_ready();
        self
    }

    /// Where its webhooks, and over TLS its extender too, are reached.
    pub fn url(&self) -> &str {
        &self.webhooks
    }

    /// Where the scheduler beside it reaches its extender, without TLS.
    pub fn extender(&self) -> &str {
        &self.extender
    }

    /// A page of its status address, such as `/readyz`; status and text.
    pub fn page(&self, path: &str) -> (u16, String) {
        let url = format!("{}{path}", self.status);
        let answer = self.http.get(&url).unwrap_or_else(|error| panic!("{error}"));
        (answer.status, answer.body)
    }

    /// The sum of the series of a metric that carry all these labels; 0 where there is none.
    pub fn metric(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        metrics::sum(&self.page("/metrics").1, name, labels)
    }

    /// Everything that it has logged.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.launch.log).unwrap_or_default()
    }

    /// Asks it to end and waits: the exit status of a graceful end.
    pub fn stop(&mut self) -> ExitStatus {
        self.process.take().expect("it runs").stop(PATIENCE)
    }

    /// Kills it: an unplanned loss.
    pub fn kill(&mut self) {
        self.process.take().expect("it runs").kill();
    }

    /// Starts it again, on the same ports, and waits until it is ready.
    pub fn start(&mut self) {
        assert!(self.process.is_none(), "it runs already");
        self.process = Some(Process::start(&self.launch));
        self.wait_until_ready();
    }

    fn wait_until_ready(&mut self) {
        let Sluice { process, launch, http, status, .. } = self;
        let process = process.as_mut().expect("it was started");
        let page = format!("{status}/readyz");
        eventually(SOON, "sluice to be ready", || {
            if let Some(status) = process.ended() {
                panic!("sluice ended with {status}:\n{}", tail(&launch.log, 30));
            }
            match http.get(&page) {
                Ok(answer) if answer.status == 200 => Ok(()),
                Ok(answer) => Err(format!("{}: {}", answer.status, answer.body)),
                Err(error) => Err(error),
            }
        });
    }
}

/// Runs `sluice ARGUMENTS` to its end, as a person would, with a kubeconfig if the command needs a cluster.
pub fn run_sluice(arguments: &[&str], kubeconfig: Option<&Path>, input: &str) -> Output {
    let environment: Vec<(&str, &Path)> = kubeconfig.map(|path| ("KUBECONFIG", path)).into_iter().collect();
    command::run(Path::new(PROGRAM), arguments, &environment, input)
}
