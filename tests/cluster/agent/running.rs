//! The built `sluice agent` as a child process, with the shipped rights of one node's agent.

use std::path::PathBuf;

use serde_json::{Value, json};

use super::kubelet::Kubelet;
use crate::harness::components::free_port;
use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{SOON, eventually};
use crate::harness::process::{Launch, Process, tail};
use crate::stories::shipped;

const NAMESPACE: &str = "sluice-agent";

/// An agent at work. Killed when dropped.
pub struct Running<'a> {
    plane: &'a ControlPlane,
    node: String,
    recording: PathBuf,
    status: String,
    log: PathBuf,
    _process: Process,
}

/// Applies `deploy/agent` strictly, less its DaemonSet: the story is its Pods.
pub fn install(plane: &ControlPlane) {
    let built = plane.kubectl().kustomize("deploy/agent");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&built).expect("YAML of kustomize");
    let kept = documents.iter().filter(|document| document["kind"] != "DaemonSet");
    let text = kept.map(Value::to_string).collect::<Vec<_>>().join("\n---\n");
    plane.kubectl().run_with_input(&["apply", "--validate=strict", "-f", "-"], &text).succeeded();
    let daemon = documents.iter().find(|document| document["kind"] == "DaemonSet").expect("the agent");
    let dry = ["apply", "--validate=strict", "--dry-run=server", "-f", "-"];
    plane.kubectl().run_with_input(&dry, &daemon.to_string()).succeeded();
    plane
        .kubectl()
        .run(&["wait", "--for=condition=Established", "crd/gpunodes.sluice.dev", "--timeout=30s"])
        .succeeded();
}

/// A kubeconfig with a token as a Pod on that node mounts it: bound to the Pod, naming the node.
pub fn token(plane: &ControlPlane, node: &str) -> PathBuf {
    let kubectl = plane.kubectl();
    let pod = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": node, "namespace": NAMESPACE },
        "spec": {
            "serviceAccountName": "sluice-agent", "nodeName": node,
            "tolerations": [{ "operator": "Exists" }],
            "containers": [{ "name": "agent", "image": "sluice" }],
        },
    });
    eventually(SOON, "the agent's account to be there", || {
        let made = kubectl.create(&pod.to_string());
        if made.status == 0 { Ok(()) } else { Err(made.stderr) }
    });
    let uid =
        kubectl.get(&["pod", node, "-n", NAMESPACE])["metadata"]["uid"].as_str().expect("a UID").to_owned();
    let arguments = [
        "create",
        "token",
        "sluice-agent",
        "-n",
        NAMESPACE,
        "--bound-object-kind=Pod",
        &format!("--bound-object-name={node}"),
        &format!("--bound-object-uid={uid}"),
    ];
    let token = kubectl.run(&arguments).succeeded();
    plane.pki().kubeconfig_of_token(plane.server(), node, token.trim())
}

impl<'a> Running<'a> {
    /// Starts the agent of a node over a copy of a recording.
    pub fn start(
        plane: &'a ControlPlane,
        node: &str,
        recording: &str,
        kubelet: &Kubelet,
        more: &[&str],
    ) -> Self {
        let copy = plane.folder().join(format!("{node}.json"));
        std::fs::copy(fixture(recording), &copy).expect("a copy of the recording");
        let status = format!("127.0.0.1:{}", free_port());
        let log = plane.folder().join(format!("agent-{node}.log"));
        let mut arguments = vec![
            "agent".to_owned(),
            format!("--node={node}"),
            format!("--recorded={}", copy.display()),
            format!("--kubelet={}", kubelet.socket().display()),
            format!("--status-address={status}"),
            "--every=1".to_owned(),
            "--heartbeat=5".to_owned(),
        ];
        arguments.extend(more.iter().map(|&argument| argument.to_owned()));
        let kubeconfig = token(plane, node);
        let process = Process::start(&Launch {
            name: format!("agent-{node}"),
            program: env!("CARGO_BIN_EXE_sluice").into(),
            arguments,
            environment: vec![("KUBECONFIG".to_owned(), kubeconfig.display().to_string())],
            log: log.clone(),
        });
        Running { plane, node: node.to_owned(), recording: copy, status, log, _process: process }
    }

    /// The hardware becomes that of another recording.
    pub fn change(&self, recording: &str) {
        // Renamed into place: the agent must not read half a file.
        let next = self.recording.with_extension("next");
        std::fs::copy(fixture(recording), &next).expect("a copy of the recording");
        std::fs::rename(&next, &self.recording).expect("in the same folder");
    }

    /// Waits until the published status is as wanted.
    pub fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) {
        eventually(SOON, what, || {
            let found = self.plane.kubectl().run(&["get", "gpunode", &self.node, "-o", "json"]);
            if found.status != 0 {
                return Err(format!("{}{}", found.stderr, tail(&self.log, 10)));
            }
            let object: Value = serde_json::from_str(&found.stdout).map_err(|error| error.to_string())?;
            if wanted(&object["status"]) { Ok(()) } else { Err(format!("{:#}", object["status"])) }
        });
    }

    /// Its metrics.
    pub fn metrics(&self) -> String {
        let url = format!("http://{}/metrics", self.status);
        self.plane.http().get(&url).unwrap_or_else(|error| panic!("{error}")).body
    }
}

fn fixture(name: &str) -> PathBuf {
    shipped::path(&format!("tests/fixtures/agent/{name}"))
}
