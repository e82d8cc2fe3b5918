//! The QoS class of a Pod, which decides who is evicted first when a node runs out of memory
//! (`pkg/apis/core/v1/helper/qos/qos.go`). Only cpu and memory count: a Pod that asks for nothing but GPUs
//! is `BestEffort`.

use std::fmt;

use super::{
    quantity::Quantity,
    resources::{self, Demand, PodResources},
};

/// `status.qosClass`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum QosClass {
    /// Evicted last.
    Guaranteed,
    /// Evicted by how far it is above its requests.
    Burstable,
    /// Evicted first.
    BestEffort,
}

/// The class of a Pod whose defaults are filled in ([`PodResources::with_defaults`]). With values at Pod
/// level only those count; otherwise all containers and init containers must agree.
pub fn qos(resources: &PodResources) -> QosClass {
    if has_pod_level(&resources.pod_level) {
        return of_demand(&resources.pod_level);
    }
    let containers = resources.init_containers.iter().chain(&resources.containers);
    agreed(containers.map(|container| of_demand(&container.demand))).unwrap_or(QosClass::BestEffort)
}

impl fmt::Display for QosClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Guaranteed => "Guaranteed",
            Self::Burstable => "Burstable",
            Self::BestEffort => "BestEffort",
        })
    }
}

/// `IsPodLevelResourcesSet`.
fn has_pod_level(demand: &Demand) -> bool {
    demand.requests.keys().chain(demand.limits.keys()).any(|name| resources::is_pod_level(name))
}

fn of_demand(demand: &Demand) -> QosClass {
    agreed(["cpu", "memory"].into_iter().map(|name| of_resource(demand, name)))
        .unwrap_or(QosClass::BestEffort)
}

fn of_resource(demand: &Demand, name: &str) -> QosClass {
    let amount = |amounts: &resources::Amounts| amounts.get(name).copied().unwrap_or(Quantity::ZERO);
    let (request, limit) = (amount(&demand.requests), amount(&demand.limits));
    if request != limit {
        QosClass::Burstable
    } else if request.is_zero() {
        QosClass::BestEffort
    } else {
        QosClass::Guaranteed
    }
}

/// The class that all parts have; `Burstable` where they differ.
fn agreed(mut classes: impl Iterator<Item = QosClass>) -> Option<QosClass> {
    let first = classes.next()?;
    Some(if classes.all(|class| class == first) { first } else { QosClass::Burstable })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn class(spec: Value) -> QosClass {
        let spec = serde_json::from_value(spec).expect("a Pod spec");
        qos(&PodResources::written(&spec).with_defaults())
    }

    fn container(requests: Value, limits: Value) -> Value {
        json!({"resources": {"requests": requests, "limits": limits}})
    }

    #[test]
    fn a_pod_that_asks_for_gpus_alone_is_best_effort() {
        let gpu = container(json!({"nvidia.com/gpu": 1}), json!({"nvidia.com/gpu": 1}));
        assert_eq!(class(json!({"containers": [gpu]})), QosClass::BestEffort);
        assert_eq!(class(json!({"containers": [{}]})), QosClass::BestEffort);
        assert_eq!(class(json!({})), QosClass::BestEffort);
        let zero = container(json!({"cpu": "0"}), json!({}));
        assert_eq!(class(json!({"containers": [zero]})), QosClass::BestEffort);
    }

    #[test]
    fn guaranteed_needs_equal_cpu_and_memory_in_every_container() {
        let whole =
            container(json!({"cpu": "1", "memory": "1Gi"}), json!({"cpu": "1000m", "memory": "1024Mi"}));
        let by_limit = container(json!({}), json!({"cpu": "1", "memory": "1Gi"}));
        assert_eq!(class(json!({"containers": [whole, by_limit]})), QosClass::Guaranteed);
        assert_eq!(class(json!({"containers": [whole], "initContainers": [by_limit]})), QosClass::Guaranteed);
        for other in [
            json!({}),
            container(json!({"cpu": "1"}), json!({"cpu": "1"})),
            container(json!({"cpu": "1", "memory": "1Gi"}), json!({"cpu": "2", "memory": "1Gi"})),
            container(json!({"memory": "1Gi"}), json!({})),
        ] {
            assert_eq!(class(json!({"containers": [whole, other]})), QosClass::Burstable, "{other}");
            let spec = json!({"containers": [whole], "initContainers": [other]});
            assert_eq!(class(spec), QosClass::Burstable, "{other} as init container");
        }
    }

    #[test]
    fn values_at_pod_level_decide_alone() {
        let pod = |resources: Value, container: Value| {
            class(json!({"resources": resources, "containers": [container]}))
        };
        let both = json!({"cpu": "2", "memory": "2Gi"});
        assert_eq!(pod(json!({"requests": both, "limits": both}), json!({})), QosClass::Guaranteed);
        assert_eq!(pod(json!({"limits": both}), json!({})), QosClass::Guaranteed);
        let whole = container(both.clone(), both.clone());
        let more_cpu = json!({"requests": {"cpu": "3"}});
        assert_eq!(pod(more_cpu.clone(), json!({})), QosClass::Burstable);
        assert_eq!(
            pod(more_cpu, whole.clone()),
            QosClass::Guaranteed,
            "the missing three are filled in equal"
        );
        let gpu = json!({"nvidia.com/gpu": 1});
        assert_eq!(
            pod(json!({"requests": gpu, "limits": gpu}), whole),
            QosClass::Guaranteed,
            "GPUs do not count there"
        );
        assert_eq!(QosClass::BestEffort.to_string(), "BestEffort");
    }
}
