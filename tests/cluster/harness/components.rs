//! How each program of the control plane is started: its flags, and the address that tells when it is ready.

use std::collections::BTreeSet;
use std::net::TcpListener;
use std::path::Path;
use std::sync::Mutex;

use super::pki::Pki;
use super::process::Launch;
use super::programs::Programs;
use super::scheduling::Scheduler;

/// Label of a Node whose kubelet is gone: kwok no longer speaks for it.
pub const LOST: &str = "test.sluice.dev/lost";

/// A program with everything that is needed to start it, also a second time on the same port.
#[derive(Debug, Clone)]
pub struct Component {
    /// What to start.
    pub launch: Launch,
    /// Answers 200 when the program is ready …
    pub ready: String,
    /// … and then has this text in it.
    pub ready_text: &'static str,
}

/// What all components of one control plane share.
pub struct Site<'a> {
    /// The built programs.
    pub programs: &'a Programs,
    /// Its certificates.
    pub pki: &'a Pki,
    /// Its folder for data and logs.
    pub folder: &'a Path,
}

impl Site<'_> {
    /// etcd without fsync: its data need not outlive the test.
    pub fn etcd(&self, client: u16, peer: u16) -> Component {
        let client = format!("http://127.0.0.1:{client}");
        let peer = format!("http://127.0.0.1:{peer}");
        let arguments = vec![
            format!("--data-dir={}", self.folder.join("etcd").display()),
            "--unsafe-no-fsync".into(),
            format!("--listen-client-urls={client}"),
            format!("--advertise-client-urls={client}"),
            format!("--listen-peer-urls={peer}"),
            format!("--initial-advertise-peer-urls={peer}"),
            format!("--initial-cluster=default={peer}"),
            "--log-level=warn".into(),
        ];
        self.component("etcd", "etcd", arguments, format!("{client}/health"))
    }

    /// kube-apiserver. Two admission plugins are off: nobody makes ServiceAccount tokens for Pods here, and
    /// TaintNodesByCondition would taint every new Node until a node lifecycle controller lifts it.
    pub fn apiserver(&self, port: u16, etcd: u16, extra: &[String]) -> Component {
        let pki = self.pki;
        let mut arguments = vec![
            format!("--etcd-servers=http://127.0.0.1:{etcd}"),
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", pki.file("serving.crt")),
            format!("--tls-private-key-file={}", pki.file("serving.key")),
            format!("--client-ca-file={}", pki.file("ca.crt")),
            "--authorization-mode=Node,RBAC".into(),
            "--allow-privileged=true".into(),
            "--service-cluster-ip-range=10.0.0.0/24".into(),
            "--service-account-issuer=https://localhost".into(),
            format!("--service-account-key-file={}", pki.file("accounts.pub")),
            format!("--service-account-signing-key-file={}", pki.file("accounts.key")),
            "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition".into(),
            "--endpoint-reconciler-type=none".into(),
        ];
        arguments.extend_from_slice(extra);
        let ready = format!("https://127.0.0.1:{port}/readyz");
        self.component("kube-apiserver", "kube-apiserver", arguments, ready)
    }

    /// A kube-scheduler with the configuration file of `scheduler`, which must have been written already.
    pub fn scheduler(&self, port: u16, scheduler: &Scheduler, config: &Path) -> Component {
        let mut arguments = vec![format!("--config={}", config.display())];
        arguments.extend(self.serving(port));
        arguments.extend_from_slice(&scheduler.flags);
        let ready = format!("https://127.0.0.1:{port}/readyz");
        self.component(&scheduler.name, "kube-scheduler", arguments, ready)
    }

    /// kube-controller-manager. Without credentials for each controller all of them are forbidden everything;
    /// the client limits are raised because stories create many workloads at once.
    pub fn controller_manager(&self, port: u16, kubeconfig: &Path, extra: &[String]) -> Component {
        let mut arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            "--leader-elect=false".into(),
            format!("--root-ca-file={}", self.pki.file("ca.crt")),
            format!("--service-account-private-key-file={}", self.pki.file("accounts.key")),
            "--use-service-account-credentials=true".into(),
            "--kube-api-qps=2000".into(),
            "--kube-api-burst=4000".into(),
        ];
        arguments.extend(self.serving(port));
        arguments.extend_from_slice(extra);
        let name = "kube-controller-manager";
        let component =
            self.component(name, name, arguments, format!("https://127.0.0.1:{port}/healthz?verbose"));
        // It is healthy before it has a single controller, and ends if the API server goes away until then.
        Component { ready_text: "-controller ok", ..component }
    }

    /// kwok in the place of every kubelet but those of lost Nodes, with the stages of `tests/cluster/stages`.
    /// Leases last `lease` seconds and are renewed four times in that span.
    pub fn kwok(&self, port: u16, kubeconfig: &Path, lease: u32) -> Component {
        let stages = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cluster/stages");
        let arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            format!("--manage-nodes-with-label-selector=!{LOST}"),
            format!("--node-lease-duration-seconds={lease}"),
            format!("--server-address=127.0.0.1:{port}"),
            format!("--config={}", stages.join("node.yaml").display()),
            format!("--config={}", stages.join("pod.yaml").display()),
        ];
        self.component("kwok", "kwok", arguments, format!("http://127.0.0.1:{port}/healthz"))
    }

    fn serving(&self, port: u16) -> [String; 5] {
        [
            "--bind-address=127.0.0.1".into(),
            format!("--secure-port={port}"),
            format!("--tls-cert-file={}", self.pki.file("serving.crt")),
            format!("--tls-private-key-file={}", self.pki.file("serving.key")),
            "--authorization-always-allow-paths=/healthz,/readyz,/livez,/metrics".into(),
        ]
    }

    fn component(&self, name: &str, program: &str, arguments: Vec<String>, ready: String) -> Component {
        let launch = Launch {
            name: name.into(),
            program: self.programs.path(program).into(),
            arguments,
            environment: vec![("HOME".into(), self.folder.display().to_string())],
            log: self.folder.join(format!("{name}.log")),
        };
        Component { launch, ready, ready_text: "" }
    }
}

/// Ports that this process has given out, so that two control planes do not get the same.
static TAKEN: Mutex<BTreeSet<u16>> = Mutex::new(BTreeSet::new());

/// A free port on loopback, below the range from which the kernel takes the ports of outgoing connections.
/// There a client that keeps trying to reach a stopped server could be given that server's own port, and the
/// restarted server could not bind it.
pub fn free_port() -> u16 {
    let mut taken = TAKEN.lock().expect("no thread panics while it holds the ports");
    for _ in 0..1000 {
        let port = fastrand::u16(20_000..32_000);
        if TcpListener::bind(("127.0.0.1", port)).is_ok() && taken.insert(port) {
            return port;
        }
    }
    panic!("no free port between 20000 and 32000 on 127.0.0.1")
}
