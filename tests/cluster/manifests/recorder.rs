//! Shipped webhook configurations with a recorder behind every entry: which requests the API server would ask
//! us about.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{SOON, eventually};
use crate::harness::stub::{Protocols, Stub, allowed};

use super::shipped;

/// What reached which entry: names of objects by the entry's name.
pub type Reached = BTreeMap<String, BTreeSet<String>>;

/// Both configurations in force, every entry recorded.
pub struct Recorder<'a> {
    plane: &'a ControlPlane,
    stub: Stub,
    round: u32,
}

impl<'a> Recorder<'a> {
    /// Applies the shipped configurations and waits until they are in force.
    pub fn start(plane: &'a ControlPlane) -> Recorder<'a> {
        let stub = Stub::start(plane.pki(), Protocols::Http1Only, |_, review| allowed(review));
        let mut recorder = Recorder { plane, stub, round: 0 };
        recorder.put(|text| text);
        recorder
    }

    /// Puts the shipped configurations, changed, in force; what was recorded before no longer counts.
    pub fn put(&mut self, change: impl Fn(String) -> String) {
        self.round += 1;
        for file in ["mutating", "validating"] {
            let text = change(shipped(&format!("webhook-config/{file}.yaml")));
            let mut configuration: Value = serde_saphyr::from_str(&text).expect("a shipped configuration");
            let base = format!("{}/{}", self.stub.url(), self.round);
            for webhook in configuration["webhooks"].as_array_mut().expect("a list of entries") {
                let name = webhook["name"].as_str().expect("an entry has a name");
                webhook["clientConfig"] =
                    json!({ "url": format!("{base}/{name}"), "caBundle": self.plane.pki().ca_bundle() });
            }
            self.plane.kubectl().apply(&configuration.to_string()).succeeded();
        }
        let probe = r#"{"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "probe", "namespace": "default"},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": 1}}}]}}"#;
        eventually(SOON, "both configurations to be in force", || {
            self.plane.kubectl().dry_run(probe).succeeded();
            let reached = self.reached();
            ["steer.sluice.dev", "gpu-pods.sluice.dev"].iter().all(|entry| reached.contains_key(*entry))
        });
    }

    /// What has reached us since the configurations were put in force; the same object twice counts once.
    pub fn reached(&self) -> Reached {
        let prefix = format!("/{}/", self.round);
        let mut reached = Reached::new();
        for (path, review) in self.stub.seen() {
            let Some(entry) = path.strip_prefix(&prefix) else { continue };
            let name = review["request"]["name"].as_str().unwrap_or_default();
            reached.entry(entry.to_owned()).or_default().insert(name.to_owned());
        }
        reached
    }

    /// How many requests have reached us in all.
    pub fn count(&self) -> usize {
        self.stub.seen().len()
    }
}
