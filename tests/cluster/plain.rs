//! Stories of the harness itself: the control plane does what a cluster does, with no sluice anywhere. When
//! one of these fails, no other story's result means anything.

use std::time::Duration;

use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{A_WHILE, SOON, eventually};
use crate::harness::groups::{Group, Stage};
use crate::harness::nodes::node;
use crate::harness::objects::{is, node_of};
use crate::harness::scheduling::Scheduler;
use crate::stories;

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;

/// Every group of this file.
pub fn group() -> Group {
    Group::new(
        "plain",
        stories![
            a_deployment_is_bound_and_made_ready,
            a_drained_pod_is_replaced_elsewhere_within_its_budget,
            a_webhook_at_a_dead_port_refuses_and_its_removal_lets_pass,
        ],
    )
}

/// A whole control plane with nothing of ours in it.
pub struct Plain(pub ControlPlane);

impl Stage for Plain {
    fn start() -> Plain {
        let builder = ControlPlane::builder().with_scheduler(Scheduler::default());
        Plain(builder.with_controller_manager().with_kwok().start())
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn report(&self) -> String {
        self.0.report()
    }
}

fn a_deployment_is_bound_and_made_ready(Plain(plane): &mut Plain) {
    let fleet = plane.create_nodes(vec![node("gpu").allocatable("nvidia.com/gpu", 8), node("cpu")]);
    let namespace = plane.namespace("ready");
    plane.kubectl().apply(&deployment(&namespace, 2)).succeeded();
    eventually(SOON, "two Pods Ready on the node with GPUs", || {
        let pods = plane.list::<Pod>(&namespace);
        let good = |pod: &&Pod| is(pod, "Ready") && node_of(pod).as_deref() == Some(fleet.name("gpu"));
        pods.iter().filter(good).count() == 2
    });
    // The control: GPUs that no node has are not found on one.
    plane.kubectl().apply(&deployment(&namespace, 9)).succeeded();
    eventually(SOON, "the ninth Pod to be told why it waits", || {
        let pods = plane.list::<Pod>(&namespace);
        let waiting = pods.iter().find(|pod| node_of(pod).is_none())?.metadata.name.clone()?;
        plane.pending_because(&namespace, &waiting).contains("Insufficient nvidia.com/gpu").then_some(())
    });
}

fn a_drained_pod_is_replaced_elsewhere_within_its_budget(Plain(plane): &mut Plain) {
    let gpu = |role| node(role).allocatable("nvidia.com/gpu", 2);
    let fleet = plane.create_nodes(vec![gpu("one"), gpu("two")]);
    let namespace = plane.namespace("drain");
    plane.kubectl().apply(&deployment(&namespace, 2)).succeeded();
    plane.kubectl().apply(&budget(&namespace, 2)).succeeded();
    let allowed = || {
        let budgets = plane.list::<PodDisruptionBudget>(&namespace);
        let status = budgets.first()?.status.clone()?;
        if status.current_healthy == Some(2) { status.disruptions_allowed } else { None }
    };
    assert_eq!(eventually(SOON, "the budget to be computed", allowed), 0);
    let victim = node_of(&plane.list::<Pod>(&namespace)[0]).expect("healthy Pods are bound");

    let refused = plane.kubectl().drain(&victim, Duration::from_secs(3)).failed();
    assert!(refused.contains("would violate the pod's disruption budget"), "{refused}");

    plane.kubectl().apply(&budget(&namespace, 1)).succeeded();
    eventually(SOON, "one disruption to be allowed", || allowed() == Some(1));
    plane.kubectl().drain(&victim, A_WHILE).succeeded();
    let other = if fleet.role(&victim) == "one" { "two" } else { "one" };
    eventually(SOON, "both Pods Ready on the other node", || {
        let pods = plane.list::<Pod>(&namespace);
        let good = |pod: &&Pod| is(pod, "Ready") && node_of(pod).as_deref() == Some(fleet.name(other));
        pods.iter().filter(good).count() == 2
    });
}

fn a_webhook_at_a_dead_port_refuses_and_its_removal_lets_pass(Plain(plane): &mut Plain) {
    let namespace = plane.namespace("webhook");
    let pod = gpu_pod(&namespace, "probe");
    plane.kubectl().dry_run(&pod).succeeded();
    plane.kubectl().apply(&dead_webhook(&plane.pki().ca_bundle())).succeeded();
    let refusal = plane.until_admission("the webhook to be asked", &pod, |output| output.status != 0);
    assert!(refusal.stderr.contains("failed calling webhook \"dead.test.sluice.dev\""), "{refusal}");
    plane.kubectl().run(&["delete", "validatingwebhookconfigurations", "dead"]).succeeded();
    plane.until_admission("the webhook to be forgotten", &pod, |output| output.status == 0);
}

fn deployment(namespace: &str, replicas: usize) -> String {
    format!(
        "apiVersion: apps/v1
kind: Deployment
metadata: {{ name: model, namespace: {namespace} }}
spec:
  replicas: {replicas}
  selector: {{ matchLabels: {{ app: model }} }}
  template:
    metadata: {{ labels: {{ app: model }} }}
    spec:
      containers:
      - name: model
        image: registry.example/model:1
        resources: {{ limits: {{ nvidia.com/gpu: 1 }} }}
"
    )
}

fn gpu_pod(namespace: &str, name: &str) -> String {
    format!(
        "apiVersion: v1
kind: Pod
metadata: {{ name: {name}, namespace: {namespace} }}
spec:
  containers:
  - name: model
    image: registry.example/model:1
    resources: {{ limits: {{ nvidia.com/gpu: 1 }} }}
"
    )
}

fn budget(namespace: &str, available: usize) -> String {
    format!(
        "apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {{ name: model, namespace: {namespace} }}
spec:
  minAvailable: {available}
  selector: {{ matchLabels: {{ app: model }} }}
"
    )
}

/// Port 9 (discard) is below every port that anything here listens on.
fn dead_webhook(ca_bundle: &str) -> String {
    format!(
        "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {{ name: dead }}
webhooks:
- name: dead.test.sluice.dev
  clientConfig: {{ url: 'https://127.0.0.1:9/validate', caBundle: {ca_bundle} }}
  rules: [{{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods] }}]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 2
"
    )
}
