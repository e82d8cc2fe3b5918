//! The filters of kube-scheduler that decide over a GPU Pod: NodeUnschedulable, TaintToleration,
//! NodeAffinity, NodeResourcesFit and NodePorts, each through the semantics in `k8s/`.

use std::sync::Arc;

use super::{Need, Obstacle};
use crate::{
    cluster::{Load, Node},
    gpu::resource::{self, GpuResource},
    k8s::{
        quantity::Quantity,
        taints::{self, Untolerated},
    },
    rules,
    world::{World, taints::is_passing},
};

pub(super) fn obstacle(world: &World, need: &Need, node: &Arc<Node>, gone: &[Arc<str>]) -> Option<Obstacle> {
    let comparison = world.features.comparison_operators;
    let untolerated =
        taints::first_untolerated(&node.taints, node.unschedulable, &need.tolerations, comparison);
    match untolerated {
        // It goes away by itself, so that waiting helps, though evicting does not.
        Some(Untolerated::Taint(taint)) if is_passing(taint) => {
            return Some(Obstacle::Busy(&rules::UNTOLERATED_TAINT));
        }
        Some(_) => return Some(Obstacle::Never(&rules::UNTOLERATED_TAINT)),
        None => {}
    }
    if !need.affinity.matches(Some(&node.name), &node.labels) {
        return Some(Obstacle::Never(&rules::NODE_AFFINITY_MISMATCH));
    }
    let load = load_without(world, need, node, gone);
    resources(need, node, &load).or_else(|| ports(need, &load))
}

/// What the node's other Pods take, without those that are thought away.
fn load_without(world: &World, need: &Need, node: &Node, gone: &[Arc<str>]) -> Load {
    let mut load = world.cluster.load(&node.name).clone();
    let gone = gone.iter().filter_map(|uid| world.cluster.tenant(uid));
    let gone = gone.map(|tenant| (&*tenant.namespace, &*tenant.name));
    let own = need.own.as_ref().map(|(namespace, name)| (namespace.as_str(), name.as_str()));
    for (namespace, name) in gone.chain(own) {
        if let Some(footprint) = world.cluster.footprint(namespace, name).filter(|f| f.node == node.name) {
            load = load.without(footprint);
        }
    }
    load
}

fn resources(need: &Need, node: &Node, load: &Load) -> Option<Obstacle> {
    let mut busy = None;
    let pods = node.allocatable("pods");
    if Quantity::whole(i64::from(load.pods) + 1) > pods && node.allocatable.contains_key("pods") {
        busy = Some(Obstacle::Busy(&rules::TOO_MANY_PODS));
    }
    // What a DeviceClass serves under a resource name (KEP-5004) the scheduler counts in claims, not here.
    let by_class = |name: &str| {
        let mut units = node.shape.assessment.units.iter();
        rules::offers::serves_by_class(&node.shape, name)
            || units.any(|unit| unit.resource == name && unit.device_class.is_some())
    };
    for (name, asked) in need.requests.iter().filter(|(_, asked)| asked.is_positive()) {
        if by_class(name) {
            continue;
        }
        let has = node.allocatable(name);
        if *asked > has {
            return Some(Obstacle::Never(&rules::NODE_TOO_SMALL));
        }
        if *asked > has.saturating_sub(load.requested(name)) {
            busy = Some(Obstacle::Busy(shortage(name)));
        }
    }
    busy
}

fn shortage(name: &str) -> &'static rules::Rule {
    match GpuResource::parse(name) {
        Some(gpu) if gpu.profile().is_some() => &rules::NO_FREE_SLICE,
        _ if resource::is_gpu_like(name) => &rules::NO_FREE_GPU,
        _ => &rules::NO_FREE_RESOURCE,
    }
}

/// Ports conflict where number and protocol are equal and the addresses are, or one of them means all.
fn ports(need: &Need, load: &Load) -> Option<Obstacle> {
    let all = |address: &str| matches!(address, "" | "0.0.0.0");
    let taken = need.host_ports.iter().any(|port| {
        let protocol = if port.protocol.is_empty() { "TCP" } else { &port.protocol };
        load.host_ports.keys().any(|held| {
            i64::from(held.port) == port.host_port
                && &*held.protocol == protocol
                && (all(&held.address) || all(&port.host_ip) || *held.address == *port.host_ip)
        })
    });
    taken.then_some(Obstacle::Busy(&rules::HOST_PORT_TAKEN))
}
