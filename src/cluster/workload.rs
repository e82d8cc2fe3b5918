//! Workloads whose Pods ask for GPUs, as the picture holds them.

use serde_json::Value;

use crate::{
    cluster::{
        CLASS_LABEL, Kind,
        read::{self, ReadError},
    },
    gpu::is_gpu_like,
    k8s::object::{self, Labels, PodSpec},
};

/// A workload that makes GPU Pods: only counts, rollout and what selects its Pods.
#[derive(Clone, Debug, PartialEq)]
pub struct Workload {
    /// Kind, metadata (without annotations), counts and rollout.
    pub object: object::Workload,
    /// Labels of the Pods that it makes.
    pub pod_labels: Labels,
}

impl Workload {
    /// Reads a workload; `None` for one whose Pods ask for no GPU, claim nothing and name no class.
    pub(super) fn read(kind: Kind, object: &Value) -> Result<Option<Self>, ReadError> {
        let template = match kind {
            Kind::CronJob => &object["spec"]["jobTemplate"]["spec"]["template"],
            _ => &object["spec"]["template"],
        };
        if !concerns_gpus(kind, object, template)? {
            return Ok(None);
        }
        let mut workload: object::Workload = read::read(kind, object)?;
        workload.kind = kind.as_str().to_owned();
        workload.api_version = kind.row().api_version();
        read::prune(&mut workload.metadata, &[]);
        let meta: object::Meta = read_at(kind, object, &template["metadata"], "spec.template.metadata")?;
        Ok(Some(Self { object: workload, pod_labels: meta.labels }))
    }
}

fn concerns_gpus(kind: Kind, object: &Value, template: &Value) -> Result<bool, ReadError> {
    if !template["metadata"]["labels"][CLASS_LABEL].is_null() {
        return Ok(true);
    }
    let spec: PodSpec = read_at(kind, object, &template["spec"], "spec.template.spec")?;
    let asks = |container: &object::Container| {
        let resources = &container.resources;
        resources.requests.keys().chain(resources.limits.keys()).any(|name| is_gpu_like(name))
    };
    Ok(!spec.resource_claims.is_empty() || spec.containers.iter().chain(&spec.init_containers).any(asks))
}

fn read_at<T: serde::de::DeserializeOwned + Default>(
    kind: Kind,
    object: &Value,
    part: &Value,
    path: &str,
) -> Result<T, ReadError> {
    if part.is_null() {
        return Ok(T::default());
    }
    read::read_part(kind, object, part, path)
}
