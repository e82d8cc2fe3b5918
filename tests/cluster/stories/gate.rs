//! The fixture of these stories: a control plane with sluice before it, and the way to take sluice away again.
//!
//! What is shipped is used as it is: accounts and rights out of `deploy/`, webhooks and backstop out of
//! `webhook-config/` with only `clientConfig` pointing to loopback, and the scheduler's configuration with only the
//! extender's port changed.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::samples::{self, Sample, image, pod};
use super::serving::Serving;
use crate::harness::command::Output;
use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{SOON, eventually};
use crate::harness::groups::Fixture;
use crate::harness::nodes::{Fleet, SampleNode};
use crate::harness::scheduling::Scheduler;
use crate::harness::webhooks::at_loopback;

/// The namespace of `deploy/`.
pub const OURS: &str = "sluice-system";
/// The scheduler for GPU Pods, its account and its profile.
const SCHEDULER: &str = "sluice-scheduler";

/// A control plane, `sluice serve` beside it, and the scheduler that asks it. No webhook is in force until
/// [`Gate::open`].
pub struct Gate {
    /// The running server.
    pub sluice: Serving,
    /// The control plane.
    pub plane: ControlPlane,
    policies: tempfile::TempDir,
}

impl Fixture for Gate {
    fn start() -> Gate {
        let audit = shipped_path("tests/cluster/stories/audit.yaml");
        let mut plane = ControlPlane::builder()
            .with_scheduler(Scheduler::default())
            .with_controller_manager()
            .with_kwok()
            .with_apiserver_flag(&format!("--audit-policy-file={}", audit.display()))
            .with_apiserver_flag("--audit-log-path=-")
            .start();
        let policies = install(&plane);
        let sluice = Serving::start(&plane, policies.path());
        let shipped = shipped("deploy/base/scheduler-config.yaml");
        let configuration = shipped.replace("127.0.0.1:8444", &sluice.extender());
        assert_ne!(configuration, shipped, "the shipped extender listens on another port now");
        let mut scheduler = Scheduler::from_yaml(SCHEDULER, &configuration);
        scheduler.configuration["leaderElection"] = Value::Null;
        scheduler.kubeconfig = Some(plane.kubeconfig_of_service_account(OURS, SCHEDULER));
        plane.start_scheduler(&scheduler);
        Gate { sluice, plane, policies }
    }

    fn clear(&mut self) {
        self.plane.clear();
        self.until_closed();
    }

    fn report(&self) -> String {
        self.plane.report()
    }
}

impl Gate {
    /// Puts the shipped webhooks and the backstop before the API server, as [`Gate::put`] does.
    pub fn open(&self) {
        let shipped = self.plane.kubectl().kustomize("webhook-config");
        self.put(&at_loopback(&shipped, &self.sluice.url(), &self.plane.pki().ca_bundle()));
    }

    /// Applies webhook configurations, and waits until a GPU Pod is both changed and judged and the server has seen
    /// everything that the API server holds now.
    pub fn put(&self, webhooks: &str) {
        self.plane.kubectl().apply(webhooks).succeeded();
        self.plane.until_admission("both webhooks to be in force", &probe(), |output| {
            // Changed by the first and refused by the second; the record is missing until the first is in force.
            output.stderr.contains("nodename-bypass") && !output.stderr.contains("stamp-missing")
        });
        self.sluice.until_current(&self.plane);
    }

    /// Creates the nodes of a story, and the PriorityClasses that the shipped classes name.
    pub fn fleet(&self, nodes: Vec<SampleNode>) -> Fleet {
        self.plane.kubectl().apply(&samples::priorities()).succeeded();
        self.plane.create_nodes(nodes)
    }

    /// The folder of policies that the server watches.
    pub fn policies(&self) -> &Path {
        self.policies.path()
    }

    /// Applies a Pod under another name, and the role of the node on which it lands.
    pub fn lands(&self, fleet: &Fleet, namespace: &str, pod: &Sample) -> String {
        self.apply(namespace, pod).succeeded();
        fleet.role(&self.plane.bound(namespace, pod.name())).to_owned()
    }

    /// `kubectl apply` in a namespace.
    pub fn apply(&self, namespace: &str, sample: &Sample) -> Output {
        self.plane.kubectl().apply(&sample.within(namespace))
    }

    /// A stored Pod as JSON.
    pub fn stored(&self, namespace: &str, name: &str) -> Value {
        self.plane.kubectl().get(&["pod", name, "-n", namespace])
    }

    /// Applies a Job; the name of its Pod and of the node on which it lands.
    pub fn runs_job(&self, namespace: &str, job: &Sample) -> (String, String) {
        self.apply(namespace, job).succeeded();
        let name = self.pod_of(namespace, "job-name", job.name());
        let node = self.plane.bound(namespace, &name);
        (name, node)
    }

    /// The name of the one Pod with a label, once a controller has made it.
    pub fn pod_of(&self, namespace: &str, label: &str, value: &str) -> String {
        let selector = format!("{label}={value}");
        eventually(SOON, &format!("a Pod with {selector}"), || {
            let list = self.plane.kubectl().get(&["pods", "-n", namespace, "-l", &selector]);
            let names = list["items"].as_array()?.iter().filter_map(|pod| pod["metadata"]["name"].as_str());
            names.map(str::to_owned).next()
        })
    }

    /// Deletes the workloads of a namespace and waits until none is left: they would take room from what follows.
    pub fn remove_workloads(&self, namespace: &str) {
        let kubectl = self.plane.kubectl();
        let all = "deployments,replicasets,jobs,poddisruptionbudgets";
        kubectl.run(&["delete", all, "--all", "-n", namespace, "--wait=false"]).succeeded();
        kubectl.run(&["delete", "pods", "--all", "-n", namespace, "--force", "--grace-period=0"]).succeeded();
        eventually(SOON, "no Pod to be left", || {
            let left = kubectl.run(&["get", "pods", "-n", namespace, "-o", "name"]).succeeded();
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }

    fn until_closed(&self) {
        self.plane.until_admission("nobody of ours to be asked", &probe(), |output| output.status == 0);
    }
}

/// A file of the repository.
pub fn shipped(path: &str) -> String {
    let file = shipped_path(path);
    std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{path}: {error}"))
}

fn shipped_path(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// Refused by the validating webhook whatever the cluster has.
fn probe() -> String {
    let spec = serde_json::json!({ "spec": { "nodeName": "somewhere" } });
    pod("probe", image::PLAIN, 1).with(&spec).within("default")
}

/// Accounts, rights and policies of the `enforce` overlay; its Deployments are the processes that the story starts.
/// The classes are those that are built in, and with them the samples of these stories.
fn install(plane: &ControlPlane) -> tempfile::TempDir {
    let kinds = ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
    let overlay = plane.kubectl().kustomize("deploy/overlays/enforce");
    let documents: Vec<Value> = serde_saphyr::from_multiple(&overlay).expect("YAML of kustomize");
    let is_kind = |document: &&Value| kinds.iter().any(|kind| document["kind"] == *kind);
    let rights: Vec<String> = documents.iter().filter(is_kind).map(Value::to_string).collect();
    plane.kubectl().apply(&rights.join("\n---\n")).succeeded();

    let folder = tempfile::tempdir().expect("a folder of policies");
    let write =
        |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("a policy file");
    let mounted = documents.iter().find(|document| document["metadata"]["name"] == "sluice-policies");
    let files = mounted.and_then(|map| map["data"].as_object()).expect("the mounted policies");
    files.iter().for_each(|(name, text)| write(name, text.as_str().expect("text")));
    for source in ["policies/classes", "tests/cluster/stories/policies"] {
        for entry in std::fs::read_dir(shipped_path(source)).expect("a folder of classes") {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a file").to_string_lossy().into_owned();
            write(&name, &std::fs::read_to_string(&path).expect("a class"));
        }
    }
    folder
}
