//! What each mutating webhook did to a Pod on its way in, by the API server's own audit record.

use serde_json::Value;

use super::gate::Gate;
use crate::harness::eventually::{SOON, eventually};

/// One call of one mutating webhook.
#[derive(Debug, Clone)]
pub struct Call {
    /// 0, and 1 where it was called again because a later webhook had changed the Pod.
    pub round: u32,
    /// The webhook's name.
    pub webhook: String,
    /// Its patch; empty where it changed nothing.
    pub patch: Vec<Value>,
}

impl Call {
    /// The paths that the patch touches.
    pub fn paths(&self) -> Vec<&str> {
        self.patch.iter().filter_map(|operation| operation["path"].as_str()).collect()
    }
}

impl Gate {
    /// The calls of the newest creation of a Pod, in their order.
    pub fn calls(&self, namespace: &str, name: &str) -> Vec<Call> {
        eventually(SOON, "the creation to be in the audit log", || {
            let log = self.plane.log_of("kube-apiserver");
            let events = log.lines().filter(|line| line.starts_with('{'));
            let created = |event: &Value| {
                let object = &event["objectRef"];
                object["namespace"] == namespace
                    && object["name"] == name
                    && event["responseStatus"]["code"] == 201
            };
            let mut events =
                events.filter_map(|line| serde_json::from_str::<Value>(line).ok()).filter(created);
            events.next_back().map(|event| calls(&event["annotations"]))
        })
    }

    /// Sends a stored Pod again: what the API server itself has written is left out, what webhooks have written
    /// stays.
    pub fn send_again(&self, namespace: &str, name: &str) {
        let mut stored = self.stored(namespace, name);
        stored.as_object_mut().expect("a Pod").remove("status");
        stored["spec"].as_object_mut().expect("a spec").remove("nodeName");
        for key in ["uid", "resourceVersion", "creationTimestamp", "managedFields", "generation"] {
            stored["metadata"].as_object_mut().expect("metadata").remove(key);
        }
        self.remove_workloads(namespace);
        self.plane.kubectl().create(&stored.to_string()).succeeded();
    }
}

/// From annotations `mutation.webhook.admission.k8s.io/round_0_index_1` and `patch.webhook.…` with the same end.
fn calls(annotations: &Value) -> Vec<Call> {
    let annotations = annotations.as_object().cloned().unwrap_or_default();
    let of = |kind: &str, place: &str| -> Option<Value> {
        let text = annotations.get(&format!("{kind}.webhook.admission.k8s.io/{place}"))?.as_str()?;
        serde_json::from_str(text).ok()
    };
    let mut calls: Vec<(u32, u32, Call)> = Vec::new();
    for key in annotations.keys() {
        let Some(place) = key.strip_prefix("mutation.webhook.admission.k8s.io/") else { continue };
        let (round, index) =
            place.strip_prefix("round_").and_then(|place| place.split_once("_index_")).expect(key);
        let (round, index) = (round.parse().expect(key), index.parse().expect(key));
        let webhook = of("mutation", place).expect(key)["webhook"].as_str().expect(key).to_owned();
        let patch =
            of("patch", place).and_then(|patch| patch["patch"].as_array().cloned()).unwrap_or_default();
        calls.push((round, index, Call { round, webhook, patch }));
    }
    calls.sort_by_key(|(round, index, _)| (*round, *index));
    calls.into_iter().map(|(_, _, call)| call).collect()
}
