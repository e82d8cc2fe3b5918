//! How many Pods of the next version start before one of the last may go.

use serde_json::Value;

use crate::{
    k8s::{
        object::{RollingUpdate, Strategy},
        rollout::{self, Rollout as Plan},
    },
    subject::{PodGroup, Rollout, Subject, Template, templates},
};

/// Pods that come first.
pub struct Beside {
    /// How many more than the replicas.
    pub pods: i64,
    /// The field that says so.
    pub path: String,
    /// Why, in the fields' words.
    pub why: String,
    /// The way out.
    pub remedy: &'static str,
}

/// What a new version of the group needs beside the old one; `None` where it cannot be read.
pub fn beside(subject: &Subject, template: &Template, group: &PodGroup, replicas: i64) -> Option<Beside> {
    match group.rollout {
        Rollout::Deployment => {
            of_strategy(&template.workload.spec.strategy, replicas, "spec.strategy", DEPLOYMENT)
        }
        Rollout::LeaderWorkerSet => of_groups(&subject.raw, group),
        Rollout::Argo => of_argo(&subject.raw, replicas),
        Rollout::Beside => of_platform(subject, group, replicas),
        Rollout::StatefulSet | Rollout::DaemonSet | Rollout::Once => None,
    }
}

const DEPLOYMENT: &str = "set maxSurge: 0 and maxUnavailable: 1, or strategy: Recreate";
const IN_PLACE: &str = "set maxSurge: 0 and maxUnavailable: 1";

fn of_strategy(strategy: &Strategy, replicas: i64, path: &str, remedy: &'static str) -> Option<Beside> {
    let plan = rollout::deployment(strategy, replicas).ok()?;
    let Plan::Rolling(bounds) = plan else { return None };
    Some(Beside {
        pods: plan.spare_places_needed(replicas),
        path: path.to_owned(),
        why: format!("maxSurge {}, maxUnavailable {}", bounds.surge, bounds.unavailable),
        remedy,
    })
}

/// By whole groups; one may be unavailable and none is added where nothing is said.
fn of_groups(object: &Value, group: &PodGroup) -> Option<Beside> {
    let replicas = templates::at(object, "spec.replicas").and_then(Value::as_i64).unwrap_or(1);
    let path = "spec.rolloutStrategy.rollingUpdateConfiguration";
    let written = templates::at(object, path).cloned().unwrap_or(Value::Null);
    let mut bounds: RollingUpdate = serde_json::from_value(written).unwrap_or_default();
    bounds.max_surge.get_or_insert(crate::k8s::object::IntOrText::Int(0));
    bounds.max_unavailable.get_or_insert(crate::k8s::object::IntOrText::Int(1));
    let strategy = Strategy { kind: String::new(), rolling_update: Some(bounds) };
    let one = of_strategy(&strategy, replicas, path, IN_PLACE)?;
    Some(Beside { pods: one.pods.saturating_mul(group.together.unwrap_or(1)), ..one })
}

/// A canary has a Deployment's bounds; blue and green stand side by side, whole.
fn of_argo(object: &Value, replicas: i64) -> Option<Beside> {
    if templates::at(object, "spec.strategy.blueGreen").is_some() {
        return Some(Beside {
            pods: replicas,
            path: "spec.strategy.blueGreen".to_owned(),
            why: "blueGreen, which starts the new version whole".to_owned(),
            remedy: "use canary with maxSurge: 0 and maxUnavailable: 1",
        });
    }
    let canary = templates::at(object, "spec.strategy.canary").cloned().unwrap_or(Value::Null);
    let bounds: RollingUpdate = serde_json::from_value(canary).unwrap_or_default();
    let strategy = Strategy { kind: String::new(), rolling_update: Some(bounds) };
    of_strategy(&strategy, replicas, "spec.strategy.canary", IN_PLACE)
}

fn of_platform(subject: &Subject, group: &PodGroup, replicas: i64) -> Option<Beside> {
    let object = &*subject.raw;
    match subject.kind.as_str() {
        "RayService" => of_ray_service(object, replicas),
        "InferenceService" => of_inference_service(object, group, replicas),
        "LLMInferenceService" => {
            let path = format!("{}.rolloutStrategy", group.path.trim_end_matches(".template"));
            let written = templates::at(object, &path).cloned().unwrap_or(Value::Null);
            let bounds = serde_json::from_value(written).unwrap_or_default();
            let strategy = Strategy { kind: String::new(), rolling_update: Some(bounds) };
            of_strategy(&strategy, replicas, &path, IN_PLACE)
        }
        _ => Some(revision(group)),
    }
}

/// A new RayCluster for each version, unless upgrades are off.
fn of_ray_service(object: &Value, replicas: i64) -> Option<Beside> {
    let kind = templates::at(object, "spec.upgradeStrategy.type").and_then(Value::as_str);
    (kind != Some("None")).then(|| Beside {
        pods: replicas,
        path: "spec.upgradeStrategy".to_owned(),
        why: "NewCluster, which starts a whole cluster before the old one goes".to_owned(),
        remedy: "keep as many GPUs spare, or set upgradeStrategy.type: None and upgrade by hand",
    })
}

/// Knative unless an annotation says that plain Deployments are made.
fn of_inference_service(object: &Value, group: &PodGroup, replicas: i64) -> Option<Beside> {
    let mode =
        object.pointer("/metadata/annotations/serving.kserve.io~1deploymentMode").and_then(Value::as_str);
    if !matches!(mode, Some("RawDeployment" | "Standard")) {
        return Some(revision(group));
    }
    let path = format!("{}.deploymentStrategy", group.path);
    let written = templates::at(object, &path).cloned().unwrap_or(Value::Null);
    let strategy: Strategy = serde_json::from_value(written).unwrap_or_default();
    of_strategy(&strategy, replicas, &path, DEPLOYMENT)
}

/// Knative starts a Pod of the new revision and waits until it is ready.
fn revision(group: &PodGroup) -> Beside {
    Beside {
        pods: 1,
        path: group.path.clone(),
        why: "a new revision, ready before the old one goes".to_owned(),
        remedy: "keep one GPU spare, or remove the old revision first",
    }
}
