//! What a Pod asks for in all, by resource (component-helpers `resource/helpers.go`), and what the API
//! server fills in (`pkg/apis/core/v1/defaults.go`, `pkg/api/pod/util.go`).
//!
//! Requests and limits are added up alike: containers and sidecars together, or the costliest moment of the
//! init phase if that is more; Pod-level values replace the sum for cpu, memory and hugepages; overhead
//! comes on top. Ephemeral containers never count. A resize in progress (status) is not read.

use std::collections::BTreeMap;

use super::{
    extended,
    object::{Container, PodSpec, ResourceList, Resources},
    quantity::{Quantity, QuantityError},
};

/// Resource name to amount.
pub type Amounts = BTreeMap<String, Quantity>;

/// Requests and limits, parsed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Demand {
    /// What is reserved.
    pub requests: Amounts,
    /// What is not exceeded.
    pub limits: Amounts,
}

/// One side of a [`Demand`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// `requests`.
    Requests,
    /// `limits`.
    Limits,
}

/// What one container asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ContainerDemand {
    /// Name of the container.
    pub name: String,
    /// An init container that keeps running (`restartPolicy: Always`).
    pub sidecar: bool,
    /// Its requests and limits.
    pub demand: Demand,
}

/// What the parts of a Pod ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PodResources {
    /// Application containers.
    pub containers: Vec<ContainerDemand>,
    /// Init containers and sidecars, in the order in which they start.
    pub init_containers: Vec<ContainerDemand>,
    /// `spec.resources`; only cpu, memory and hugepages count (KEP-2837).
    pub pod_level: Demand,
    /// `spec.overhead`.
    pub overhead: Amounts,
    /// Entries that are no quantity. The API server refuses the Pod; here they count nothing.
    pub unreadable: Vec<UnreadableQuantity>,
}

/// A quantity that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadableQuantity {
    /// Path from the Pod, such as `spec.containers[0].resources.limits[cpu]`.
    pub path: String,
    /// Why it cannot be read.
    pub error: QuantityError,
}

impl PodResources {
    /// The resources as they are written. For what the scheduler and the kubelet see, add
    /// [`with_defaults`](Self::with_defaults).
    pub fn written(spec: &PodSpec) -> Self {
        let mut unreadable = Vec::new();
        let mut list = |containers: &[Container], field: &str| {
            let one = |(index, container): (usize, &Container)| ContainerDemand {
                name: container.name.clone(),
                sidecar: container.is_sidecar(),
                demand: demand(
                    &container.resources,
                    &format!("spec.{field}[{index}].resources"),
                    &mut unreadable,
                ),
            };
            containers.iter().enumerate().map(one).collect()
        };
        let containers = list(&spec.containers, "containers");
        let init_containers = list(&spec.init_containers, "initContainers");
        let pod_level = demand(&spec.resources, "spec.resources", &mut unreadable);
        let overhead = amounts(&spec.overhead, "spec.overhead", &mut unreadable);
        Self { containers, init_containers, pod_level, overhead, unreadable }
    }

    /// With what the API server fills in when a Pod is created: a container's missing request is its
    /// limit; at Pod level, where anything is set there, missing requests come from the containers and then
    /// from the limits, missing limits from the containers if all of them have one.
    #[must_use]
    pub fn with_defaults(mut self) -> Self {
        for container in self.containers.iter_mut().chain(&mut self.init_containers) {
            fill(&mut container.demand.requests, &container.demand.limits);
        }
        if !self.pod_level.requests.is_empty() || !self.pod_level.limits.is_empty() {
            self.default_pod_level();
        }
        self
    }

    /// What the scheduler reserves for the Pod (`PodRequests`).
    pub fn requests(&self) -> Amounts {
        let mut total = self.of_containers(Side::Requests);
        replace(&mut total, &self.pod_level.requests);
        add(&mut total, &self.overhead);
        total
    }

    /// The Pod's effective limits (`PodLimits`): overhead is added only where there is a limit.
    pub fn limits(&self) -> Amounts {
        let mut total = self.of_containers(Side::Limits);
        replace(&mut total, &self.pod_level.limits);
        for (name, overhead) in &self.overhead {
            if let Some(limit) = total.get_mut(name).filter(|limit| !limit.is_zero()) {
                *limit = limit.saturating_add(*overhead);
            }
        }
        total
    }

    /// The sum over containers without Pod-level values and overhead (`AggregateContainerRequests`,
    /// `AggregateContainerLimits`): the larger of running and init phase, for each resource by itself.
    pub fn of_containers(&self, side: Side) -> Amounts {
        let mut total = self.running(side);
        self.init_phases(side).iter().for_each(|phase| raise(&mut total, phase));
        total
    }

    /// What application containers and sidecars hold together once the Pod runs.
    pub fn running(&self, side: Side) -> Amounts {
        let sidecars = self.init_containers.iter().filter(|container| container.sidecar);
        let mut total = Amounts::new();
        self.containers
            .iter()
            .chain(sidecars)
            .for_each(|container| add(&mut total, container.demand.of(side)));
        total
    }

    /// What is held while each init container starts: its own and that of the sidecars before it. One entry
    /// for each init container, in order.
    pub fn init_phases(&self, side: Side) -> Vec<Amounts> {
        let mut sidecars = Amounts::new();
        let phase = |container: &ContainerDemand| {
            let mut held = sidecars.clone();
            add(&mut held, container.demand.of(side));
            if container.sidecar {
                sidecars.clone_from(&held);
            }
            held
        };
        self.init_containers.iter().map(phase).collect()
    }

    fn default_pod_level(&mut self) {
        let container_limits = self.of_containers(Side::Limits);
        let container_requests = self.of_containers(Side::Requests);
        let Demand { requests, limits } = &mut self.pod_level;
        let hugepages = container_limits.iter().filter(|(name, _)| extended::is_hugepages(name));
        for (name, amount) in hugepages.filter(|(name, _)| !requests.contains_key(*name)) {
            limits.entry(name.clone()).or_insert(*amount);
        }
        let overcommitted =
            |(name, _): &(&String, &Quantity)| is_pod_level(name) && !extended::is_hugepages(name);
        for (name, amount) in container_requests.iter().filter(overcommitted) {
            requests.entry(name.clone()).or_insert(*amount);
        }
        for (name, amount) in limits.iter().filter(|(name, _)| is_pod_level(name)) {
            requests.entry(name.clone()).or_insert(*amount);
        }
        let all = || self.containers.iter().chain(&self.init_containers);
        let missing = requests.iter().filter(|(name, _)| is_pod_level(name) && !limits.contains_key(*name));
        let limited = missing.filter(|(name, _)| all().all(|c| c.demand.limits.contains_key(*name)));
        let found: Vec<_> = limited
            .filter_map(|(name, request)| Some((name.clone(), *container_limits.get(name)?.max(request))))
            .collect();
        limits.extend(found);
    }
}

impl Demand {
    /// Requests or limits.
    pub fn of(&self, side: Side) -> &Amounts {
        match side {
            Side::Requests => &self.requests,
            Side::Limits => &self.limits,
        }
    }
}

impl Side {
    /// The field's name.
    pub fn field(self) -> &'static str {
        match self {
            Self::Requests => "requests",
            Self::Limits => "limits",
        }
    }
}

/// True for the resources that `spec.resources` may set for the whole Pod (`IsSupportedPodLevelResource`).
pub fn is_pod_level(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || extended::is_hugepages(name)
}

/// Parses requests and limits; what cannot be read is added to `unreadable` with its path below `path`.
pub fn demand(written: &Resources, path: &str, unreadable: &mut Vec<UnreadableQuantity>) -> Demand {
    Demand {
        requests: amounts(&written.requests, &format!("{path}.requests"), unreadable),
        limits: amounts(&written.limits, &format!("{path}.limits"), unreadable),
    }
}

/// Parses a resource list; what cannot be read is added to `unreadable` with its path below `path`.
pub fn amounts(written: &ResourceList, path: &str, unreadable: &mut Vec<UnreadableQuantity>) -> Amounts {
    let mut amounts = Amounts::new();
    for (name, text) in written {
        match Quantity::try_from(text) {
            Ok(quantity) => {
                amounts.insert(name.clone(), quantity);
            }
            Err(error) => unreadable.push(UnreadableQuantity { path: format!("{path}[{name}]"), error }),
        }
    }
    amounts
}

/// Adds `more` to `total`, resource by resource (`addResourceList`).
pub fn add(total: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        let sum = total.entry(name.clone()).or_default();
        *sum = sum.saturating_add(*amount);
    }
}

/// Raises `total` to `other` where that is more (`maxResourceList`).
fn raise(total: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let most = total.entry(name.clone()).or_insert(*amount);
        *most = (*most).max(*amount);
    }
}

/// Puts Pod-level values in place of the containers' sum.
fn replace(total: &mut Amounts, pod_level: &Amounts) {
    let effective = pod_level.iter().filter(|(name, _)| is_pod_level(name));
    total.extend(effective.map(|(name, amount)| (name.clone(), *amount)));
}

fn fill(requests: &mut Amounts, limits: &Amounts) {
    for (name, limit) in limits {
        requests.entry(name.clone()).or_insert(*limit);
    }
}

#[cfg(test)]
mod tests;
