//! A Pod out of what a kind holds: whatever the layout, rules see an object with `metadata` and `spec`, and each
//! of their paths is led back to where it stands.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Failure, Layout, path::Found};
use crate::{
    k8s::object::{Meta, Pod, PodSpec},
    subject::{PodGroup, Rollout},
};

/// A Pod as JSON, and where its parts stand in the object.
pub(super) struct Laid {
    pub pod: Value,
    /// Beginnings of the Pod's own paths with what they are in the object; the first that fits counts.
    pub places: Vec<(String, String)>,
}

/// Lays out what stands at a template's path; `None` where no Pod is there.
pub(super) fn lay(layout: Layout<'_>, object: &Value, found: &Found<'_>) -> Option<Laid> {
    match layout {
        Layout::Template => found.value.get("spec").map(|_| template(found)),
        Layout::Spec => found.value.get("containers").map(|_| spec(found)),
        Layout::Component => component(found),
        Layout::Step { defaults } => step(object, found, defaults),
        Layout::Trainer => Some(trainer(found)),
    }
}

/// The typed Pod of a template.
pub(super) fn pod_of(template: &Value) -> Result<Pod, Failure> {
    #[derive(Default, Deserialize)]
    #[serde(default)]
    struct PodTemplate {
        metadata: Option<Meta>,
        spec: Option<PodSpec>,
    }
    let read: PodTemplate = serde_path_to_error::deserialize(template)
        .map_err(|error| (error.path().to_string(), error.inner().to_string()))?;
    Ok(Pod {
        metadata: read.metadata.unwrap_or_default(),
        spec: read.spec.unwrap_or_default(),
        ..Pod::default()
    })
}

/// Kueue lets a workload start as a whole, or not at all.
pub(super) fn is_queued(object: &Value) -> bool {
    object.pointer("/metadata/labels/kueue.x-k8s.io~1queue-name").is_some()
}

/// Work that is queued starts with all of its Pods; servers are queued Pod by Pod.
pub(super) fn start_together(groups: &mut [PodGroup]) {
    for group in groups.iter_mut().filter(|group| group.rollout == Rollout::Once) {
        group.together = group.together.or(group.count);
    }
}

fn template(found: &Found<'_>) -> Laid {
    Laid { pod: found.value.clone(), places: Vec::new() }
}

fn spec(found: &Found<'_>) -> Laid {
    let inside = format!("{}.", found.place);
    let beside = found.place.rsplit_once('.').map_or_else(String::new, |(parent, _)| format!("{parent}."));
    Laid {
        pod: json!({"metadata": metadata(found.parent), "spec": found.value}),
        places: vec![("spec.".to_owned(), inside), ("metadata.".to_owned(), beside)],
    }
}

/// Servers that KServe knows by name; `model` names the format instead.
const SERVERS: [&str; 11] = [
    "model",
    "huggingface",
    "triton",
    "pytorch",
    "tensorflow",
    "onnx",
    "sklearn",
    "xgboost",
    "lightgbm",
    "paddle",
    "pmml",
];

fn component(found: &Found<'_>) -> Option<Laid> {
    let fields = found.value.as_object()?;
    let mut spec = fields.clone();
    let mut containers = list(fields.get("containers"));
    let mut places = Vec::new();
    for server in SERVERS {
        if let Some(Value::Object(mut container)) = spec.shift_remove(server) {
            let at = format!("spec.containers[{}]", containers.len());
            places.push((at, format!("{}.{server}", found.place)));
            container.entry("name").or_insert_with(|| json!("kserve-container"));
            containers.push(Value::Object(container));
        }
    }
    if containers.is_empty() {
        return None;
    }
    spec.insert("containers".to_owned(), Value::Array(containers));
    let inside = format!("{}.", found.place);
    places.extend([("spec.".to_owned(), inside.clone()), ("metadata.".to_owned(), inside)]);
    Some(Laid { pod: json!({"metadata": metadata(found.value), "spec": spec}), places })
}

/// Fields that a step takes from its workflow where it has none of its own.
const INHERITED: [&str; 8] = [
    "nodeSelector",
    "tolerations",
    "affinity",
    "priorityClassName",
    "schedulerName",
    "securityContext",
    "activeDeadlineSeconds",
    "serviceAccountName",
];

fn step(object: &Value, found: &Found<'_>, defaults: &str) -> Option<Laid> {
    let step = found.value;
    let (containers, mut places) = containers_of_step(found);
    if containers.is_empty() {
        return None;
    }
    let mut spec = Map::from_iter([("containers".to_owned(), Value::Array(containers))]);
    let general = super::path::at(object, defaults).unwrap_or(&Value::Null);
    for key in INHERITED {
        let own = step.get(key).filter(|value| !value.is_null());
        if let Some(value) = own.or_else(|| general.get(key)) {
            spec.insert(key.to_owned(), value.clone());
            if own.is_none() {
                places.push((format!("spec.{key}"), format!("{defaults}.{key}")));
            }
        }
    }
    let volumes = [list(step.get("volumes")), list(general.get("volumes"))].concat();
    spec.insert("volumes".to_owned(), Value::Array(volumes));
    spec.insert("initContainers".to_owned(), Value::Array(list(step.get("initContainers"))));
    places.push(("spec.".to_owned(), format!("{}.", found.place)));
    let metadata = step.get("metadata").cloned().unwrap_or_else(|| json!({}));
    Some(Laid { pod: json!({"metadata": metadata, "spec": spec}), places })
}

/// What a step runs, each container with its place.
fn containers_of_step(found: &Found<'_>) -> (Vec<Value>, Vec<(String, String)>) {
    let step = found.value;
    let single = ["container", "script"].into_iter();
    let single = single.filter_map(|key| Some((key.to_owned(), step.get(key)?.clone())));
    let several = |path: &str, items: Vec<Value>| {
        let path = path.to_owned();
        items.into_iter().enumerate().map(move |(index, item)| (format!("{path}[{index}]"), item))
    };
    let set = list(step.pointer("/containerSet/containers"));
    let all = single.chain(several("containerSet.containers", set));
    let all = all.chain(several("sidecars", list(step.get("sidecars"))));
    let (mut containers, mut places) = (Vec::new(), Vec::new());
    for (at, mut container) in all {
        let Some(fields) = container.as_object_mut() else { continue };
        fields.entry("name").or_insert_with(|| json!("main"));
        places.push((format!("spec.containers[{}]", containers.len()), format!("{}.{at}", found.place)));
        containers.push(container);
    }
    (containers, places)
}

/// The container's image and program may come from the runtime that the job names.
fn trainer(found: &Found<'_>) -> Laid {
    const FIELDS: [(&str, &str); 5] = [
        ("image", "image"),
        ("command", "command"),
        ("args", "args"),
        ("env", "env"),
        ("resources", "resourcesPerNode"),
    ];
    let mut container = Map::from_iter([("name".to_owned(), json!("node"))]);
    for (field, key) in FIELDS {
        container.extend(found.value.get(key).map(|value| (field.to_owned(), value.clone())));
    }
    let inside = format!("{}.", found.place);
    Laid {
        pod: json!({"metadata": {}, "spec": {"containers": [container]}}),
        places: vec![
            ("spec.containers[0].resources".to_owned(), format!("{inside}resourcesPerNode")),
            ("spec.containers[0].".to_owned(), inside.clone()),
            ("spec.".to_owned(), inside),
        ],
    }
}

fn metadata(holder: &Value) -> Value {
    let of = |key: &str| holder.get(key).filter(|map| map.is_object()).cloned().unwrap_or_else(|| json!({}));
    json!({"labels": of("labels"), "annotations": of("annotations")})
}

fn list(value: Option<&Value>) -> Vec<Value> {
    value.and_then(Value::as_array).cloned().unwrap_or_default()
}
