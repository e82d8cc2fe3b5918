//! Stories of `sluice serve` as the API server and the scheduler meet it: what they do with its answers and
//! with its connections.

use std::fs;
use std::path::Path;

use crate::harness::controlplane::ControlPlane;
use crate::harness::groups::{Fixture, Group};
use crate::harness::nodes::node;
use crate::harness::scheduling::{Scheduler, configuration, extender};
use crate::harness::sluice::Sluice;
use crate::harness::webhooks::{SAMPLE, at_loopback};
use crate::stories;
use crate::stories::shipped::{NAMESPACE, Overlay};

/// Every group of this file.
pub fn group() -> Group {
    Group::new("server", stories![before_it_is_ready_the_person_is_told_why, callers_keep_their_connections])
}

struct Server(ControlPlane);

impl Fixture for Server {
    fn start() -> Server {
        Server(ControlPlane::builder().with_scheduler(Scheduler::default()).start())
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn report(&self) -> String {
        self.0.report()
    }
}

/// A server with the rights of the shipped one, and certificates of this control plane.
fn serve(plane: &ControlPlane, more: &[String]) -> Sluice {
    Overlay::build(plane, "enforce").grant(plane);
    let folder = plane.folder().join("tls");
    fs::create_dir_all(&folder).unwrap();
    let pair = plane.pki().serving(&["localhost", "127.0.0.1"]);
    fs::write(folder.join("tls.crt"), &pair.certificate).unwrap();
    fs::write(folder.join("tls.key"), &pair.key).unwrap();
    let mut arguments = vec![format!("--certificates={}", folder.display()), "--keep-serving=0".to_owned()];
    arguments.extend_from_slice(more);
    Sluice::serve(plane, &plane.kubeconfig_of_service_account(NAMESPACE, "sluice"), &arguments)
}

fn before_it_is_ready_the_person_is_told_why(Server(plane): &mut Server) {
    let namespace = plane.namespace("unready");
    let policies = plane.folder().join("unready");
    write_policy(&policies, "acton");
    let sluice = serve(plane, &[format!("--policies={}", policies.display())]);
    plane.kubectl().apply(&at_loopback(SAMPLE, sluice.url(), &plane.pki().ca_bundle())).succeeded();
    // failurePolicy decides, and the API server passes the message of our Status on.
    let pod = cpu_pod(&namespace, "probe");
    let told = "sluice is not ready: its picture of the cluster or its policies are not complete yet";
    let refused = plane.until_admission("sluice to be asked", &pod, |output| output.stderr.contains(told));
    assert!(refused.stderr.contains("failed calling webhook \"gate.test.sluice.dev\""), "{refused}");
    let (code, page) = sluice.page("/readyz");
    assert!(code == 503 && page.contains("admission.yaml:5:3"), "{page}");
    // The control: with the fault mended the same Pod is let in.
    write_policy(&policies, "action");
    plane.until_admission("the Pod to be let in", &pod, |output| output.status == 0);
    assert!(sluice.metric("sluice_requests_total", &[("result", "unready")]) >= 1.0);
}

fn callers_keep_their_connections(Server(plane): &mut Server) {
    let fleet = plane.create_nodes(vec![node("one"), node("two")]);
    let namespace = plane.namespace("connections");
    let mut sluice = serve(plane, &[]).until_ready();
    plane.kubectl().apply(&at_loopback(SAMPLE, sluice.url(), &plane.pki().ca_bundle())).succeeded();
    let asks = extender(&format!("{}/scheduler", sluice.extender()), "", &[]);
    let profile = Scheduler::from_configuration("kept", configuration(&["kept"])).with_extender(asks);
    plane.start_scheduler(&profile);
    plane.until_admission("sluice to be asked", &cpu_pod(&namespace, "probe"), |_| {
        sluice.metric("sluice_requests_total", &[("endpoint", "validate")]) >= 1.0
    });
    for index in 0..15 {
        let name = format!("kept-{index}");
        let pod = cpu_pod(&namespace, &name).replace("spec:\n", "spec:\n  schedulerName: kept\n");
        plane.kubectl().apply(&pod).succeeded();
        assert!(["one", "two"].contains(&fleet.role(&plane.bound(&namespace, &name))));
    }
    for (endpoint, port, least) in [("validate", "main", 15.0), ("filter", "extender", 15.0)] {
        let requests = sluice.metric("sluice_requests_total", &[("endpoint", endpoint)]);
        let connections = sluice.metric("sluice_connections_total", &[("port", port)]);
        assert!(requests >= least, "{requests} requests to {endpoint}");
        assert!((1.0..=4.0).contains(&connections), "{connections} connections for {requests} to {endpoint}");
    }
    let scored =
        sluice.metric("sluice_requests_total", &[("endpoint", "prioritize"), ("result", "answered")]);
    assert!(scored >= 15.0, "{scored} questions for scores were answered");
    plane.remove_scheduler("kept");
    assert!(sluice.stop().success());
}

fn write_policy(folder: &Path, key: &str) {
    fs::create_dir_all(folder).unwrap();
    let text = format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: all}}\nspec:\n  {key}: warn\n"
    );
    fs::write(folder.join("admission.yaml"), text).unwrap();
}

/// A Pod that no rule has anything to say about.
fn cpu_pod(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{ name: {name}, namespace: {namespace} }}
spec:
  containers:
  - name: app
    image: registry.example/app:1
"
    )
}
