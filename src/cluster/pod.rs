//! From a Pod to what the picture keeps of it: a footprint for every bound Pod, a tenant for GPU Pods.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    cluster::{
        CLASS_LABEL, Footprint, HostPort, Key, Kind, Owner, POD_ANNOTATIONS, Phase, STAMPED_CLASS, Tenant,
        read::{self, ReadError, kept},
        sharing::compact,
        time::unix_seconds,
    },
    gpu::is_gpu_like,
    k8s::{
        object::Pod,
        resources::{Amounts, PodResources},
    },
};

/// What the picture keeps of a Pod.
#[derive(Debug)]
pub(super) struct PodFacts {
    pub(super) footprint: Option<Footprint>,
    pub(super) tenant: Option<Tenant>,
}

impl PodFacts {
    /// Reads a Pod. A finished Pod takes and holds nothing.
    pub(super) fn read(key: &Key, object: &Value) -> Result<Self, ReadError> {
        let pod: Pod = read::read(Kind::Pod, object)?;
        if matches!(pod.status.phase.as_str(), "Succeeded" | "Failed") {
            return Ok(Self { footprint: None, tenant: None });
        }
        let requests =
            requests(&pod).map_err(|(path, problem)| read::fault("Pod", object, &path, problem))?;
        Ok(Self { footprint: footprint(&pod, &requests), tenant: tenant(key, &pod, &requests) })
    }
}

fn footprint(pod: &Pod, requests: &Amounts) -> Option<Footprint> {
    if pod.spec.node_name.is_empty() {
        return None;
    }
    Some(Footprint {
        uid: pod.metadata.uid.as_str().into(),
        node: pod.spec.node_name.as_str().into(),
        requests: requests.iter().map(|(name, amount)| (name.as_str().into(), *amount)).collect(),
        host_ports: host_ports(pod),
    })
}

fn tenant(key: &Key, pod: &Pod, requests: &Amounts) -> Option<Tenant> {
    let gpus: Amounts = requests
        .iter()
        .filter(|(name, amount)| is_gpu_like(name) && amount.is_positive())
        .map(|(name, amount)| (name.clone(), *amount))
        .collect();
    let class = pod.metadata.labels.get(CLASS_LABEL).or_else(|| pod.metadata.annotations.get(STAMPED_CLASS));
    if gpus.is_empty() && pod.spec.resource_claims.is_empty() && class.is_none() {
        return None;
    }
    let uid = &pod.metadata.uid;
    Some(Tenant {
        namespace: Arc::clone(&key.namespace),
        name: Arc::clone(&key.name),
        uid: if uid.is_empty() {
            format!("{}/{}", key.namespace, key.name).into()
        } else {
            uid.as_str().into()
        },
        labels: compact(pod.metadata.labels.clone()).into(),
        annotations: kept(&pod.metadata.annotations, POD_ANNOTATIONS).into(),
        class: class.map(|class| class.as_str().into()),
        gpus: gpus.into(),
        claims: claims(pod),
        priority: pod.spec.priority.unwrap_or_default(),
        priority_class: pod.spec.priority_class_name.as_str().into(),
        phase: Phase::read(&pod.status.phase),
        ready: pod.status.conditions.iter().any(|c| c.kind == "Ready" && c.status == "True"),
        created: pod.metadata.creation_timestamp.as_deref().and_then(unix_seconds),
        started: pod.status.start_time.as_deref().and_then(unix_seconds),
        node: (!pod.spec.node_name.is_empty()).then(|| pod.spec.node_name.as_str().into()),
        owner: owner(pod),
        deleting: pod.metadata.deletion_timestamp.is_some(),
        service_account: pod.spec.service_account_name.as_str().into(),
        scheduler: pod.spec.scheduler_name.as_str().into(),
    })
}

fn owner(pod: &Pod) -> Option<Arc<Owner>> {
    let owner = pod.metadata.controller()?;
    let (kind, uid) = (owner.kind.clone(), owner.uid.clone());
    Some(Arc::new(Owner { kind, name: owner.name.as_str().into(), uid }))
}

/// Claims by name: those that the Pod names, and those that were made for it from templates.
fn claims(pod: &Pod) -> Arc<[Arc<str>]> {
    let made = |name: &str| {
        let status = pod.status.resource_claim_statuses.iter().find(|status| status.name == name)?;
        status.resource_claim_name.as_deref()
    };
    pod.spec
        .resource_claims
        .iter()
        .filter_map(|claim| claim.resource_claim_name.as_deref().or_else(|| made(&claim.name)))
        .map(Arc::from)
        .collect()
}

/// Ports of the host, as the scheduler's NodePorts plugin collects them: of containers and of sidecars.
fn host_ports(pod: &Pod) -> Arc<[HostPort]> {
    let sidecars = pod.spec.init_containers.iter().filter(|container| container.is_sidecar());
    let ports = pod.spec.containers.iter().chain(sidecars).flat_map(|container| &container.ports);
    ports
        .filter_map(|port| {
            let number = u16::try_from(port.host_port).ok().filter(|number| *number > 0)?;
            let protocol = if port.protocol.is_empty() { "TCP" } else { &port.protocol };
            Some(HostPort { port: number, protocol: protocol.into(), address: port.host_ip.as_str().into() })
        })
        .collect()
}

/// What the scheduler reserves for it, in the spelling of the API server's defaults.
fn requests(pod: &Pod) -> Result<Amounts, (String, String)> {
    let resources = PodResources::written(&pod.spec).with_defaults();
    match resources.unreadable.first() {
        Some(bad) => Err((bad.path.clone(), bad.error.to_string())),
        None => Ok(resources.requests()),
    }
}
