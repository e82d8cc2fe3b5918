//! What these stories stand on: no webhooks, so that Pods come as they are written; one scheduler at a time, with
//! an extender of the story's own beside it.

use std::path::PathBuf;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, PostParams};
use serde_json::{Value, json};

use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{SOON, eventually};
use crate::harness::groups::Fixture;
use crate::harness::http::block_on;
use crate::harness::objects::node_of;
use crate::harness::route::Route;
use crate::harness::scheduling::Scheduler;
use crate::harness::sluice::Sluice;
use crate::stories::shipped::{self, NAMESPACE, Overlay, SCHEDULER};

/// A control plane with kwok, the shipped rights, and a folder of policies.
pub struct Ground {
    pub plane: ControlPlane,
    pub overlay: Overlay,
    policies: tempfile::TempDir,
}

impl Fixture for Ground {
    fn start() -> Ground {
        let plane = ControlPlane::builder().with_kwok().start();
        let overlay = Overlay::build(&plane, "enforce");
        overlay.grant(&plane);
        Ground { plane, overlay, policies: tempfile::tempdir().expect("a folder of policies") }
    }

    fn clear(&mut self) {
        self.plane.clear();
    }

    fn report(&self) -> String {
        self.plane.report()
    }
}

/// A running extender. The road to the API server ends with it.
pub struct Beside {
    pub sluice: Sluice,
    _road: Route,
}

impl Ground {
    /// Puts one policy in force for the extenders that are started from now on, and for those that run.
    pub fn policy(&self, text: &str) {
        std::fs::write(self.policies.path().join("story.yaml"), text).expect("a policy file");
    }

    /// Starts an extender that hears the API server `late`, with its shipped rights and these flags, and the
    /// scheduler that asks it. `change` may change the scheduler's extender.
    pub fn schedule(&mut self, late: Duration, flags: &[&str], change: impl FnOnce(&mut Value)) -> Beside {
        let road = Route::start(&self.plane, late);
        let account: PathBuf = self.plane.kubeconfig_of_service_account(NAMESPACE, SCHEDULER);
        let mut arguments =
            vec![format!("--policies={}", self.policies.path().display()), "--keep-serving=0".to_owned()];
        arguments.extend(flags.iter().map(ToString::to_string));
        let sluice = Sluice::serve(&self.plane, &road.kubeconfig(&account), &arguments).until_ready();
        let shipped = shipped::text("deploy/base/scheduler-config.yaml");
        let text = shipped.replace("http://127.0.0.1:8444", sluice.extender());
        let mut scheduler = Scheduler::from_yaml(SCHEDULER, &text);
        scheduler.configuration["leaderElection"] = Value::Null;
        change(&mut scheduler.configuration["extenders"][0]);
        self.plane.start_scheduler(&scheduler);
        Beside { sluice, _road: road }
    }

    /// Ends the scheduler, and removes Pods and Nodes.
    pub fn end(&mut self, beside: Beside) {
        self.plane.remove_scheduler(SCHEDULER);
        drop(beside);
        self.plane.clear();
    }

    /// Creates Pods at once.
    pub fn create(&self, namespace: &str, pods: &[Pod]) {
        let api: Api<Pod> = self.plane.api(namespace);
        let parameters = PostParams::default();
        let calls = pods.iter().map(|pod| api.create(&parameters, pod));
        block_on(futures::future::try_join_all(calls)).expect("Pods are created");
    }

    /// The Nodes to which the Pods of a namespace are bound.
    pub fn bound(&self, namespace: &str) -> Vec<String> {
        self.plane.list::<Pod>(namespace).iter().filter_map(node_of).collect()
    }

    /// Waits until an extender has turned a Pod away.
    pub fn until_turned_away(&self, namespace: &str, name: &str, rule: &str) {
        eventually(SOON, &format!("{name} to be turned away by {rule}"), || {
            let because = self.plane.pending_because(namespace, name);
            if because.contains(rule) { Ok(()) } else { Err(because) }
        });
    }
}

impl Beside {
    /// Waits until its picture holds so many Nodes.
    pub fn until_nodes(&self, count: usize) {
        eventually(SOON, "the Nodes to be in the picture", || {
            self.sluice.metric("sluice_picture_objects", &[("kind", "Node")]) as usize == count
        });
    }
}

/// A Pod of a class with one unit of a GPU, which asks for the scheduler of these stories.
pub fn pod(name: &str, class: &str) -> Pod {
    pod_with(name, class, &json!({}))
}

/// The same with the fields of a JSON merge patch.
pub fn pod_with(name: &str, class: &str, fields: &Value) -> Pod {
    let mut pod = json!({
        "metadata": {
            "name": name,
            "labels": { "sluice.dev/class": class },
            // Nobody is surprised that no webhook has seen it.
            "annotations": { "sluice.dev/decision": "of-a-story" },
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "terminationGracePeriodSeconds": 0,
            "containers": [{
                "name": "app",
                "image": "registry.example/app:1",
                "resources": { "limits": { "nvidia.com/gpu": "1" } },
            }],
        },
    });
    json_patch::merge(&mut pod, fields);
    serde_json::from_value(pod).expect("a Pod")
}
