//! Stories of the harness itself: the control plane does what a cluster does, with no sluice anywhere. When
//! one of these fails, no other story's result means anything.

use std::time::{Duration, Instant};

use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::PodDisruptionBudget;
use serde_json::{Value, json};

use crate::harness::command::Output;
use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{A_WHILE, SOON, eventually};
use crate::harness::groups::{Fixture, Group};
use crate::harness::kubectl::Kubectl;
use crate::harness::metrics::sum;
use crate::harness::nodes::{Fleet, node};
use crate::harness::objects::{is, node_of};
use crate::harness::route::Route;
use crate::harness::scheduling::{Scheduler, configuration, extender};
use crate::harness::stub::{Protocols, Stub, allowed};
use crate::harness::webhooks::{SAMPLE, at_loopback};
use crate::stories;

/// Every group of this file.
pub fn group() -> Group {
    Group::new(
        "plain",
        stories![
            a_deployment_is_bound_and_made_ready,
            a_drained_pod_is_replaced_elsewhere_within_its_budget,
            a_shipped_webhook_reaches_a_process_on_loopback_and_a_dead_one_refuses,
            a_pod_is_running_before_it_is_ready_and_a_job_completes,
            a_second_scheduler_asks_its_extender_about_managed_resources_only,
            a_service_account_has_only_its_own_rights,
            a_restarted_api_server_keeps_its_objects_and_its_clients,
            a_lost_node_is_tainted_and_comes_back,
            a_route_makes_answers_late_and_can_be_cut,
        ],
    )
}

/// A whole control plane with nothing of ours in it.
pub struct Plain(pub ControlPlane);

impl Fixture for Plain {
    fn start() -> Plain {
        let builder = ControlPlane::builder().with_scheduler(Scheduler::default());
        Plain(builder.with_controller_manager().with_kwok().with_quick_node_loss().start())
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

fn a_shipped_webhook_reaches_a_process_on_loopback_and_a_dead_one_refuses(Plain(plane): &mut Plain) {
    let namespace = plane.namespace("webhook");
    let pod = gpu_pod(&namespace, "probe");
    let kubectl = plane.kubectl();
    kubectl.dry_run(&pod).succeeded();
    let point_to = |base: &str| {
        kubectl.apply(&at_loopback(SAMPLE, base, &plane.pki().ca_bundle())).succeeded();
    };
    // Port 9 (discard) is below every port that anything here listens on.
    point_to("https://127.0.0.1:9");
    let refusal = plane.until_admission("the webhook to be asked", &pod, |output| output.status != 0);
    assert!(refusal.stderr.contains("failed calling webhook \"gate.test.sluice.dev\""), "{refusal}");
    let failed = [("name", "gate.test.sluice.dev"), ("error_type", "calling_webhook_error")];
    let page = plane.metrics("kube-apiserver");
    assert!(sum(&page, "apiserver_admission_webhook_rejection_count", &failed) >= 1.0);

    for protocols in [Protocols::Http1Only, Protocols::Http2Too] {
        let stub = Stub::start(plane.pki(), protocols, |_, review| allowed(review));
        point_to(&stub.url());
        let asked = |output: &Output| output.status == 0 && !stub.seen().is_empty();
        plane.until_admission("the stub to be asked and to let it pass", &pod, asked);
        let (path, review) = stub.seen().remove(0);
        assert_eq!((path.as_str(), &review["request"]["namespace"]), ("/validate", &json!(namespace)));
    }
}

fn a_pod_is_running_before_it_is_ready_and_a_job_completes(Plain(plane): &mut Plain) {
    plane.create_nodes(vec![node("gpu").allocatable("nvidia.com/gpu", 8)]);
    let namespace = plane.namespace("delays");
    let delay = "metadata: { annotations: { test.sluice.dev/ready-after: 2s },";
    let slow = gpu_pod(&namespace, "slow").replace("metadata: {", delay);
    plane.kubectl().apply(&slow).succeeded();
    plane.kubectl().apply(&job(&namespace)).succeeded();
    let pod = eventually(SOON, "the slow Pod to be Ready", || {
        let pod = plane.pod(&namespace, "slow");
        is(&pod, "Ready").then_some(pod)
    });
    // By the Pod's own times: a look at the right moment would depend on how busy the machine is.
    let status = pod.status.expect("a Ready Pod has a status");
    let ready = status.conditions.into_iter().flatten().find(|condition| condition.type_ == "Ready");
    let ready = ready.and_then(|condition| condition.last_transition_time).expect("it became Ready").0;
    let running = status.start_time.expect("it was started").0;
    assert!(ready.as_second() - running.as_second() >= 2, "running {running}, ready {ready}");
    eventually(SOON, "the Job to complete", || {
        let jobs = plane.list::<Job>(&namespace);
        jobs.first().and_then(|job| job.status.clone()?.succeeded) == Some(1)
    });
}

fn a_second_scheduler_asks_its_extender_about_managed_resources_only(Plain(plane): &mut Plain) {
    let gpu = |role| node(role).allocatable("nvidia.com/gpu", 8);
    let fleet = plane.create_nodes(vec![gpu("allowed"), gpu("impossible"), gpu("busy")]);
    let stub = choosy_extender(plane, &fleet);
    plane.start_scheduler(&gpu_scheduler(&stub, &plane.pki().ca_bundle()));
    let namespace = plane.namespace("extender");
    plane.kubectl().apply(&ours(gpu_pod(&namespace, "gpu"))).succeeded();
    assert_eq!(fleet.role(&plane.bound(&namespace, "gpu")), "allowed");
    let asked = stub.seen();
    assert_eq!(asked.len(), 1, "{asked:?}");
    assert_eq!((asked[0].0.as_str(), asked[0].1["Nodes"].is_null()), ("/filter", true));

    // A Pod without the managed resource, and one of the other scheduler, are none of the extender's business.
    plane.kubectl().apply(&ours(gpu_pod(&namespace, "cpu").replace("nvidia.com/gpu", "cpu"))).succeeded();
    plane.kubectl().apply(&gpu_pod(&namespace, "other")).succeeded();
    plane.bound(&namespace, "cpu");
    plane.bound(&namespace, "other");
    assert_eq!(stub.seen().len(), 1);

    plane.kubectl().run(&["cordon", fleet.name("allowed")]).succeeded();
    plane.kubectl().apply(&ours(gpu_pod(&namespace, "refused"))).succeeded();
    eventually(SOON, "the extender's reasons in the Pod's condition", || {
        let told = plane.pending_because(&namespace, "refused");
        let both = told.contains("1 cards have no MIG") && told.contains("1 no free slice");
        if both { Ok(()) } else { Err(told) }
    });
    plane.remove_scheduler("gpu-scheduler");
}

/// Made as a shipped file would be, and then pointed to the stub.
fn gpu_scheduler(stub: &Stub, ca_bundle: &str) -> Scheduler {
    let mut filter_only = extender("https://localhost/scheduler", "", &["nvidia.com/gpu"]);
    filter_only.as_object_mut().unwrap().remove("prioritizeVerb");
    let shipped = Scheduler::from_configuration("shipped", configuration(&["gpu-scheduler"]));
    let shipped = shipped.with_extender(filter_only).configuration.to_string();
    Scheduler::from_yaml("gpu-scheduler", &shipped).with_extenders_at(&stub.url(), ca_bundle)
}

/// Refuses the node `impossible` for good and the node `busy` for now.
fn choosy_extender(plane: &ControlPlane, fleet: &Fleet) -> Stub {
    let (impossible, busy) = (fleet.name("impossible").to_string(), fleet.name("busy").to_string());
    Stub::start(plane.pki(), Protocols::Http2Too, move |_, arguments| {
        let names = arguments["NodeNames"].as_array().cloned().unwrap_or_default();
        let passed: Vec<Value> =
            names.into_iter().filter(|name| *name != *impossible && *name != *busy).collect();
        json!({
            "NodeNames": passed,
            "FailedNodes": { &busy: "no free slice" },
            "FailedAndUnresolvableNodes": { &impossible: "cards have no MIG" },
        })
    })
}

/// Gives a Pod to the second scheduler.
fn ours(pod: String) -> String {
    pod.replace("spec:\n", "spec:\n  schedulerName: gpu-scheduler\n")
}

fn a_service_account_has_only_its_own_rights(Plain(plane): &mut Plain) {
    let namespace = plane.namespace("rights");
    let admin = plane.kubectl();
    admin.run(&["create", "serviceaccount", "reader", "-n", &namespace]).succeeded();
    admin.run(&["create", "role", "reader", "--verb=list", "--resource=pods", "-n", &namespace]).succeeded();
    let subject = format!("--serviceaccount={namespace}:reader");
    admin.run(&["create", "rolebinding", "reader", "--role=reader", &subject, "-n", &namespace]).succeeded();
    let reader = plane.kubectl_with(&plane.kubeconfig_of_service_account(&namespace, "reader"));
    reader.run(&["get", "pods", "-n", &namespace]).succeeded();
    let refused = reader.run(&["get", "nodes"]).failed();
    assert!(
        refused.contains(&format!("\"system:serviceaccount:{namespace}:reader\" cannot list")),
        "{refused}"
    );
}

fn a_restarted_api_server_keeps_its_objects_and_its_clients(Plain(plane): &mut Plain) {
    plane.create_nodes(vec![node("gpu").allocatable("nvidia.com/gpu", 8)]);
    let namespace = plane.namespace("restart");
    plane.kubectl().apply(&deployment(&namespace, 1)).succeeded();
    plane.stop("kube-apiserver");
    plane.kubectl().run(&["get", "nodes"]).failed();
    plane.start("kube-apiserver");
    plane.kubectl().apply(&deployment(&namespace, 2)).succeeded();
    eventually(A_WHILE, "both Pods Ready: scheduler, controllers and kwok found the server again", || {
        plane.list::<Pod>(&namespace).iter().filter(|pod| is(pod, "Ready")).count() == 2
    });
}

fn a_lost_node_is_tainted_and_comes_back(Plain(plane): &mut Plain) {
    let fleet = plane.create_nodes(vec![node("lost"), node("kept")]);
    let tainted = |role: &str| plane.kubectl().get(&["node", fleet.name(role)])["spec"]["taints"].is_array();
    plane.lose_node(fleet.name("lost"));
    eventually(A_WHILE, "the lost node to be tainted", || tainted("lost"));
    assert!(!tainted("kept"));
    plane.rejoin_node(fleet.name("lost"));
    eventually(A_WHILE, "the node to be back", || !tainted("lost"));
}

fn a_route_makes_answers_late_and_can_be_cut(Plain(plane): &mut Plain) {
    let late = Duration::from_millis(700);
    let route = Route::start(plane, late);
    let kubectl = plane.kubectl_with(&route.kubeconfig(plane.admin()));
    let took = |kubectl: &Kubectl| {
        let started = Instant::now();
        kubectl.run(&["get", "--raw", "/version"]).succeeded();
        started.elapsed()
    };
    let slow = took(&kubectl);
    assert!(slow > late && took(&plane.kubectl()) < slow, "{slow:?}");
    route.cut();
    kubectl.run(&["get", "--raw", "/version"]).failed();
    route.open(Duration::ZERO);
    assert!(took(&kubectl) < slow);
}

fn job(namespace: &str) -> String {
    format!(
        "apiVersion: batch/v1
kind: Job
metadata: {{ name: batch, namespace: {namespace} }}
spec:
  template:
    spec:
      restartPolicy: Never
      containers:
      - name: batch
        image: registry.example/batch:1
        resources: {{ limits: {{ nvidia.com/gpu: 1 }} }}
"
    )
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
