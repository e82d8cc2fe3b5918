//! Snapshots hold what is read and no secret.

use serde_json::json;

use super::server::Server;
use crate::{
    cluster::{Cluster, Kind},
    live::snapshot::{self, READ_VARIABLES},
    subject::relevant::VISIBLE_DEVICES,
};

fn pod() -> serde_json::Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "p", "namespace": "team", "uid": "u", "labels": {"app": "p"},
            "managedFields": [{"manager": "kubectl"}],
            "annotations": {"sluice.dev/decided-class": "llm", "kubectl.kubernetes.io/last-applied-configuration": "s3cret"}},
        "spec": {"nodeName": "n", "containers": [{
            "name": "main", "image": "vllm/vllm-openai",
            "args": ["--model", "m", "--max-tokens", "9", "--api-key", "s3cret", "--hf-token=s3cret", "-tp", "2"],
            "command": ["sh", "-c", "export HF_TOKEN=s3cret; run"],
            "env": [{"name": "HF_TOKEN", "value": "s3cret"}, {"name": "NVIDIA_VISIBLE_DEVICES", "value": "all"},
                {"name": "FROM", "valueFrom": {"secretKeyRef": {"name": "x", "key": "y"}}}],
            "resources": {"limits": {"nvidia.com/gpu": "1"}},
        }]},
        "status": {"phase": "Running", "hostIP": "10.0.0.1", "conditions": [{"type": "Ready", "status": "True"}]},
    })
}

#[test]
fn a_pod_in_a_snapshot_has_no_secret_and_all_that_is_read() {
    let document = snapshot::document(Kind::Pod, pod());
    let text = document.to_string();
    assert!(!text.contains("s3cret"), "{text}");
    assert!(!text.contains("managedFields") && !text.contains("hostIP"), "{text}");
    let container = &document["spec"]["containers"][0];
    assert_eq!(
        container["args"],
        json!([
            "--model",
            "m",
            "--max-tokens",
            "9",
            "--api-key",
            "REDACTED",
            "--hf-token=REDACTED",
            "-tp",
            "2"
        ]),
    );
    assert_eq!(container["env"][1]["value"], "all");
    assert_eq!(document["metadata"]["annotations"], json!({"sluice.dev/decided-class": "llm"}));
    let before = Cluster::from_documents([pod()]).expect("it is readable");
    assert_eq!(Cluster::from_documents([document]).expect("it is readable"), before);
}

#[test]
fn a_template_and_a_node_are_pruned_alike() {
    let template = json!({"metadata": {"labels": {"app": "p"}}, "spec": pod()["spec"]});
    for (kind, object) in [
        (Kind::Deployment, json!({"metadata": {"name": "d"}, "spec": {"template": template}})),
        (
            Kind::CronJob,
            json!({"metadata": {"name": "c"}, "spec": {"jobTemplate": {"spec": {"template": template}}}}),
        ),
    ] {
        let document = snapshot::document(kind, object);
        assert!(!document.to_string().contains("s3cret"), "{document}");
        assert_eq!(document["kind"], kind.as_str());
        let cluster = Cluster::from_documents([document]).expect("it is readable");
        assert_eq!(cluster.workloads("default").count(), 1, "{kind}");
    }
    let node = json!({"metadata": {"name": "n"}, "status": {"images": [{"names": ["x"]}], "allocatable": {"cpu": "1"},
        "nodeInfo": {"kubeletVersion": "v1.37.2", "machineID": "m"}}});
    let document = snapshot::document(Kind::Node, node);
    assert_eq!(
        document["status"],
        json!({"allocatable": {"cpu": "1"}, "nodeInfo": {"kubeletVersion": "v1.37.2"}}),
    );
}

#[test]
fn every_variable_that_a_rule_looks_for_keeps_its_value() {
    for variable in VISIBLE_DEVICES {
        assert!(READ_VARIABLES.contains(&variable), "{variable}");
    }
}

#[tokio::test]
async fn a_snapshot_of_a_live_cluster_reads_back_to_the_same_picture() {
    let server = Server::default();
    let node = json!({"metadata": {"name": "n", "labels": {"nvidia.com/gpu.product": "NVIDIA-L4"}},
        "status": {"allocatable": {"nvidia.com/gpu": "4"}}});
    server.hold(Kind::Node, [node.clone()]);
    server.hold(Kind::Pod, [pod()]);
    server.page(Kind::Pod, 1);
    server.refuse(Kind::GpuNode, Some(404));
    let documents = snapshot::take(&server.client(), "1970-01-01T00:00:09Z").await.expect("it can be taken");
    assert_eq!(documents[0]["kind"], "Snapshot");
    let cluster = Cluster::from_documents(documents).expect("it is readable");

    let mut live = Cluster::none();
    live.apply_as(Kind::Node, &node).expect("it is readable");
    live.apply_as(Kind::Pod, &pod()).expect("it is readable");
    live.set_as_of(Some(9));
    for kind in Kind::ALL {
        live.set_synced(kind, kind != Kind::GpuNode);
    }
    assert_eq!(cluster, live);
}

#[tokio::test]
async fn a_kind_that_may_not_be_listed_fails_the_snapshot_by_name() {
    let server = Server::default();
    server.refuse(Kind::Pod, Some(403));
    let error = snapshot::take(&server.client(), "").await.expect_err("it is forbidden").to_string();
    assert!(error.starts_with("Pod cannot be listed: "), "{error}");
}
