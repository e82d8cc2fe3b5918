//! A running control plane: which programs run, and how a story reaches them.
//!
//! Every program is a real one. What is missing in comparison with a cluster: kubelets (kwok stands in),
//! kube-proxy (a webhook's `clientConfig.service` cannot be reached, only a `url`), and ServiceAccount
//! admission (Pods get no token mounted).

use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::json;

use super::components::{Component, Site, free_port};
use super::eventually::eventually;
use super::http::{Http, block_on};
use super::kubectl::Kubectl;
use super::pki::Pki;
use super::process::{Process, tail};
use super::programs::Programs;
use super::scheduling::Scheduler;
use super::scratch;

/// How long a program may take until it is ready: far more than it needs on two idle cores (4 s).
const START: Duration = Duration::from_secs(90);

/// The programs, found or built by `main` before the first story.
pub static PROGRAMS: OnceLock<Programs> = OnceLock::new();

/// Which programs to start beside etcd and kube-apiserver.
#[derive(Debug, Clone, Default)]
pub struct Builder {
    schedulers: Vec<Scheduler>,
    controller_manager: Option<Vec<String>>,
    kwok: bool,
    quick_node_loss: bool,
    apiserver_flags: Vec<String>,
}

impl Builder {
    /// Starts this scheduler too. Several need names of their own, and profiles of their own.
    pub fn with_scheduler(mut self, scheduler: Scheduler) -> Builder {
        self.schedulers.push(scheduler);
        self
    }

    /// Starts kube-controller-manager: ReplicaSets, Jobs, PDBs, drain, namespaces' end. Needs kwok, or every
    /// Node is tainted after 50 s.
    pub fn with_controller_manager(self) -> Builder {
        self.with_controller_manager_flags(&[])
    }

    /// The same with further flags.
    pub fn with_controller_manager_flags(mut self, flags: &[&str]) -> Builder {
        self.controller_manager = Some(flags.iter().map(ToString::to_string).collect());
        self
    }

    /// Starts kwok, which keeps Nodes alive and makes bound Pods Running and Ready.
    pub fn with_kwok(mut self) -> Builder {
        self.kwok = true;
        self
    }

    /// A Node that is lost is noticed after 6 s instead of 50: Leases are written every second, so only for few
    /// Nodes. Has effect with the controller manager and kwok.
    pub fn with_quick_node_loss(mut self) -> Builder {
        self.quick_node_loss = true;
        self
    }

    /// A further flag of kube-apiserver, such as `--feature-gates=…` or `--audit-log-path=…`.
    pub fn with_apiserver_flag(mut self, flag: &str) -> Builder {
        self.apiserver_flags.push(flag.into());
        self
    }

    /// Starts everything and waits until it is ready.
    pub fn start(self) -> ControlPlane {
        let started = Instant::now();
        let mut plane = ControlPlane::bare(&self.apiserver_flags);
        plane.launch_rest(self);
        eprintln!("control plane ready in {:.1} s: {}", started.elapsed().as_secs_f64(), plane.names());
        plane
    }
}

/// A running control plane. Dropping it ends every program and removes its folder.
pub struct ControlPlane {
    parts: Vec<Part>,
    http: Http,
    client: kube::Client,
    server: String,
    admin: PathBuf,
    pki: Pki,
    // Last: its folder is removed after everything that writes into it has ended.
    folder: tempfile::TempDir,
}

struct Part {
    component: Component,
    process: Option<Process>,
}

impl ControlPlane {
    /// etcd and kube-apiserver; the builder adds to it.
    pub fn builder() -> Builder {
        Builder::default()
    }

    /// kubectl as `admin` of group `system:masters`.
    pub fn kubectl(&self) -> Kubectl {
        self.kubectl_with(&self.admin)
    }

    /// kubectl with another kubeconfig.
    pub fn kubectl_with(&self, kubeconfig: &Path) -> Kubectl {
        Kubectl::new(programs().path("kubectl"), kubeconfig, self.folder.path())
    }

    /// A kubeconfig of any user; what the user may do is for RBAC to say.
    pub fn kubeconfig_of_user(&self, user: &str, groups: &[&str]) -> PathBuf {
        self.pki.kubeconfig_of_user(&self.server, user, groups)
    }

    /// A kubeconfig with a token of an existing ServiceAccount: how a process runs with a manifest's own RBAC.
    pub fn kubeconfig_of_service_account(&self, namespace: &str, name: &str) -> PathBuf {
        let token =
            self.kubectl().run(&["create", "token", name, "-n", namespace, "--duration=2h"]).succeeded();
        self.pki.kubeconfig_of_token(&self.server, &format!("{namespace}:{name}"), token.trim())
    }

    /// The admin's kubeconfig.
    pub fn admin(&self) -> &Path {
        &self.admin
    }

    /// A client with the admin's rights.
    pub fn client(&self) -> kube::Client {
        self.client.clone()
    }

    /// Address of the API server.
    pub fn server(&self) -> &str {
        &self.server
    }

    /// The CA that signed every certificate here, and that can sign one for a webhook.
    pub fn pki(&self) -> &Pki {
        &self.pki
    }

    /// An HTTP client that trusts this control plane's CA.
    pub fn http(&self) -> &Http {
        &self.http
    }

    /// Folder for logs and files of a story; gone with the control plane.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Starts one more scheduler: its extender's address is often known only after the API server is up.
    pub fn start_scheduler(&mut self, scheduler: &Scheduler) {
        let config = self.write_configuration(scheduler);
        let component = self.site().scheduler(free_port(), scheduler, &config);
        self.add(component);
        self.wait_until_ready();
    }

    /// Ends a scheduler for good, so that a later story can start one of the same name.
    pub fn remove_scheduler(&mut self, name: &str) {
        self.stop(name);
        self.parts.retain(|part| part.component.launch.name != name);
    }

    /// Writes another configuration for a scheduler of the same name and starts it anew.
    pub fn reconfigure_scheduler(&mut self, scheduler: &Scheduler) {
        self.write_configuration(scheduler);
        self.restart(&scheduler.name.clone());
    }

    /// Ends a program and waits until it is gone. One that does not end soon is killed: an API server closes its
    /// port at once, but then waits for its watchers, and they do not go by themselves.
    pub fn stop(&mut self, name: &str) {
        if let Some(mut process) = self.part(name).process.take() {
            process.stop(Duration::from_secs(2));
        }
    }

    /// Starts a stopped program again, on the same port, and waits until it is ready.
    pub fn start(&mut self, name: &str) {
        let part = self.part(name);
        assert!(part.process.is_none(), "{name} runs already");
        part.process = Some(Process::start(&part.component.launch));
        let http = self.http.clone();
        self.part(name).wait_until_ready(&http);
    }

    /// Stops and starts.
    pub fn restart(&mut self, name: &str) {
        self.stop(name);
        self.start(name);
    }

    /// The metrics page of a program.
    pub fn metrics(&self, name: &str) -> String {
        if name == "kube-apiserver" {
            // The one that does not show it to everybody.
            return self.kubectl().run(&["get", "--raw", "/metrics"]).succeeded();
        }
        let part = self.parts.iter().find(|part| part.component.launch.name == name);
        let ready = &part.unwrap_or_else(|| panic!("no {name} here")).component.ready;
        let address = &ready[..ready.rfind('/').expect("a URL with a path")];
        self.http.get(&format!("{address}/metrics")).expect("metrics").body
    }

    /// The log of a program.
    pub fn log_of(&self, name: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// For the report of a failed story: the last lines of every log here, sluice's too. The logs themselves are
    /// kept until the next run.
    pub fn report(&self) -> String {
        let kept = scratch::folder().keep();
        let mut logs = scratch::entries(self.folder.path());
        logs.retain(|path| path.extension().is_some_and(|extension| extension == "log"));
        logs.sort();
        let of = |log: &PathBuf| {
            let copy = kept.join(log.file_name().unwrap_or_default());
            // A log that cannot be kept is still shown.
            let _ = std::fs::copy(log, &copy);
            format!("--- {}\n{}", copy.display(), tail(log, 12))
        };
        logs.iter().map(of).collect::<Vec<_>>().join("\n")
    }
}

impl ControlPlane {
    fn bare(apiserver_flags: &[String]) -> ControlPlane {
        let folder = scratch::folder();
        let pki = Pki::create(&folder.path().join("pki"));
        let (etcd, apiserver) = (free_port(), free_port());
        let server = format!("https://127.0.0.1:{apiserver}");
        let admin = pki.kubeconfig_of_user(&server, "admin", &["system:masters"]);
        let client = client(&admin);
        let http = Http::trusting(&pki.ca());
        let mut plane = ControlPlane { parts: Vec::new(), http, client, server, admin, pki, folder };
        let store = plane.site().etcd(etcd, free_port());
        let apiserver = plane.site().apiserver(apiserver, etcd, apiserver_flags);
        plane.add(store);
        plane.wait_until_ready();
        plane.add(apiserver);
        plane.wait_until_ready();
        plane
    }

    /// The other programs wait for the API server by themselves, so they start side by side.
    fn launch_rest(&mut self, builder: Builder) {
        for scheduler in &builder.schedulers {
            let config = self.write_configuration(scheduler);
            let component = self.site().scheduler(free_port(), scheduler, &config);
            self.add(component);
        }
        if let Some(mut flags) = builder.controller_manager {
            if builder.quick_node_loss {
                flags.extend(["--node-monitor-grace-period=6s".into(), "--node-monitor-period=1s".into()]);
            }
            let user = self.kubeconfig_of_user("system:kube-controller-manager", &[]);
            let component = self.site().controller_manager(free_port(), &user, &flags);
            self.add(component);
        }
        if builder.kwok {
            let lease = if builder.quick_node_loss { 4 } else { 40 };
            let component = self.site().kwok(free_port(), &self.admin, lease);
            self.add(component);
        }
        self.wait_until_ready();
    }

    fn site(&self) -> Site<'_> {
        Site { programs: programs(), pki: &self.pki, folder: self.folder.path() }
    }

    fn add(&mut self, component: Component) {
        let process = Some(Process::start(&component.launch));
        self.parts.push(Part { component, process });
    }

    fn part(&mut self, name: &str) -> &mut Part {
        let found = self.parts.iter_mut().find(|part| part.component.launch.name == name);
        found.unwrap_or_else(|| panic!("no program {name} in this control plane"))
    }

    fn names(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| part.component.launch.name.as_str()).collect();
        names.join(", ")
    }

    fn wait_until_ready(&mut self) {
        for part in &mut self.parts {
            part.wait_until_ready(&self.http);
        }
    }

    fn write_configuration(&self, scheduler: &Scheduler) -> PathBuf {
        let kubeconfig = match &scheduler.kubeconfig {
            Some(path) => path.clone(),
            None => self.kubeconfig_of_user("system:kube-scheduler", &[]),
        };
        let mut configuration = scheduler.configuration.clone();
        configuration["clientConnection"]["kubeconfig"] = json!(kubeconfig);
        if configuration["leaderElection"].is_null() {
            configuration["leaderElection"] = json!({ "leaderElect": false });
        }
        let path = self.folder.path().join(format!("{}.yaml", scheduler.name));
        std::fs::write(&path, configuration.to_string()).expect("configuration of a scheduler");
        path
    }
}

impl Part {
    /// Waits until a running program is ready; one that ended instead is reported at once with its last lines.
    fn wait_until_ready(&mut self, http: &Http) {
        let Part { component, process: Some(process) } = self else { return };
        let Component { launch, ready, ready_text } = component;
        eventually(START, &format!("{} to be ready", launch.name), || {
            if let Some(status) = process.ended() {
                panic!("{} ended with {status}:\n{}", launch.name, tail(&launch.log, 20));
            }
            match http.get(ready) {
                Ok(answer) if answer.status == 200 && answer.body.contains(*ready_text) => Ok(()),
                Ok(answer) => Err(format!("{ready}: {} {}", answer.status, answer.body)),
                Err(error) => Err(format!("{error}\n{}", tail(&launch.log, 10))),
            }
        });
    }
}

impl Drop for ControlPlane {
    fn drop(&mut self) {
        // Clients before servers, so that no log fills with errors of reconnecting.
        while self.parts.pop().is_some() {}
    }
}

fn programs() -> &'static Programs {
    PROGRAMS.get().expect("main finds the programs before the first story")
}

fn client(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).expect("a kubeconfig that we wrote");
    block_on(async {
        let options = KubeConfigOptions::default();
        let config =
            kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.expect("a complete kubeconfig");
        kube::Client::try_from(config).expect("a client")
    })
}
