//! One child process: its log in a file, its end under control.
//!
//! A child never outlives the test process, however that ends: `Drop` kills and waits for it, and on Linux
//! the kernel kills it when the test process itself is killed. For the latter the test binary starts itself,
//! asks for the parent-death signal and then becomes the program, which needs no `unsafe`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::LazyLock;
use std::sync::mpsc::{self, Sender};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getppid, kill_process, set_parent_process_death_signal};

/// First argument of the test binary when it is to become a program.
pub const BECOME: &str = "become";

/// What to start.
#[derive(Debug, Clone)]
pub struct Launch {
    /// Name in messages and of the log file.
    pub name: String,
    /// The program's path.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment beside PATH.
    pub environment: Vec<(String, String)>,
    /// The file that takes both of its outputs, appended to.
    pub log: PathBuf,
}

/// A started child.
#[derive(Debug)]
pub struct Process {
    name: String,
    child: Child,
}

impl Process {
    /// Starts the program; it is running, not ready, when this returns.
    pub fn start(launch: &Launch) -> Process {
        let child =
            spawn(launch).unwrap_or_else(|error| panic!("{} could not be started: {error}", launch.name));
        Process { name: launch.name.clone(), child }
    }

    /// The exit status, if it has ended by itself.
    pub fn ended(&mut self) -> Option<ExitStatus> {
        self.child.try_wait().unwrap_or_else(|error| panic!("wait for {}: {error}", self.name))
    }

    /// Asks it to end (SIGTERM) and waits; after `patience` it is killed. The status tells the two apart.
    pub fn stop(&mut self, patience: Duration) -> ExitStatus {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + patience;
        loop {
            if let Some(status) = self.ended() {
                return status;
            }
            if Instant::now() >= deadline {
                return self.kill();
            }
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Kills it (SIGKILL), as a node loss would, and waits until it is gone.
    pub fn kill(&mut self) -> ExitStatus {
        // An error means that it has ended already.
        let _ = self.child.kill();
        self.child.wait().unwrap_or_else(|error| panic!("wait for {}: {error}", self.name))
    }

    /// Sends a signal, if the process still runs.
    pub fn signal(&mut self, signal: Signal) {
        if self.ended().is_none() {
            // It may end between the two lines; its id is not given away before it was waited for.
            let _ = kill_process(Pid::from_child(&self.child), signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The last lines of a log file, at most 8 kB, each cut at 400 characters.
pub fn tail(log: &Path, lines: usize) -> String {
    let read = || -> io::Result<String> {
        let mut file = File::open(log)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(8192)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    };
    let text = read().unwrap_or_else(|error| format!("{}: {error}", log.display()));
    let all: Vec<&str> = text.lines().collect();
    let last = &all[all.len().saturating_sub(lines)..];
    last.iter().map(|line| line.chars().take(400).collect::<String>()).collect::<Vec<_>>().join("\n")
}

/// The other half of `spawn`: called by `main` when the first argument is [`BECOME`]. Only returns on failure.
pub fn become_program(arguments: &[String]) -> io::Error {
    let [parent, program, rest @ ..] = arguments else {
        return io::Error::other("usage: become PARENT PROGRAM [ARGUMENT]...");
    };
    if let Err(error) = set_parent_process_death_signal(Some(Signal::KILL)) {
        return error.into();
    }
    // The parent may have died before the line above; then nobody will send the signal.
    if getppid().map(|pid| pid.to_string()).as_deref() != Some(parent) {
        return io::Error::other("the test process has ended");
    }
    std::os::unix::process::CommandExt::exec(Command::new(program).args(rest))
}

type Order = (Launch, Sender<io::Result<Child>>);

/// The parent-death signal follows the thread that started the child, not its process, and threads of
/// stories come and go. So one thread that lives as long as the process starts every child.
static STARTER: LazyLock<Sender<Order>> = LazyLock::new(|| {
    let (orders, inbox) = mpsc::channel::<Order>();
    std::thread::spawn(move || {
        for (launch, answer) in inbox {
            let _ = answer.send(spawn_here(&launch));
        }
    });
    orders
});

fn spawn(launch: &Launch) -> io::Result<Child> {
    let (answer, started) = mpsc::channel();
    STARTER.send((launch.clone(), answer)).map_err(io::Error::other)?;
    started.recv().map_err(io::Error::other)?
}

fn spawn_here(launch: &Launch) -> io::Result<Child> {
    let log = File::options().create(true).append(true).open(&launch.log)?;
    Command::new(std::env::current_exe()?)
        .arg(BECOME)
        .arg(std::process::id().to_string())
        .arg(&launch.program)
        .args(&launch.arguments)
        .env_clear()
        .envs(std::env::var_os("PATH").map(|path| ("PATH", path)))
        .envs(launch.environment.iter().map(|(name, value)| (name, value)))
        // A child that keeps the terminal's input keeps the caller of the tests waiting.
        .stdin(Stdio::null())
        .stdout(log.try_clone()?)
        .stderr(log)
        .spawn()
}
