//! The manifests on a real API server: they are valid, they need nothing of ours to come up, and their
//! accounts can do what they need and no more.

use std::collections::BTreeSet;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use sluice::cli::manifests::{NAMESPACE as OURS, SCHEDULER};
use sluice::cluster::Kind;

use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::{A_WHILE, SOON, eventually};
use crate::harness::kubectl::Kubectl;
use crate::harness::nodes::node;
use crate::harness::objects::is;
use crate::harness::scheduling::Scheduler;
use crate::harness::sluice::run_sluice;
use crate::harness::stub::{Protocols, Stub};

use super::backstop::{gpu, install, pod};
use super::{Installed, shipped};

pub fn every_overlay_is_applied_with_strict_validation(Installed(plane): &mut Installed) {
    for (overlay, policy) in
        [("observe", "Ignore"), ("enforce", "Fail"), ("availability", "Ignore"), ("observe", "Ignore")]
    {
        let folder = format!("deploy/overlays/{overlay}");
        let output = plane.kubectl().run(&["apply", "--server-side", "--validate=strict", "-k", &folder]);
        output.succeeded();
        assert_eq!(output.stderr, "", "{overlay}: a warning");
        let entry = validating(plane)[0].clone();
        assert_eq!(
            (&entry["name"], &entry["failurePolicy"]),
            (&json!("gpu-pods.sluice.dev"), &json!(policy))
        );
    }
    let built = plane.kubectl().kustomize("deploy/overlays/observe");
    let shipped_policies = built.lines().filter(|line| *line == "kind: ValidatingAdmissionPolicy").count();
    eventually(SOON, "the expressions to be checked against the types of the objects", || {
        let policies = plane.kubectl().get(&["validatingadmissionpolicies"])["items"].clone();
        let policies = policies.as_array().expect("a list");
        policies.len() == shipped_policies
            && policies.iter().all(|policy| !policy["status"]["typeChecking"].is_null())
    });
    for policy in plane.kubectl().get(&["validatingadmissionpolicies"])["items"].as_array().expect("a list") {
        assert_eq!(policy["status"]["typeChecking"], json!({}), "{}", policy["metadata"]["name"]);
    }
    // The control: strict validation does see a field that is not one.
    let misspelt = shipped("webhook-config/validating.yaml").replace("timeoutSeconds", "timoutSeconds");
    plane.kubectl().run_with_input(&["apply", "--validate=strict", "-f", "-"], &misspelt).failed();
}

pub fn the_documented_commands_install_and_renew(Installed(plane): &mut Installed) {
    plane.create_nodes(vec![node("one"), node("two")]);
    let text = shipped("docs/installation.md");
    let commands = |heading: &str| -> Vec<String> {
        let section = text.split(&format!("## {heading}")).nth(1).expect("a section of that name");
        let block = section.split("```").nth(1).expect("a block of commands");
        block.lines().filter(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    let install = commands("Three commands, beginning with observing");
    assert_eq!(install.len(), 3);
    for command in &install {
        follow(plane, command);
    }
    let first = authorities(plane);
    assert_eq!(first.len(), 1, "the authority of the serving certificate and no other");

    // A later overlay leaves the authority alone, and nobody quarrels about a field.
    follow(plane, "kubectl apply --server-side -k deploy/overlays/enforce");
    assert_eq!(validating(plane)[0]["failurePolicy"], "Fail");
    assert_eq!(authorities(plane), first);

    let renew = commands("Certificates");
    let old = plane.folder().join("old-ca.crt");
    std::fs::write(&old, &first[0]).expect("a file");
    follow(plane, &renew[1].replace("old-ca.crt", &old.display().to_string()));
    let both = authorities(plane);
    assert_eq!((both.len(), &both[1]), (2, &first[0]), "the old one stays trusted");
    let secret = plane.kubectl().get(&["secret", "sluice-tls", "-n", OURS])["data"]["ca.crt"].clone();
    assert_eq!(decoded(secret.as_str().expect("the new authority")), both[0]);
}

/// Runs a documented line, `kubectl …` or `sluice … | kubectl …`.
fn follow(plane: &ControlPlane, line: &str) {
    let mut input = String::new();
    for command in line.split(" | ") {
        let words: Vec<&str> = command.split_whitespace().collect();
        let output = match words[0] {
            "kubectl" => plane.kubectl().run_with_input(&words[1..], &input),
            "sluice" => run_sluice(&words[1..], None, &input),
            other => panic!("{other} in {line}"),
        };
        input = output.succeeded();
    }
}

fn validating(plane: &ControlPlane) -> Value {
    plane.kubectl().get(&["validatingwebhookconfiguration", "sluice"])["webhooks"].clone()
}

/// The certificates that every entry of both configurations trusts.
fn authorities(plane: &ControlPlane) -> Vec<String> {
    let mutating = plane.kubectl().get(&["mutatingwebhookconfiguration", "sluice"])["webhooks"].clone();
    let validating = validating(plane);
    let entries = mutating.as_array().into_iter().chain(validating.as_array()).flatten();
    let bundles: BTreeSet<&str> =
        entries.map(|entry| entry["clientConfig"]["caBundle"].as_str().expect("an authority")).collect();
    assert_eq!(bundles.len(), 1, "every entry trusts the same");
    let end = "-----END CERTIFICATE-----\n";
    let bundle = decoded(bundles.first().expect("at least one entry"));
    bundle.split_inclusive(end).map(str::to_owned).collect()
}

fn decoded(text: &str) -> String {
    let bytes = BASE64_STANDARD.decode(text).expect("base64");
    String::from_utf8(bytes).expect("PEM")
}

pub fn the_cluster_comes_up_with_nothing_of_ours_running(Installed(plane): &mut Installed) {
    // Our configuration is all that is there: no Node, no Pod, nobody behind the webhooks.
    install(plane, "enforce");
    let probe = pod("default", "probe", &gpu());
    plane.until_admission("the backstop to be in force", &probe, |output| output.status != 0);
    plane.restart("kube-apiserver");
    // Its watch of Nodes does not outlive the API server.
    plane.restart("kwok");

    let names = ["node-one", "node-two"];
    for name in names {
        register(plane, name);
    }
    // kwok speaks only for Nodes whose Lease it holds, so this Lease is that of a third kubelet.
    hold_lease(plane, "node-three");
    plane.kubectl().run(&["create", "namespace", "gpu-operator"]).succeeded();
    for namespace in ["kube-system", "gpu-operator"] {
        plane.kubectl().create(&device_plugin(namespace)).succeeded();
    }
    eventually(A_WHILE, "the GPU operators' Pods to run", || running(plane, "gpu-operator", names.len()));
    eventually(A_WHILE, "the system's Pods to run", || running(plane, "kube-system", names.len()));
    // Restricted Pods, a quota, priorities, spread: and they run, though every GPU Pod is refused.
    eventually(A_WHILE, "our own Pods to run", || running(plane, OURS, 4));
    plane.kubectl().dry_run(&probe).failed();

    // The control: without selector and conditions the same entry keeps the system from coming up.
    let mut locking: Value = plane.kubectl().get(&["validatingwebhookconfiguration", "sluice"]);
    locking["metadata"] = json!({ "name": "locking" });
    locking["webhooks"].as_array_mut().expect("a list").truncate(1);
    for field in ["namespaceSelector", "matchConditions"] {
        locking["webhooks"][0].as_object_mut().expect("an entry").remove(field);
    }
    plane.kubectl().apply(&locking.to_string()).succeeded();
    let dns = pod("kube-system", "dns", &json!({}));
    plane.until_admission("system Pods to be locked out", &dns, |output| output.status != 0);
    plane.kubectl().run(&["delete", "namespace", "gpu-operator", "--wait=false"]).succeeded();
    plane.kubectl().run(&["delete", "daemonset", "device-plugin", "-n", "kube-system"]).succeeded();
}

/// Whether so many Pods of a namespace are Ready; else what is there instead.
fn running(plane: &ControlPlane, namespace: &str, count: usize) -> Result<(), String> {
    let ready = plane.list::<Pod>(namespace).iter().filter(|pod| is(pod, "Ready")).count();
    if ready == count {
        return Ok(());
    }
    Err(plane.kubectl().run(&["get", "nodes,daemonsets,pods,events", "-o", "wide", "-n", namespace]).stdout)
}

/// As a kubelet does, with a certificate of its own: its Node, then that it is ready.
fn register(plane: &ControlPlane, name: &str) {
    let resources = json!({ "cpu": "16", "memory": "64Gi", "pods": "110", "nvidia.com/gpu": "8" });
    let labels = json!({ "kubernetes.io/hostname": name, "kubernetes.io/os": "linux" });
    let node = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name, "labels": labels },
        "status": { "capacity": resources, "allocatable": resources } });
    kubelet(plane, name).create(&node.to_string()).succeeded();
    let status = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": name },
        "status": { "conditions": [{ "type": "Ready", "status": "True" }] } });
    let arguments = ["apply", "--server-side", "--force-conflicts", "--subresource=status", "-f", "-"];
    kubelet(plane, name).run_with_input(&arguments, &status.to_string()).succeeded();
}

fn hold_lease(plane: &ControlPlane, node: &str) {
    let lease = json!({ "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": { "name": node, "namespace": "kube-node-lease" }, "spec": { "holderIdentity": node } });
    kubelet(plane, node).create(&lease.to_string()).succeeded();
}

fn kubelet(plane: &ControlPlane, node: &str) -> Kubectl {
    plane.kubectl_with(&plane.kubeconfig_of_user(&format!("system:node:{node}"), &["system:nodes"]))
}

/// Everything that a webhook could be afraid of, where it belongs.
fn device_plugin(namespace: &str) -> String {
    json!({ "apiVersion": "apps/v1", "kind": "DaemonSet", "metadata": { "name": "device-plugin", "namespace": namespace },
        "spec": { "selector": { "matchLabels": { "app": "device-plugin" } }, "template": {
            "metadata": { "labels": { "app": "device-plugin" } },
            "spec": {
                "priorityClassName": "system-node-critical",
                "tolerations": [{ "operator": "Exists" }],
                "containers": [{ "name": "plugin", "image": "i", "securityContext": { "privileged": true },
                    "env": [{ "name": "NVIDIA_VISIBLE_DEVICES", "value": "all" }],
                    "resources": { "limits": { "nvidia.com/gpu": 1 } } }],
                "volumes": [{ "name": "sockets", "hostPath": { "path": "/var/lib/kubelet/device-plugins" } }],
            } } } })
    .to_string()
}

pub fn accounts_may_do_what_they_need_and_nothing_else(Installed(plane): &mut Installed) {
    plane.kubectl().apply_path("deploy/overlays/enforce").succeeded();
    let server = plane.kubectl_with(&plane.kubeconfig_of_service_account(OURS, "sluice"));
    for row in Kind::ALL.map(Kind::row) {
        let api = row.api_version();
        let path = if row.group.is_empty() { format!("/api/{api}") } else { format!("/apis/{api}") };
        let answer = server.run(&["get", "--raw", &format!("{path}/{}", row.plural)]);
        // Nobody has defined some of them here; the right is there before they are.
        let absent = row.optional && answer.stderr.contains("(NotFound)");
        assert!(answer.status == 0 || absent, "{answer}");
    }
    for (verb, resource) in [
        ("get", "secrets"),
        ("list", "secrets"),
        ("list", "configmaps"),
        ("create", "pods"),
        ("delete", "pods"),
        ("patch", "nodes"),
        ("update", "leases"),
        ("patch", "validatingwebhookconfigurations"),
        ("create", "subjectaccessreviews"),
    ] {
        let answer = server.run(&["auth", "can-i", verb, resource, "-n", OURS]);
        assert_eq!(answer.stdout.trim(), "no", "{verb} {resource}");
    }
}

// Long because it is one story, told in order.
pub fn the_gpu_scheduler_runs_with_its_own_account_and_lease(Installed(plane): &mut Installed) {
    let stub = start_gpu_scheduler(plane);
    let namespace = plane.namespace("scheduler");
    plane.kubectl().create(&pod(&namespace, "gpu", &of_the_gpu_scheduler(gpu()))).succeeded();
    plane.bound(&namespace, "gpu");
    let asked = stub.seen();
    assert!(asked[0].1["NodeNames"].is_array() && asked[0].1["Nodes"].is_null(), "{asked:?}");
    let holder = plane.kubectl().get(&["lease", SCHEDULER, "-n", OURS])["spec"]["holderIdentity"].clone();
    assert!(holder.is_string(), "{holder}");
    // The cluster's own scheduler asks nobody.
    plane.kubectl().create(&pod(&namespace, "other", &gpu())).succeeded();
    plane.bound(&namespace, "other");
    assert_eq!(stub.seen().len(), asked.len());
    plane.remove_scheduler(SCHEDULER);
}

/// The shipped scheduler with the rights that are shipped for it, and an extender that lets every node pass.
fn start_gpu_scheduler(plane: &mut ControlPlane) -> Stub {
    plane.kubectl().apply_path("deploy/overlays/observe").succeeded();
    plane.create_nodes(["one", "two"].map(|role| node(role).allocatable("nvidia.com/gpu", 8)).into());
    let stub = Stub::start(plane.pki(), Protocols::Http2Too, |path, arguments| match path {
        "/scheduler/filter" => json!({ "NodeNames": arguments["NodeNames"] }),
        _ => json!([]),
    });
    let mut scheduler = Scheduler::from_yaml(SCHEDULER, &shipped("deploy/base/scheduler-config.yaml"))
        .with_extenders_at(&format!("{}/scheduler", stub.url()), &plane.pki().ca_bundle());
    scheduler.kubeconfig = Some(plane.kubeconfig_of_service_account(OURS, SCHEDULER));
    // The harness switches elections off in the file; flags win over it.
    let election = &scheduler.configuration["leaderElection"];
    let shipped = |field: &str| election[field].as_str().expect("a lease of its own").to_owned();
    scheduler.flags = vec![
        "--leader-elect=true".into(),
        format!("--leader-elect-resource-name={}", shipped("resourceName")),
        format!("--leader-elect-resource-namespace={}", shipped("resourceNamespace")),
    ];
    plane.start_scheduler(&scheduler);
    stub
}

fn of_the_gpu_scheduler(mut pod: Value) -> Value {
    pod["spec"]["schedulerName"] = json!(SCHEDULER);
    pod
}
