//! What is shipped for a cluster, taken apart: a story runs it as processes instead of Pods, and changes nothing
//! but paths and addresses.

use std::path::{Path, PathBuf};

use serde_json::Value;

use crate::harness::controlplane::ControlPlane;
use crate::harness::scheduling::Scheduler;

/// The namespace of `deploy/`, and the name and account of the scheduler for GPU Pods.
pub use sluice::cli::manifests::{NAMESPACE, SCHEDULER};

/// A path of the repository.
pub fn path(relative: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(relative)
}

/// A file of the repository.
pub fn text(relative: &str) -> String {
    std::fs::read_to_string(path(relative)).unwrap_or_else(|error| panic!("{relative}: {error}"))
}

/// An overlay of `deploy/overlays`, as `kubectl apply -k` would send it.
pub struct Overlay(Vec<Value>);

impl Overlay {
    /// What kustomize makes of it.
    pub fn build(plane: &ControlPlane, name: &str) -> Overlay {
        let built = plane.kubectl().kustomize(&format!("deploy/overlays/{name}"));
        Overlay(serde_saphyr::from_multiple(&built).expect("YAML of kustomize"))
    }

    /// Applies its namespace, accounts and rights strictly. Its Deployments are the processes of the story, its
    /// webhooks come when the story wants them.
    pub fn grant(&self, plane: &ControlPlane) {
        const KINDS: [&str; 6] =
            ["Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding", "Role", "RoleBinding"];
        self.apply(plane, &KINDS);
    }

    /// The documents of some kinds, as one text.
    pub fn of_kinds(&self, kinds: &[&str]) -> String {
        let wanted = self.0.iter().filter(|document| kinds.iter().any(|kind| document["kind"] == *kind));
        wanted.map(Value::to_string).collect::<Vec<_>>().join("\n---\n")
    }

    /// Applies the documents of some kinds strictly.
    pub fn apply(&self, plane: &ControlPlane, kinds: &[&str]) {
        let arguments = ["apply", "--validate=strict", "-f", "-"];
        plane.kubectl().run_with_input(&arguments, &self.of_kinds(kinds)).succeeded();
    }

    /// Writes the policies that its Pods mount into a folder.
    pub fn write_policies(&self, folder: &Path) {
        let data = &self.named("ConfigMap", "sluice-policies")["data"];
        for (name, text) in data.as_object().expect("mounted policies") {
            std::fs::write(folder.join(name), text.as_str().expect("text")).expect("a policy file");
        }
    }

    /// The arguments of the container of a Deployment that runs `sluice serve`, with its mounted folders below
    /// `folder` instead of `/etc/sluice`.
    pub fn arguments(&self, deployment: &str, folder: &Path) -> Vec<String> {
        let containers = &self.named("Deployment", deployment)["spec"]["template"]["spec"]["containers"];
        let containers = containers.as_array().expect("containers");
        let serving = containers.iter().find(|container| container["args"][0] == "serve");
        let arguments = serving.expect("a container that serves")["args"].as_array().expect("arguments");
        let of = |argument: &Value| {
            argument.as_str().expect("text").replace("/etc/sluice", &folder.display().to_string())
        };
        arguments.iter().skip(1).map(of).collect()
    }

    /// The scheduler for GPU Pods as it is configured here, with its own account; only its extender's port is
    /// another, and it need not be elected.
    pub fn gpu_scheduler(&self, plane: &ControlPlane, extender: &str) -> Scheduler {
        let shipped = self.named("ConfigMap", "sluice-scheduler-config")["data"]["config.yaml"].clone();
        let shipped = shipped.as_str().expect("a configuration");
        let configuration = shipped.replace("http://127.0.0.1:8444", extender);
        assert_ne!(configuration, shipped, "the shipped extender listens on another port now");
        let mut scheduler = Scheduler::from_yaml(SCHEDULER, &configuration);
        scheduler.configuration["leaderElection"] = Value::Null;
        scheduler.kubeconfig = Some(plane.kubeconfig_of_service_account(NAMESPACE, SCHEDULER));
        scheduler
    }

    /// A document; kustomize may have put a hash behind its name.
    pub fn named(&self, kind: &str, name: &str) -> &Value {
        let hashed = format!("{name}-");
        let mut named = self.0.iter().filter(|document| document["kind"] == kind).filter_map(|document| {
            let found = document["metadata"]["name"].as_str()?;
            (found == name || kind == "ConfigMap" && found.starts_with(&hashed)).then_some(document)
        });
        named.next().unwrap_or_else(|| panic!("no {kind} {name} in the overlay"))
    }
}
