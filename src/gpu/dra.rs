//! Devices of ResourceSlices and the DeviceClasses that name them, as far as GPUs are concerned.
//!
//! Facts: dra-driver-nvidia-gpu (attributes of driver `gpu.nvidia.com`), KEP-5004 (extended resources that
//! DRA serves). Device names are not parsed: the driver's documents and code disagree about them.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Mebibytes, MigProfile, resource::DEVICE_CLASS_PREFIX, version::parse_version};

/// Driver of NVIDIA's cards, slices and passed-through cards. Its sibling for multi-node links,
/// `compute-domain.nvidia.com`, hands out no card.
pub const NVIDIA_DRIVER: &str = "gpu.nvidia.com";

/// One device of a ResourceSlice.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DraDevice {
    /// Driver of its slice.
    pub driver: String,
    /// Name within its pool.
    pub name: String,
    /// What it is.
    pub kind: DraKind,
    /// `productName`, with blanks.
    pub product: Option<String>,
    /// `uuid`.
    pub uuid: Option<String>,
    /// `parentUUID` of a MIG device.
    pub parent: Option<String>,
    /// `profile` of a MIG device.
    pub profile: Option<MigProfile>,
    /// `capacity.memory`.
    #[serde(rename = "memoryMib")]
    pub memory: Option<Mebibytes>,
    /// `cudaComputeCapability`.
    pub compute_capability: Option<(u32, u32)>,
    /// `driverVersion`.
    pub driver_version: Option<Vec<u32>>,
    /// `allowMultipleAllocations` (KEP-5075): several claims may hold it at once. The caller sets it.
    pub shared: bool,
}

/// Attribute `type` of driver `gpu.nvidia.com`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DraKind {
    /// A whole card; also where the attribute is absent.
    #[default]
    Gpu,
    /// A MIG device, existing or (dynamic MIG) to be made.
    Mig,
    /// A card to be passed through to a virtual machine.
    Vfio,
}

/// A DeviceClass.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GpuDeviceClass {
    /// Its name.
    pub name: String,
    /// `spec.extendedResourceName`: a resource name that this class serves.
    pub extended_resource_name: Option<String>,
    /// Its CEL selectors, as text.
    pub selectors: Vec<String>,
}

impl DraDevice {
    /// Reads a device (resource.k8s.io/v1) from its slice's driver, its name, its attributes (name to an
    /// object with one key, the type) and its capacity (name to `{value}`). `bytes` reads a quantity.
    #[must_use]
    pub fn read(
        driver: &str,
        name: &str,
        attributes: &BTreeMap<String, Value>,
        capacity: &BTreeMap<String, Value>,
        bytes: impl Fn(&str) -> Option<u64>,
    ) -> Self {
        let text = |key: &str| attribute(attributes, driver, key);
        let memory = capacity.get("memory").or_else(|| capacity.get(&format!("{driver}/memory")));
        let memory = memory.and_then(|entry| entry.get("value")).and_then(Value::as_str).and_then(bytes);
        Self {
            driver: driver.to_owned(),
            name: name.to_owned(),
            kind: match text("type") {
                Some("mig") => DraKind::Mig,
                Some("vfio") => DraKind::Vfio,
                _ => DraKind::Gpu,
            },
            product: text("productName").map(str::to_owned),
            uuid: text("uuid").map(str::to_owned),
            parent: text("parentUUID").map(str::to_owned),
            profile: text("profile").and_then(|profile| profile.parse().ok()),
            memory: memory.map(|bytes| Mebibytes(bytes / (1 << 20))),
            compute_capability: text("cudaComputeCapability").and_then(major_minor),
            driver_version: text("driverVersion").and_then(parse_version),
            shared: false,
        }
    }

    /// Whether its driver hands out GPUs of any maker (`gpu.nvidia.com`, `gpu.amd.com`, `gpu.intel.com`).
    #[must_use]
    pub fn is_gpu(&self) -> bool {
        self.driver.starts_with("gpu.")
    }

    /// Whether it is a card or slice of NVIDIA's driver.
    #[must_use]
    pub fn is_nvidia(&self) -> bool {
        self.driver == NVIDIA_DRIVER
    }

    /// The physical card that it is, or is a part of.
    #[must_use]
    pub fn card(&self) -> Option<&str> {
        if self.kind == DraKind::Mig { self.parent.as_deref() } else { self.uuid.as_deref() }
    }
}

impl GpuDeviceClass {
    /// The resource that a Pod can ask for to get a device of this class without a claim: the class's own
    /// name for it, else the implicit one.
    #[must_use]
    pub fn resource(&self) -> String {
        self.extended_resource_name.clone().unwrap_or_else(|| format!("{DEVICE_CLASS_PREFIX}{}", self.name))
    }

    /// What kind of NVIDIA device it selects, by the names that the driver's chart gives its classes or by
    /// the words of its selectors; `None` where it selects something else, such as network cards.
    #[must_use]
    pub fn selects(&self) -> Option<DraKind> {
        match self.name.as_str() {
            "gpu.nvidia.com" => return Some(DraKind::Gpu),
            "mig.nvidia.com" => return Some(DraKind::Mig),
            "vfio.gpu.nvidia.com" => return Some(DraKind::Vfio),
            _ => {}
        }
        let says = |word: &str| {
            let quoted = [format!("\"{word}\""), format!("'{word}'")];
            self.selectors.iter().any(|text| quoted.iter().any(|quoted| text.contains(quoted)))
        };
        if !says(NVIDIA_DRIVER) {
            None
        } else if says("mig") {
            Some(DraKind::Mig)
        } else if says("vfio") {
            Some(DraKind::Vfio)
        } else {
            Some(DraKind::Gpu)
        }
    }
}

/// Major and minor of a compute capability: `9.0`, or the semantic version `9.0.0` that DRA needs.
pub(crate) fn major_minor(text: &str) -> Option<(u32, u32)> {
    let parts = parse_version(text)?;
    Some((*parts.first()?, *parts.get(1)?))
}

fn attribute<'a>(attributes: &'a BTreeMap<String, Value>, driver: &str, key: &str) -> Option<&'a str> {
    let entry = attributes.get(key).or_else(|| attributes.get(&format!("{driver}/{key}")))?;
    entry.get("string").or_else(|| entry.get("version"))?.as_str()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn read(attributes: Value, capacity: Value) -> DraDevice {
        let attributes = serde_json::from_value(attributes).unwrap();
        let capacity = serde_json::from_value(capacity).unwrap();
        let bytes = |text: &str| text.strip_suffix("Mi")?.parse::<u64>().ok().map(|mib| mib << 20);
        DraDevice::read(NVIDIA_DRIVER, "gpu-0-mig-1g5gb-19-0", &attributes, &capacity, bytes)
    }

    #[test]
    fn a_mig_device_is_read_from_its_attributes_and_its_memory_from_capacity() {
        let device = read(
            json!({
                "type": {"string": "mig"}, "profile": {"string": "1g.5gb"}, "uuid": {"string": "MIG-1"},
                "gpu.nvidia.com/parentUUID": {"string": "GPU-1"},
                "productName": {"string": "NVIDIA A100-SXM4-40GB"},
                "cudaComputeCapability": {"version": "8.0.0"}, "driverVersion": {"version": "580.95.5"}
            }),
            json!({"memory": {"value": "4864Mi"}}),
        );
        assert_eq!(device.kind, DraKind::Mig);
        assert_eq!(device.memory, Some(Mebibytes(4864)));
        assert_eq!(device.card(), Some("GPU-1"));
        assert_eq!(device.compute_capability, Some((8, 0)));
        assert_eq!(device.driver_version, Some(vec![580, 95, 5]));
    }

    #[test]
    fn a_device_name_that_says_mig_is_not_believed() {
        assert_eq!(read(json!({}), json!({})).kind, DraKind::Gpu);
    }

    #[test]
    fn a_class_selects_what_its_words_say() {
        let class = |name: &str, selector: &str| GpuDeviceClass {
            name: name.into(),
            selectors: vec![selector.into()],
            ..GpuDeviceClass::default()
        };
        assert_eq!(class("gpu.nvidia.com", "").selects(), Some(DraKind::Gpu));
        let slices = "device.driver == 'gpu.nvidia.com' && device.attributes['gpu.nvidia.com'].type == 'mig'";
        assert_eq!(class("slices", slices).selects(), Some(DraKind::Mig));
        assert_eq!(class("nics", "device.driver == \"dra.net\"").selects(), None);
        assert_eq!(
            class("gpu.nvidia.com", "").resource(),
            "deviceclass.resource.kubernetes.io/gpu.nvidia.com"
        );
    }
}
