//! KubeSchedulerConfiguration as a value: a scheduler as it comes, and one with an extender.

use std::path::PathBuf;

use serde_json::{Value, json};

/// One kube-scheduler of a control plane.
#[derive(Debug, Clone)]
pub struct Scheduler {
    /// Name of the process and of its log, unique in its control plane.
    pub name: String,
    /// The KubeSchedulerConfiguration. The harness sets its kubeconfig and, where nothing is said about leader
    /// election, switches that off.
    pub configuration: Value,
    /// A kubeconfig of a user other than `system:kube-scheduler`, such as the ServiceAccount of a manifest.
    pub kubeconfig: Option<PathBuf>,
    /// Further flags.
    pub flags: Vec<String>,
}

impl Default for Scheduler {
    fn default() -> Scheduler {
        Scheduler::from_configuration("kube-scheduler", configuration(&["default-scheduler"]))
    }
}

impl Scheduler {
    /// A scheduler with this configuration.
    pub fn from_configuration(name: &str, configuration: Value) -> Scheduler {
        Scheduler { name: name.into(), configuration, kubeconfig: None, flags: Vec::new() }
    }

    /// A scheduler with a configuration as YAML text, such as a shipped file or a command's output.
    pub fn from_yaml(name: &str, yaml: &str) -> Scheduler {
        let configuration =
            serde_saphyr::from_str(yaml).unwrap_or_else(|error| panic!("{name}: {error}\n{yaml}"));
        Scheduler::from_configuration(name, configuration)
    }

    /// Adds an extender to the configuration.
    pub fn with_extender(mut self, extender: Value) -> Scheduler {
        let extenders = &mut self.configuration["extenders"];
        if !extenders.is_array() {
            *extenders = json!([]);
        }
        extenders.as_array_mut().expect("just made").push(extender);
        self
    }

    /// Points every extender of the configuration, and with `ca_bundle` its trust, at this address: a shipped
    /// configuration names an address inside a Pod. Nothing else is changed.
    pub fn with_extenders_at(mut self, url: &str, ca_bundle: &str) -> Scheduler {
        let extenders = self.configuration["extenders"].as_array_mut();
        for extender in extenders.expect("a configuration with extenders") {
            extender["urlPrefix"] = json!(url);
            extender["tlsConfig"]["caData"] = json!(ca_bundle);
        }
        self
    }
}

/// The smallest configuration with these profiles.
pub fn configuration(profiles: &[&str]) -> Value {
    let profiles: Vec<Value> = profiles.iter().map(|name| json!({ "schedulerName": name })).collect();
    json!({
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "clientConnection": { "qps": 2000, "burst": 4000 },
        "profiles": profiles,
    })
}

/// An extender that filters and prioritises at `url` (such as `https://127.0.0.1:8443/scheduler`), asked for
/// Pods that want one of `resources`; with none, for every Pod. `ca_bundle` is base64 of the CA's PEM:
/// without it, `enableHTTPS` would switch verification off.
pub fn extender(url: &str, ca_bundle: &str, resources: &[&str]) -> Value {
    let mut extender = json!({
        "urlPrefix": url,
        "filterVerb": "filter",
        "prioritizeVerb": "prioritize",
        "weight": 1,
        "enableHTTPS": true,
        "tlsConfig": { "caData": ca_bundle },
        "nodeCacheCapable": true,
        "httpTimeout": "5s",
    });
    if !resources.is_empty() {
        extender["managedResources"] = resources.iter().map(|name| json!({ "name": name })).collect();
    }
    extender
}
