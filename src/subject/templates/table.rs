//! The table. A row's paths are those of the kind's API types; where a number is set by another object or by an
//! autoscaler, it is unknown.
//!
//! Long because it is one table.

use super::{
    Count, GroupPath, Layout, Number, TemplateKind,
    completes::{
        inference_service, job_set, knative, leader_worker_set, llm_inference_service, ray, training_job,
        volcano,
    },
};
use crate::subject::{Role, Rollout};

/// Every kind, in the order of `docs/kinds.md`.
pub const TEMPLATE_KINDS: &[TemplateKind] = &[
    core("apps", "Deployment", "deployments", &[pods(REPLICAS, Rollout::Deployment)]),
    core("apps", "StatefulSet", "statefulsets", &[pods(REPLICAS, Rollout::StatefulSet)]),
    core("apps", "DaemonSet", "daemonsets", &[pods(Count::EveryNode, Rollout::DaemonSet)]),
    core("apps", "ReplicaSet", "replicasets", &[pods(REPLICAS, Rollout::Once)]),
    core(
        "batch",
        "Job",
        "jobs",
        &[GroupPath {
            deadline: &["spec.activeDeadlineSeconds"],
            ..pods(Count::At(Number::at("spec.parallelism")), Rollout::Once)
        }],
    ),
    core(
        "batch",
        "CronJob",
        "cronjobs",
        &[GroupPath {
            template: "spec.jobTemplate.spec.template",
            deadline: &["spec.jobTemplate.spec.activeDeadlineSeconds"],
            ..pods(Count::At(Number::at("spec.jobTemplate.spec.parallelism")), Rollout::Once)
        }],
    ),
    // leaderworkerset.x-k8s.io: `size` counts the leader; without a template of its own it is made as a worker.
    TemplateKind {
        completes: Some(leader_worker_set),
        ..row(
            "leaderworkerset.x-k8s.io",
            &["v1"],
            "LeaderWorkerSet",
            "leaderworkersets",
            &[
                GroupPath {
                    together: Count::At(Number::one()),
                    rollout: Rollout::LeaderWorkerSet,
                    role: Role::Leader,
                    ..GroupPath::of("spec.leaderWorkerTemplate.leaderTemplate")
                }
                .counted(REPLICAS),
                GroupPath {
                    together: Count::At(GROUP_SIZE),
                    rollout: Rollout::LeaderWorkerSet,
                    role: Role::Worker,
                    ..GroupPath::of("spec.leaderWorkerTemplate.workerTemplate")
                }
                .counted(Count::Product(Number::at("spec.replicas"), GROUP_SIZE)),
            ],
        )
    },
    TemplateKind {
        completes: Some(job_set),
        ..row(
            "jobset.x-k8s.io",
            &["v1alpha2"],
            "JobSet",
            "jobsets",
            &[GroupPath {
                deadline: &["spec.replicatedJobs[].template.spec.activeDeadlineSeconds"],
                ..together("spec.replicatedJobs[].template.spec.template")
            }
            .counted(Count::Product(
                Number::at("spec.replicatedJobs[].replicas"),
                Number::at("spec.replicatedJobs[].template.spec.parallelism"),
            ))],
        )
    },
    // ray.io: workers per group are `replicas` within its bounds, times the hosts of one replica.
    TemplateKind {
        completes: Some(ray),
        ..row(
            "ray.io",
            &["v1", "v1alpha1"],
            "RayCluster",
            "rayclusters",
            &[
                ray_head("spec.headGroupSpec.template"),
                ray_workers(
                    "spec.workerGroupSpecs[].template",
                    Number {
                        otherwise: 0,
                        at_least: "spec.workerGroupSpecs[].minReplicas",
                        ..Number::at("spec.workerGroupSpecs[].replicas")
                    },
                    Number::at("spec.workerGroupSpecs[].numOfHosts"),
                ),
            ],
        )
    },
    TemplateKind {
        completes: Some(ray),
        ..row(
            "ray.io",
            &["v1", "v1alpha1"],
            "RayJob",
            "rayjobs",
            &[
                GroupPath {
                    deadline: RAY_JOB_DEADLINE,
                    ..ray_head("spec.rayClusterSpec.headGroupSpec.template")
                },
                GroupPath {
                    deadline: RAY_JOB_DEADLINE,
                    ..ray_workers(
                        "spec.rayClusterSpec.workerGroupSpecs[].template",
                        Number {
                            otherwise: 0,
                            at_least: "spec.rayClusterSpec.workerGroupSpecs[].minReplicas",
                            ..Number::at("spec.rayClusterSpec.workerGroupSpecs[].replicas")
                        },
                        Number::at("spec.rayClusterSpec.workerGroupSpecs[].numOfHosts"),
                    )
                },
                GroupPath { deadline: RAY_JOB_DEADLINE, ..GroupPath::of("spec.submitterPodTemplate") }
                    .counted(Count::At(Number::one())),
            ],
        )
    },
    // A new version gets a whole cluster of its own before the old one goes.
    TemplateKind {
        completes: Some(ray),
        ..row(
            "ray.io",
            &["v1", "v1alpha1"],
            "RayService",
            "rayservices",
            &[
                GroupPath {
                    rollout: Rollout::Beside,
                    ..ray_head("spec.rayClusterConfig.headGroupSpec.template")
                },
                GroupPath {
                    rollout: Rollout::Beside,
                    ..ray_workers(
                        "spec.rayClusterConfig.workerGroupSpecs[].template",
                        Number {
                            otherwise: 0,
                            at_least: "spec.rayClusterConfig.workerGroupSpecs[].minReplicas",
                            ..Number::at("spec.rayClusterConfig.workerGroupSpecs[].replicas")
                        },
                        Number::at("spec.rayClusterConfig.workerGroupSpecs[].numOfHosts"),
                    )
                },
            ],
        )
    },
    // serving.kserve.io: `model` and its kin hold a container's fields; the image comes from the runtime.
    TemplateKind {
        completes: Some(inference_service),
        ..row(
            "serving.kserve.io",
            &["v1beta1"],
            "InferenceService",
            "inferenceservices",
            &[
                component("spec.predictor", Count::At(Number::at("spec.predictor.minReplicas"))),
                GroupPath {
                    layout: Layout::Spec,
                    role: Role::Worker,
                    ..GroupPath::of("spec.predictor.workerSpec")
                },
                component("spec.transformer", Count::At(Number::at("spec.transformer.minReplicas"))),
                component("spec.explainer", Count::At(Number::at("spec.explainer.minReplicas"))),
            ],
        )
    },
    TemplateKind {
        completes: Some(llm_inference_service),
        ..row(
            "serving.kserve.io",
            &["v1alpha2", "v1alpha1"],
            "LLMInferenceService",
            "llminferenceservices",
            &[
                GroupPath {
                    layout: Layout::Spec,
                    rollout: Rollout::Beside,
                    ..GroupPath::of("spec.template")
                }
                .counted(Count::At(Number::at("spec.replicas"))),
                GroupPath { layout: Layout::Spec, role: Role::Worker, ..GroupPath::of("spec.worker") },
                GroupPath {
                    layout: Layout::Spec,
                    rollout: Rollout::Beside,
                    ..GroupPath::of("spec.prefill.template")
                }
                .counted(Count::At(Number::at("spec.prefill.replicas"))),
                GroupPath {
                    layout: Layout::Spec,
                    role: Role::Worker,
                    ..GroupPath::of("spec.prefill.worker")
                },
            ],
        )
    },
    // trainer.kubeflow.org: what the job says of its nodes goes over the runtime's template.
    TemplateKind {
        takes_placement: false,
        ..row(
            "trainer.kubeflow.org",
            &["v1alpha1"],
            "TrainJob",
            "trainjobs",
            &[GroupPath {
                layout: Layout::Trainer,
                count: Count::At(Number::at("spec.trainer.numNodes")),
                deadline: &["spec.activeDeadlineSeconds"],
                ..together("spec.trainer")
            }],
        )
    },
    TemplateKind {
        owner: "TrainJob",
        ..row("trainer.kubeflow.org", &["v1alpha1"], "TrainingRuntime", "trainingruntimes", RUNTIME)
    },
    TemplateKind {
        owner: "TrainJob",
        namespaced: false,
        ..row(
            "trainer.kubeflow.org",
            &["v1alpha1"],
            "ClusterTrainingRuntime",
            "clustertrainingruntimes",
            RUNTIME,
        )
    },
    training(
        "PyTorchJob",
        "pytorchjobs",
        &["v1"],
        &[replicas("spec.pytorchReplicaSpecs[].template", "spec.pytorchReplicaSpecs[].replicas")],
    ),
    training(
        "MPIJob",
        "mpijobs",
        &["v2beta1", "v1"],
        &[replicas("spec.mpiReplicaSpecs[].template", "spec.mpiReplicaSpecs[].replicas")],
    ),
    training(
        "TFJob",
        "tfjobs",
        &["v1"],
        &[replicas("spec.tfReplicaSpecs[].template", "spec.tfReplicaSpecs[].replicas")],
    ),
    training(
        "XGBoostJob",
        "xgboostjobs",
        &["v1"],
        &[replicas("spec.xgbReplicaSpecs[].template", "spec.xgbReplicaSpecs[].replicas")],
    ),
    training(
        "PaddleJob",
        "paddlejobs",
        &["v1"],
        &[replicas("spec.paddleReplicaSpecs[].template", "spec.paddleReplicaSpecs[].replicas")],
    ),
    training(
        "JAXJob",
        "jaxjobs",
        &["v1"],
        &[replicas("spec.jaxReplicaSpecs[].template", "spec.jaxReplicaSpecs[].replicas")],
    ),
    row("argoproj.io", &["v1alpha1"], "Rollout", "rollouts", &[pods(REPLICAS, Rollout::Argo)]),
    steps(
        "Workflow",
        "workflows",
        &[GroupPath { layout: Layout::Step { defaults: "spec" }, ..GroupPath::of("spec.templates[]") }],
    ),
    steps(
        "CronWorkflow",
        "cronworkflows",
        &[GroupPath {
            layout: Layout::Step { defaults: "spec.workflowSpec" },
            ..GroupPath::of("spec.workflowSpec.templates[]")
        }],
    ),
    steps(
        "WorkflowTemplate",
        "workflowtemplates",
        &[GroupPath { layout: Layout::Step { defaults: "spec" }, ..GroupPath::of("spec.templates[]") }],
    ),
    // serving.knative.dev: no selector, toleration or affinity without a feature flag of the installation.
    TemplateKind {
        completes: Some(knative),
        takes_placement: false,
        ..row(
            "serving.knative.dev",
            &["v1"],
            "Service",
            "services",
            &[GroupPath { rollout: Rollout::Beside, ..GroupPath::of("spec.template") }.counted(Count::At(
                Number::at("spec.template.metadata.annotations[\"autoscaling.knative.dev/min-scale\"]"),
            ))],
        )
    },
    TemplateKind {
        completes: Some(volcano),
        ..row(
            "batch.volcano.sh",
            &["v1alpha1"],
            "Job",
            "jobs",
            &[GroupPath {
                together: Count::At(Number {
                    or: "spec.tasks[].replicas",
                    ..Number::at("spec.tasks[].minAvailable")
                }),
                ..GroupPath::of("spec.tasks[].template")
            }
            .counted(Count::At(Number::at("spec.tasks[].replicas")))],
        )
    },
];

const REPLICAS: Count<'_> = Count::At(Number::at("spec.replicas"));
const RAY_JOB_DEADLINE: &[&str] = &["spec.activeDeadlineSeconds"];

/// Pods of one group that have the worker's template.
const GROUP_SIZE: Number<'_> = Number {
    less_one_for: "spec.leaderWorkerTemplate.leaderTemplate",
    ..Number::at("spec.leaderWorkerTemplate.size")
};

/// Counts in a runtime are defaults of the jobs that use it.
const RUNTIME: &[GroupPath<'_>] =
    &[GroupPath::of("spec.template.spec.replicatedJobs[].template.spec.template")];

const fn row(
    group: &'static str,
    versions: &'static [&'static str],
    kind: &'static str,
    plural: &'static str,
    groups: &'static [GroupPath<'static>],
) -> TemplateKind {
    TemplateKind {
        group,
        versions,
        kind,
        plural,
        namespaced: true,
        owner: kind,
        groups,
        completes: None,
        takes_placement: true,
    }
}

const fn core(
    group: &'static str,
    kind: &'static str,
    plural: &'static str,
    groups: &'static [GroupPath<'static>],
) -> TemplateKind {
    row(group, &["v1"], kind, plural, groups)
}

/// The older training operators: one map of replica specs each.
const fn training(
    kind: &'static str,
    plural: &'static str,
    versions: &'static [&'static str],
    groups: &'static [GroupPath<'static>],
) -> TemplateKind {
    TemplateKind { completes: Some(training_job), ..row("kubeflow.org", versions, kind, plural, groups) }
}

/// Argo Workflows: Pods belong to a Workflow, whatever it was made from.
const fn steps(
    kind: &'static str,
    plural: &'static str,
    groups: &'static [GroupPath<'static>],
) -> TemplateKind {
    TemplateKind { owner: "Workflow", ..row("argoproj.io", &["v1alpha1"], kind, plural, groups) }
}

const fn pods(count: Count<'static>, rollout: Rollout) -> GroupPath<'static> {
    GroupPath { count, rollout, ..GroupPath::of("spec.template") }
}

const fn together(template: &'static str) -> GroupPath<'static> {
    GroupPath { together: Count::Same, ..GroupPath::of(template) }
}

const fn replicas(template: &'static str, count: &'static str) -> GroupPath<'static> {
    GroupPath {
        count: Count::At(Number::at(count)),
        deadline: &["spec.runPolicy.activeDeadlineSeconds"],
        ..together(template)
    }
}

const fn ray_head(template: &'static str) -> GroupPath<'static> {
    GroupPath { count: Count::At(Number::one()), role: Role::Leader, ..GroupPath::of(template) }
}

const fn ray_workers(
    template: &'static str,
    replicas: Number<'static>,
    hosts: Number<'static>,
) -> GroupPath<'static> {
    GroupPath { count: Count::Product(replicas, hosts), role: Role::Worker, ..GroupPath::of(template) }
}

const fn component(path: &'static str, count: Count<'static>) -> GroupPath<'static> {
    GroupPath { layout: Layout::Component, count, rollout: Rollout::Beside, ..GroupPath::of(path) }
}
