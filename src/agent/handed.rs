//! What the kubelet hands out of this node's cards, made of its answers: device ids by resource, and the
//! containers that have them.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    device_id::DeviceId,
    kubelet::{Allocatable, Assigned, Devices},
};
use crate::gpu::GpuResource;

/// GPU devices of the kubelet.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Handed {
    /// Healthy device ids by resource.
    pub ids: BTreeMap<String, BTreeSet<String>>,
    /// Containers with GPU devices, in order of namespace and Pod.
    pub holders: Vec<Holder>,
}

/// A container and its devices of one resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Holder {
    /// Namespace of the Pod.
    pub namespace: String,
    /// Name of the Pod.
    pub pod: String,
    /// Name of the container.
    pub container: String,
    /// Resource, or for a claim `claim NAME`.
    pub resource: String,
    /// Device ids; for a claim the names in its ResourceSlice.
    pub ids: Vec<String>,
}

impl Handed {
    /// Puts the kubelet's two answers together, less what has nothing to do with GPUs.
    #[must_use]
    pub fn new(allocatable: Allocatable, assigned: Assigned) -> Self {
        let mut ids: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for devices in allocatable.devices.into_iter().filter(is_gpu) {
            // One entry a NUMA node, so a resource may come several times.
            ids.entry(devices.resource).or_default().extend(devices.ids);
        }
        let mut holders = Vec::new();
        for pod in assigned.pods {
            for container in pod.containers {
                let holder = |resource: String, ids: Vec<String>| Holder {
                    namespace: pod.namespace.clone(),
                    pod: pod.name.clone(),
                    container: container.name.clone(),
                    resource,
                    ids,
                };
                let plugin = container.devices.iter().filter(|devices| is_gpu(devices));
                holders.extend(plugin.map(|devices| holder(devices.resource.clone(), devices.ids.clone())));
                for claim in &container.claims {
                    let gpus = claim.devices.iter().filter(|device| device.driver == "gpu.nvidia.com");
                    let ids: Vec<String> = gpus.map(|device| device.device.clone()).collect();
                    if !ids.is_empty() {
                        holders.push(holder(format!("claim {}", claim.name), ids));
                    }
                }
            }
        }
        holders.sort();
        Self { ids, holders }
    }

    /// Units that the plugin makes of one device: 1 where ids have no unit behind them, `None` where the
    /// kubelet has no GPU device.
    #[must_use]
    pub fn replicas(&self) -> Option<u32> {
        let mut units: BTreeMap<(&str, _), u32> = BTreeMap::new();
        for (resource, ids) in &self.ids {
            for id in ids.iter().filter_map(|id| DeviceId::parse(id)) {
                *units.entry((resource, id.device)).or_default() += 1;
            }
        }
        units.into_values().max()
    }
}

fn is_gpu(devices: &Devices) -> bool {
    GpuResource::parse(&devices.resource).is_some_and(|resource| resource.is_unit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agent::kubelet::{Claim, ClaimDevice, ContainerDevices, PodDevices};

    fn devices(resource: &str, ids: &[&str]) -> Devices {
        Devices { resource: resource.to_owned(), ids: ids.iter().map(|&id| id.to_owned()).collect() }
    }

    #[test]
    fn ids_of_several_numa_nodes_are_one_resource_and_a_network_card_is_none_of_ours() {
        let allocatable = Allocatable {
            devices: vec![
                devices("nvidia.com/gpu", &["GPU-a::0", "GPU-a::1"]),
                devices("nvidia.com/gpu", &["GPU-b::0", "GPU-b::1"]),
                devices("nvidia.com/hostdev", &["0000:01:00.0"]),
            ],
        };
        let handed = Handed::new(allocatable, Assigned::default());
        assert_eq!(handed.ids.keys().collect::<Vec<_>>(), ["nvidia.com/gpu"]);
        assert_eq!(handed.ids["nvidia.com/gpu"].len(), 4);
        assert_eq!(handed.replicas(), Some(2));
    }

    #[test]
    fn without_a_device_nothing_is_said_about_sharing() {
        assert_eq!(Handed::default().replicas(), None);
        let whole = Allocatable { devices: vec![devices("nvidia.com/gpu", &["GPU-a"])] };
        assert_eq!(Handed::new(whole, Assigned::default()).replicas(), Some(1));
    }

    #[test]
    fn a_container_holds_devices_of_the_plugin_and_of_claims() {
        let claim = Claim {
            name: "gpu".to_owned(),
            namespace: "ml".to_owned(),
            devices: vec![ClaimDevice {
                driver: "gpu.nvidia.com".to_owned(),
                pool: "node-1".to_owned(),
                device: "gpu-0".to_owned(),
            }],
        };
        let container =
            |name: &str, devices, claims| ContainerDevices { name: name.to_owned(), devices, claims };
        let pod = PodDevices {
            name: "llm-0".to_owned(),
            namespace: "ml".to_owned(),
            containers: vec![
                container("server", vec![devices("nvidia.com/gpu", &["GPU-a::1"])], Vec::new()),
                container("draft", Vec::new(), vec![claim]),
                container("log", vec![devices("example.com/fuse", &["1"])], Vec::new()),
            ],
        };
        let handed = Handed::new(Allocatable::default(), Assigned { pods: vec![pod] });
        let held: Vec<_> =
            handed.holders.iter().map(|h| (h.container.as_str(), h.resource.as_str())).collect();
        assert_eq!(held, [("draft", "claim gpu"), ("server", "nvidia.com/gpu")]);
    }
}
