//! kubectl of the control plane's own version: its words are what stories compare.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Value;

use super::command::{Output, run};

/// kubectl with one kubeconfig.
#[derive(Debug, Clone)]
pub struct Kubectl {
    program: PathBuf,
    kubeconfig: PathBuf,
    home: PathBuf,
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
        let environment = [("KUBECONFIG", self.kubeconfig.as_path()), ("HOME", self.home.as_path())];
        run(&self.program, arguments, &environment, input)
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

    /// Applies a file or folder of the repository, with strict validation; a folder with a kustomization is
    /// built first, as `kubectl apply -k` does.
    pub fn apply_path(&self, path: &str) -> Output {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        let flag = if path.join("kustomization.yaml").is_file() { "-k" } else { "-f" };
        self.run(&["apply", "--validate=strict", flag, &path.display().to_string()])
    }

    /// What `kubectl kustomize` makes of a folder of the repository.
    pub fn kustomize(&self, path: &str) -> String {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        self.run(&["kustomize", &path.display().to_string()]).succeeded()
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
}
