//! The fixture of these stories: a control plane with sluice before it, and the way to take sluice away again.
//!
//! What is shipped is used as it is: two `sluice serve` with the arguments, accounts and rights of `deploy/`, one
//! for the webhooks and one beside the scheduler for GPU Pods; webhooks and backstop of `webhook-config/` with only
//! `clientConfig` pointing to loopback. The administrator's rights are for what an administrator does.

use std::path::Path;

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::api::{Api, ListParams};
use serde_json::Value;

use super::samples::{Sample, image, pod};
use super::shipped::{self, NAMESPACE, Overlay, SCHEDULER};
use crate::harness::command::Output;
use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{SOON, eventually};
use crate::harness::groups::Fixture;
use crate::harness::http::block_on;
use crate::harness::nodes::{Fleet, SampleNode};
use crate::harness::objects::node_of;
use crate::harness::scheduling::Scheduler;
use crate::harness::sluice::Sluice;
use crate::harness::webhooks::at_loopback;

/// A control plane, `sluice serve` beside it, and the scheduler that asks it. No webhook is in force until
/// [`Gate::open`].
pub struct Gate {
    /// The server of the webhooks.
    pub sluice: Sluice,
    /// The server beside the scheduler for GPU Pods.
    pub extender: Sluice,
    /// The control plane.
    pub plane: ControlPlane,
    /// Holds `policies/` and `tls/`, as the Pods of `deploy/` mount them.
    mounted: tempfile::TempDir,
}

impl Fixture for Gate {
    fn start() -> Gate {
        let audit = shipped::path("tests/cluster/stories/audit.yaml");
        let mut plane = ControlPlane::builder()
            .with_scheduler(Scheduler::default())
            .with_controller_manager()
            .with_kwok()
            .with_apiserver_flag(&format!("--audit-policy-file={}", audit.display()))
            .with_apiserver_flag("--audit-log-path=-")
            .start();
        let overlay = Overlay::build(&plane, "enforce");
        overlay.grant(&plane);
        let mounted = mount(&plane, &overlay);
        let serve = |deployment: &str, account: &str| {
            let kubeconfig = plane.kubeconfig_of_service_account(NAMESPACE, account);
            Sluice::serve(&plane, &kubeconfig, &overlay.arguments(deployment, mounted.path()))
        };
        let (sluice, extender) = (serve("sluice", "sluice"), serve(SCHEDULER, SCHEDULER));
        let (sluice, extender) = (sluice.until_ready(), extender.until_ready());
        let scheduler = overlay.gpu_scheduler(&plane, extender.extender());
        plane.start_scheduler(&scheduler);
        Gate { sluice, extender, plane, mounted }
    }

    fn clear(&mut self) {
        self.plane.clear();
        self.until_closed();
        self.until_current();
    }

    fn report(&self) -> String {
        self.plane.report()
    }
}

impl Gate {
    /// Puts the shipped webhooks and the backstop before the API server, as [`Gate::put`] does.
    pub fn open(&self) {
        self.open_to(&self.sluice);
    }

    /// The same with another server behind the webhooks.
    pub fn open_to(&self, sluice: &Sluice) {
        let shipped = self.plane.kubectl().kustomize("webhook-config");
        self.put(&at_loopback(&shipped, sluice.url(), &self.plane.pki().ca_bundle()));
    }

    /// Applies webhook configurations, and waits until a GPU Pod is both changed and judged and the server has seen
    /// everything that the API server holds now.
    pub fn put(&self, webhooks: &str) {
        self.plane.kubectl().apply(webhooks).succeeded();
        self.plane.until_admission("both webhooks to be in force", &probe(), |output| {
            // Changed by the first and refused by the second; the record is missing until the first is in force.
            output.stderr.contains("nodename-bypass") && !output.stderr.contains("stamp-missing")
        });
        self.until_current();
    }

    /// Waits until both servers have seen the Nodes and the bound Pods that the API server holds now.
    pub fn until_current(&self) {
        let (client, all) = (self.plane.client(), ListParams::default());
        let nodes = block_on(Api::<Node>::all(client.clone()).list(&all)).expect("Nodes").items.len();
        let pods = block_on(Api::<Pod>::all(client).list(&all)).expect("Pods").items;
        let bound = pods.iter().filter(|pod| node_of(pod).is_some() && !has_ended(pod)).count();
        for sluice in [&self.sluice, &self.extender] {
            eventually(SOON, "the picture to be that of now", || {
                let seen =
                    ["Node", "Pod"].map(|kind| sluice.metric("sluice_picture_objects", &[("kind", kind)]));
                let now = [nodes as f64, bound as f64];
                if seen == now {
                    Ok(())
                } else {
                    Err(format!("{seen:?} instead of {now:?} Nodes and bound Pods"))
                }
            });
        }
    }

    /// A server of webhooks with the same policies and certificate, and a picture as `--cluster` reads it.
    pub fn serve_picture(&self, picture: &str) -> Sluice {
        let file = tempfile::NamedTempFile::new_in(self.plane.folder()).expect("a file").into_temp_path();
        let file = file.keep().expect("it lies in the folder of the control plane");
        std::fs::write(&file, picture).expect("a picture");
        let mounted = self.mounted.path().display();
        let arguments = [
            format!("--policies={mounted}/policies"),
            format!("--certificates={mounted}/tls"),
            format!("--cluster={}", file.display()),
            // As the API server speaks to a Service; to a URL it would speak HTTP/2.
            "--http1-only".to_owned(),
        ];
        Sluice::serve(&self.plane, Path::new("/dev/null"), &arguments).until_ready()
    }

    /// Creates the nodes of a story, and the PriorityClasses that the shipped classes name.
    pub fn fleet(&self, nodes: Vec<SampleNode>) -> Fleet {
        self.plane.kubectl().apply(&shipped::text("policies/priorityclasses.yaml")).succeeded();
        self.plane.create_nodes(nodes)
    }

    /// The folder in which policies and certificate lie, as `/etc/sluice` in a Pod.
    pub fn mounted(&self) -> &Path {
        self.mounted.path()
    }

    /// Saves a policy file in place, as an editor does, and waits until both servers have taken it.
    pub fn save_policy(&self, file: &str, text: &str) {
        let revisions = || [&self.sluice, &self.extender].map(revision);
        let before = revisions();
        self.write_policy(file, text);
        eventually(SOON, "both servers to have other policies", || {
            let now = revisions();
            if now[0] == now[1] && now != before { Ok(()) } else { Err(format!("{before:?} → {now:?}")) }
        });
    }

    /// Writes a policy file in place.
    pub fn write_policy(&self, file: &str, text: &str) {
        std::fs::write(self.mounted.path().join("policies").join(file), text).expect("a policy file");
    }

    /// The text of a policy file.
    pub fn policy(&self, file: &str) -> String {
        std::fs::read_to_string(self.mounted.path().join("policies").join(file)).expect("a policy file")
    }

    /// Gives one rule another severity; what `admission.yaml` said before.
    pub fn set_severity(&self, rule: &str, severity: &str) -> String {
        let before = self.policy("admission.yaml");
        self.save_policy("admission.yaml", &format!("{before}  rules: {{{rule}: {severity}}}\n"));
        before
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
        self.until_current();
    }

    fn until_closed(&self) {
        self.plane.until_admission("nobody of ours to be asked", &probe(), |output| output.status == 0);
    }
}

/// The revision of the policies that are in force.
pub fn revision(sluice: &Sluice) -> String {
    let (_, page) = sluice.page("/metrics");
    let revisions: Vec<&str> =
        page.lines().filter_map(|line| line.strip_prefix("sluice_policy_info{revision=\"")).collect();
    let [one] = revisions.as_slice() else { panic!("one revision is in force: {revisions:?}") };
    one.trim_end_matches("\"} 1").to_owned()
}

/// Refused by the validating webhook whatever the cluster has.
fn probe() -> String {
    let spec = serde_json::json!({ "spec": { "nodeName": "somewhere" } });
    pod("probe", image::PLAIN, 1).with(&spec).within("default")
}

/// Whether the picture no longer counts a Pod among those that take room.
pub fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

/// What the Pods mount: the policies of the overlay, with them the shipped classes and the samples of these
/// stories; and a certificate.
fn mount(plane: &ControlPlane, overlay: &Overlay) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let [policies, tls] = ["policies", "tls"].map(|name| folder.path().join(name));
    for made in [&policies, &tls] {
        std::fs::create_dir(made).expect("a folder");
    }
    overlay.write_policies(&policies);
    for source in ["policies/classes", "tests/cluster/stories/policies"] {
        for entry in std::fs::read_dir(shipped::path(source)).expect("a folder of classes") {
            let path = entry.expect("an entry").path();
            std::fs::copy(&path, policies.join(path.file_name().expect("a file"))).expect("a class");
        }
    }
    let pair = plane.pki().serving(&["localhost", "127.0.0.1"]);
    std::fs::write(tls.join("tls.crt"), pair.certificate).expect("a certificate");
    std::fs::write(tls.join("tls.key"), pair.key).expect("a key");
    folder
}
