//! Every row with the smallest object of its kind: where the Pods are, how many, and how many together.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{AddedKind, AddedTemplate, TEMPLATE_KINDS, added_groups, find, groups, search};
use crate::subject::{Body, Facts, Kinds, PodGroup, Reading, Role, Stage, read, read_as};

fn pod() -> Value {
    json!({"metadata": {"labels": {"app": "x"}}, "spec": containers()})
}

fn containers() -> Value {
    json!({"containers": [{"name": "c", "image": "i", "resources": {"limits": {"nvidia.com/gpu": "1"}}}]})
}

fn object(api_version: &str, kind: &str, spec: Value) -> Value {
    json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "w", "namespace": "n"}, "spec": spec})
}

fn read_groups(object: &Value) -> Vec<PodGroup> {
    let text = |key: &str| object[key].as_str().expect("a word");
    let row = find(text("apiVersion"), text("kind")).unwrap_or_else(|| panic!("no row for {object}"));
    groups(row, object).expect("readable")
}

/// Path, Pods, and Pods that start together of every group.
fn seen(object: &Value) -> Vec<(String, Option<i64>, Option<i64>)> {
    read_groups(object).into_iter().map(|group| (group.path, group.count, group.together)).collect()
}

type Group = (&'static str, Option<i64>, Option<i64>);

// Long because it is one table.
#[expect(clippy::too_many_lines, reason = "one table")]
fn table() -> Vec<(Value, Vec<Group>)> {
    let alone = |path, count| vec![(path, Some(count), None)];
    let t = "spec.template";
    let leader = "spec.leaderWorkerTemplate.leaderTemplate";
    let worker = "spec.leaderWorkerTemplate.workerTemplate";
    let lws = |spec: Value| object("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet", spec);
    let ray = |group: Value| json!({"headGroupSpec": {"template": pod()}, "workerGroupSpecs": [group]});
    let workers = |more: Value| {
        let mut group = json!({"groupName": "g", "template": pod()});
        group.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
        group
    };
    let training = |field: &str| json!({field: {"Master": {"template": pod()}, "Worker": {"replicas": 3, "template": pod()}}});
    let trained = |master: &'static str, worker: &'static str| {
        vec![(master, Some(1), Some(1)), (worker, Some(3), Some(3))]
    };
    vec![
        (object("apps/v1", "Deployment", json!({"replicas": 2, "template": pod()})), alone(t, 2)),
        (object("apps/v1", "StatefulSet", json!({"template": pod()})), alone(t, 1)),
        (object("apps/v1", "DaemonSet", json!({"template": pod()})), vec![(t, None, None)]),
        (object("batch/v1", "Job", json!({"parallelism": 4, "template": pod()})), alone(t, 4)),
        (
            object("batch/v1", "CronJob", json!({"jobTemplate": {"spec": {"template": pod()}}})),
            alone("spec.jobTemplate.spec.template", 1),
        ),
        (
            lws(
                json!({"replicas": 2, "leaderWorkerTemplate": {"size": 4, "leaderTemplate": pod(), "workerTemplate": pod()}}),
            ),
            vec![(leader, Some(2), Some(1)), (worker, Some(6), Some(3))],
        ),
        // Without a template of its own the leader is made as a worker.
        (
            lws(json!({"replicas": 2, "leaderWorkerTemplate": {"size": 4, "workerTemplate": pod()}})),
            vec![(worker, Some(8), Some(4))],
        ),
        (lws(json!({"leaderWorkerTemplate": {"workerTemplate": pod()}})), vec![(worker, Some(1), Some(1))]),
        (
            object(
                "jobset.x-k8s.io/v1alpha2",
                "JobSet",
                json!({"replicatedJobs": [
                {"name": "a", "template": {"spec": {"template": pod()}}},
                {"name": "b", "replicas": 2, "template": {"spec": {"parallelism": 3, "template": pod()}}}]}),
            ),
            vec![
                ("spec.replicatedJobs[0].template.spec.template", Some(1), Some(1)),
                ("spec.replicatedJobs[1].template.spec.template", Some(6), Some(6)),
            ],
        ),
        (
            object("ray.io/v1", "RayCluster", ray(workers(json!({"replicas": 2, "numOfHosts": 4})))),
            vec![
                ("spec.headGroupSpec.template", Some(1), None),
                ("spec.workerGroupSpecs[0].template", Some(8), None),
            ],
        ),
        // An autoscaler sets the replicas: at least so many.
        (
            object("ray.io/v1", "RayCluster", ray(workers(json!({"minReplicas": 3, "maxReplicas": 9})))),
            vec![
                ("spec.headGroupSpec.template", Some(1), None),
                ("spec.workerGroupSpecs[0].template", Some(3), None),
            ],
        ),
        (
            object(
                "ray.io/v1",
                "RayJob",
                json!({"rayClusterSpec": ray(workers(json!({"replicas": 1}))),
                "submitterPodTemplate": pod()}),
            ),
            vec![
                ("spec.rayClusterSpec.headGroupSpec.template", Some(1), None),
                ("spec.rayClusterSpec.workerGroupSpecs[0].template", Some(1), None),
                ("spec.submitterPodTemplate", Some(1), None),
            ],
        ),
        (
            object("ray.io/v1", "RayService", json!({"rayClusterConfig": ray(workers(json!({})))})),
            vec![
                ("spec.rayClusterConfig.headGroupSpec.template", Some(1), None),
                ("spec.rayClusterConfig.workerGroupSpecs[0].template", Some(0), None),
            ],
        ),
        (
            object(
                "serving.kserve.io/v1beta1",
                "InferenceService",
                json!({"predictor": {"minReplicas": 2,
                "model": {"modelFormat": {"name": "huggingface"}, "resources": {}},
                "workerSpec": containers()}}),
            ),
            vec![("spec.predictor", Some(2), None), ("spec.predictor.workerSpec", None, None)],
        ),
        (
            object(
                "serving.kserve.io/v1alpha1",
                "LLMInferenceService",
                json!({"replicas": 3, "template": containers(),
                "worker": containers(), "prefill": {"template": containers()}}),
            ),
            vec![
                ("spec.template", Some(3), None),
                ("spec.worker", None, None),
                ("spec.prefill.template", Some(1), None),
            ],
        ),
        (
            object(
                "trainer.kubeflow.org/v1alpha1",
                "TrainJob",
                json!({"trainer": {"numNodes": 4,
                "resourcesPerNode": {"limits": {"nvidia.com/gpu": 8}}}}),
            ),
            vec![("spec.trainer", Some(4), Some(4))],
        ),
        (
            object(
                "trainer.kubeflow.org/v1alpha1",
                "ClusterTrainingRuntime",
                json!({"template": {"spec":
                {"replicatedJobs": [{"name": "node", "template": {"spec": {"template": pod()}}}]}}}),
            ),
            vec![("spec.template.spec.replicatedJobs[0].template.spec.template", None, None)],
        ),
        (
            object("kubeflow.org/v1", "PyTorchJob", training("pytorchReplicaSpecs")),
            trained("spec.pytorchReplicaSpecs.Master.template", "spec.pytorchReplicaSpecs.Worker.template"),
        ),
        (
            object("kubeflow.org/v2beta1", "MPIJob", training("mpiReplicaSpecs")),
            trained("spec.mpiReplicaSpecs.Master.template", "spec.mpiReplicaSpecs.Worker.template"),
        ),
        (
            object("kubeflow.org/v1", "TFJob", training("tfReplicaSpecs")),
            trained("spec.tfReplicaSpecs.Master.template", "spec.tfReplicaSpecs.Worker.template"),
        ),
        (
            object("kubeflow.org/v1", "XGBoostJob", training("xgbReplicaSpecs")),
            trained("spec.xgbReplicaSpecs.Master.template", "spec.xgbReplicaSpecs.Worker.template"),
        ),
        (
            object("kubeflow.org/v1", "PaddleJob", training("paddleReplicaSpecs")),
            trained("spec.paddleReplicaSpecs.Master.template", "spec.paddleReplicaSpecs.Worker.template"),
        ),
        (
            object("kubeflow.org/v1", "JAXJob", training("jaxReplicaSpecs")),
            trained("spec.jaxReplicaSpecs.Master.template", "spec.jaxReplicaSpecs.Worker.template"),
        ),
        (object("argoproj.io/v1alpha1", "Rollout", json!({"replicas": 2, "template": pod()})), alone(t, 2)),
        // Its template stands in the Deployment that it names.
        (
            object(
                "argoproj.io/v1alpha1",
                "Rollout",
                json!({"workloadRef": {"kind": "Deployment", "name": "d"}}),
            ),
            vec![],
        ),
        (
            object(
                "argoproj.io/v1alpha1",
                "Workflow",
                json!({"templates": [
                {"name": "main", "dag": {"tasks": []}}, {"name": "train", "container": {"image": "i"}},
                {"name": "look", "script": {"image": "i", "source": "print()"}}]}),
            ),
            vec![("spec.templates[1]", None, None), ("spec.templates[2]", None, None)],
        ),
        (
            object(
                "argoproj.io/v1alpha1",
                "CronWorkflow",
                json!({"workflowSpec": {"templates": [
                {"name": "t", "containerSet": {"containers": [{"name": "a", "image": "i"}]}}]}}),
            ),
            vec![("spec.workflowSpec.templates[0]", None, None)],
        ),
        (
            object(
                "serving.knative.dev/v1",
                "Service",
                json!({"template": {"metadata": {"annotations":
                {"autoscaling.knative.dev/min-scale": "2"}}, "spec": containers()}}),
            ),
            alone(t, 2),
        ),
        (
            object(
                "batch.volcano.sh/v1alpha1",
                "Job",
                json!({"tasks": [
                {"name": "ps", "template": pod()}, {"name": "worker", "replicas": 4, "minAvailable": 2, "template": pod()}]}),
            ),
            vec![("spec.tasks[0].template", Some(1), Some(1)), ("spec.tasks[1].template", Some(4), Some(2))],
        ),
        // It starts with three of five, and does not say which.
        (
            object(
                "batch.volcano.sh/v1alpha1",
                "Job",
                json!({"minAvailable": 3, "tasks": [
                {"name": "ps", "template": pod()}, {"name": "worker", "replicas": 4, "template": pod()}]}),
            ),
            vec![("spec.tasks[0].template", Some(1), None), ("spec.tasks[1].template", Some(4), None)],
        ),
    ]
}

#[test]
fn every_kind_shows_its_pods_how_many_and_how_many_together() {
    for (object, want) in table() {
        let want: Vec<_> = want.into_iter().map(|(path, count, all)| (path.to_owned(), count, all)).collect();
        assert_eq!(seen(&object), want, "{object}");
    }
    let tried: Vec<(Value, Value)> = table()
        .into_iter()
        .map(|(object, _)| (object["apiVersion"].clone(), object["kind"].clone()))
        .collect();
    for row in TEMPLATE_KINDS {
        let same = ["ReplicaSet", "TrainingRuntime", "WorkflowTemplate"].contains(&row.kind);
        let is = |(api, kind): &(Value, Value)| {
            *kind == row.kind && api.as_str().is_some_and(|api| api.starts_with(row.group))
        };
        assert!(same || tried.iter().any(is), "{} {} is not in the table of this test", row.group, row.kind);
    }
}

#[test]
fn what_kueue_queues_starts_with_all_of_its_pods_and_servers_do_not() {
    let mut job = object("batch/v1", "Job", json!({"parallelism": 4, "template": pod()}));
    assert_eq!(seen(&job)[0].2, None, "each Pod of a Job is of use alone");
    job["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "q"});
    assert_eq!(seen(&job)[0].2, Some(4));
    let mut server = object("apps/v1", "Deployment", json!({"replicas": 4, "template": pod()}));
    server["metadata"]["labels"] = json!({"kueue.x-k8s.io/queue-name": "q"});
    assert_eq!(seen(&server)[0].2, None);
}

#[test]
fn paths_of_a_pod_lead_to_where_its_fields_stand() {
    let kserve = object(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        json!({"predictor": {
        "labels": {"a": "b"}, "nodeSelector": {"x": "y"}, "containers": [{"name": "side", "image": "i"}],
        "model": {"modelFormat": {"name": "vllm"}, "args": ["--x"]}}}),
    );
    let argo = object(
        "argoproj.io/v1alpha1",
        "Workflow",
        json!({"nodeSelector": {"x": "y"}, "templates": [
        {"name": "t", "container": {"image": "i"}, "sidecars": [{"name": "s", "image": "i"}]}]}),
    );
    let llm = object(
        "serving.kserve.io/v1alpha1",
        "LLMInferenceService",
        json!({"labels": {"a": "b"}, "template": containers()}),
    );
    let train = object(
        "trainer.kubeflow.org/v1alpha1",
        "TrainJob",
        json!({"trainer": {"image": "i", "resourcesPerNode": {}}}),
    );
    let deployment = object("apps/v1", "Deployment", json!({"template": pod()}));
    for (object, path, want) in [
        (&kserve, "spec.containers[0].image", "spec.predictor.containers[0].image"),
        (&kserve, "spec.containers[1].args[0]", "spec.predictor.model.args[0]"),
        (&kserve, "spec.nodeSelector[x]", "spec.predictor.nodeSelector[x]"),
        (&kserve, "metadata.labels[a]", "spec.predictor.labels[a]"),
        (&argo, "spec.containers[0].resources", "spec.templates[0].container.resources"),
        (&argo, "spec.containers[1].image", "spec.templates[0].sidecars[0].image"),
        (&argo, "spec.nodeSelector[x]", "spec.nodeSelector[x]"),
        (&argo, "spec.tolerations", "spec.templates[0].tolerations"),
        (&llm, "spec.containers[0].resources", "spec.template.containers[0].resources"),
        (&llm, "metadata.labels[a]", "spec.labels[a]"),
        (&train, "spec.containers[0].resources.limits", "spec.trainer.resourcesPerNode.limits"),
        (&train, "spec.containers[0].image", "spec.trainer.image"),
        (&deployment, "spec.containers[0].image", "spec.template.spec.containers[0].image"),
    ] {
        assert_eq!(read_groups(object)[0].place(path), want);
    }
}

#[test]
fn a_pod_has_what_its_controller_gives_it() {
    let one = |object: Value| read_groups(&object).remove(0);
    let lws = one(object(
        "leaderworkerset.x-k8s.io/v1",
        "LeaderWorkerSet",
        json!({"leaderWorkerTemplate": {"size": 2, "leaderTemplate": pod(), "workerTemplate": pod()}}),
    ));
    assert_eq!(lws.pod.metadata.labels["leaderworkerset.sigs.k8s.io/name"], "w");
    assert_eq!(lws.pod.metadata.labels["app"], "x");
    assert_eq!(lws.pod.spec.containers[0].env("LWS_GROUP_SIZE").and_then(|e| e.value.as_deref()), Some("2"));
    assert_eq!(lws.role, Role::Leader);
    let service = one(object(
        "ray.io/v1",
        "RayService",
        json!({"rayClusterConfig": {"headGroupSpec": {"template": pod()}}}),
    ));
    assert_eq!(service.pod.metadata.labels["ray.io/originated-from-crd"], "RayService");
    let volcano = one(object("batch.volcano.sh/v1alpha1", "Job", json!({"tasks": [{"template": pod()}]})));
    assert_eq!(volcano.pod.spec.scheduler_name, "volcano");
    let step = one(object(
        "argoproj.io/v1alpha1",
        "Workflow",
        json!({"tolerations": [{"operator": "Exists"}],
        "templates": [{"container": {"image": "i"}}]}),
    ));
    assert_eq!(step.pod.spec.tolerations.len(), 1, "of the workflow");
    let server = one(object(
        "serving.kserve.io/v1beta1",
        "InferenceService",
        json!({"predictor": {"model": {"args": ["--model_name=x"], "resources": {"limits": {"nvidia.com/gpu": "1"}}}}}),
    ));
    assert_eq!(server.pod.spec.containers[0].name, "kserve-container");
    assert_eq!(server.pod.spec.containers[0].args, ["--model_name=x"]);
}

#[test]
fn a_kind_is_known_by_group_and_name_whatever_its_version() {
    assert!(find("ray.io/v1alpha1", "RayCluster").is_some());
    assert!(find("v1", "Service").is_none(), "not Knative's");
    assert!(find("example.com/v1", "Deployment").is_none());
}

#[test]
fn documents_of_unknown_kinds_are_searched() {
    let find = |object: &Value| -> Vec<String> {
        search(object).expect("readable").into_iter().map(|group| group.path).collect()
    };
    let nested = object(
        "example.com/v1",
        "Fleet",
        json!({"a": [{"template": pod()}, {"b": {"podSpec": containers()}}]}),
    );
    assert_eq!(find(&nested), ["spec.a[0].template", "spec.a[1].b.podSpec"]);
    let runtime = object("serving.kserve.io/v1alpha1", "ServingRuntime", containers());
    assert_eq!(find(&runtime), ["spec"], "the object's own metadata are no Pod's");
    for none in [
        object("v1", "ConfigMap", json!({"containers": "text"})),
        object("example.com/v1", "X", json!({"containers": []})),
        object("example.com/v1", "Ports", json!({"containers": [{"name": "a", "port": 1}]})),
        json!({"apiVersion": "example.com/v1", "kind": "X", "status": pod()}),
        object("kyverno.io/v1", "ClusterPolicy", json!({"rules": [{"validate": {"pattern": pod()}}]})),
    ] {
        assert_eq!(find(&none), [""; 0], "{none}");
    }
}

#[test]
fn a_policy_adds_kinds_with_paths_or_without() {
    let fleet =
        object("example.com/v1", "Fleet", json!({"groups": [{"size": 3, "pods": pod()}, {"pods": pod()}]}));
    let row = |templates| AddedKind { group: "example.com".into(), kind: "Fleet".into(), templates };
    let path = AddedTemplate { path: "spec.groups[].pods".into(), count: Some("spec.groups[].size".into()) };
    let seen = |row: &AddedKind| -> Vec<(String, Option<i64>)> {
        added_groups(row, &fleet)
            .expect("readable")
            .into_iter()
            .map(|group| (group.path, group.count))
            .collect()
    };
    let at = |index: usize, count| (format!("spec.groups[{index}].pods"), count);
    assert_eq!(seen(&row(vec![path])), [at(0, Some(3)), at(1, Some(1))]);
    assert_eq!(seen(&row(vec![])), [at(0, None), at(1, None)]);
    let wrong = AddedTemplate { path: "spec.template".into(), count: None };
    assert!(seen(&row(vec![wrong])).is_empty());
}

#[test]
fn only_what_is_asked_for_is_searched() {
    let object = Arc::new(object("example.com/v1", "Fleet", json!({"template": pod()})));
    let facts = || Facts::new(Stage::Validate);
    assert!(matches!(read(object.clone(), None, facts()), Reading::NotOurs));
    let added = [AddedKind { group: "example.com".into(), kind: "Fleet".into(), templates: vec![] }];
    for kinds in [Kinds { added: &added, search: false }, Kinds { added: &[], search: true }] {
        let Reading::Subject(subject) = read_as(object.clone(), None, facts(), kinds) else {
            panic!("not read")
        };
        assert!(matches!(&subject.body, Body::Template(template) if template.groups.len() == 1));
    }
}
