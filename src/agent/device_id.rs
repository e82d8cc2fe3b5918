//! Names under which a device plugin hands devices to the kubelet.
//!
//! NVIDIA's plugin writes `GPU-u` and `MIG-u`, with `::n` behind for the n-th unit of a shared device, and
//! in older releases `MIG-GPU-u/gi/ci`; GKE's writes `nvidia0`, `nvidia0/gi1`, each with `/vgpu2` behind
//! for a shared unit; with `deviceIDStrategy: index` it is a bare number.

/// A device id, taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct DeviceId<'a> {
    /// The card or slice.
    pub device: Device<'a>,
    /// Which unit of a shared device; absent where it is not shared.
    pub unit: Option<u32>,
}

/// A card or a slice of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Device<'a> {
    /// `GPU-…`.
    Card(&'a str),
    /// `MIG-…`.
    Mig(&'a str),
    /// A GPU instance of a card, and where named the compute instance in it.
    Instance {
        /// The card: a UUID, or an index as `nvidiaN` has it.
        card: &'a str,
        /// GPU instance.
        gpu_instance: u32,
    },
    /// A card by its index or minor number.
    Index(u32),
}

impl<'a> DeviceId<'a> {
    /// Takes an id apart; `None` for what no NVIDIA device plugin writes.
    #[must_use]
    pub fn parse(id: &'a str) -> Option<Self> {
        let (device, unit) = match id.split_once("::") {
            Some((device, unit)) => (device, Some(unit.parse().ok()?)),
            None => match id.rsplit_once("/vgpu") {
                Some((device, unit)) => (device, Some(unit.parse().ok()?)),
                None => (id, None),
            },
        };
        Some(Self { device: Device::parse(device)?, unit })
    }
}

impl<'a> Device<'a> {
    fn parse(id: &'a str) -> Option<Self> {
        if let Some(old) = id.strip_prefix("MIG-GPU-") {
            let card = id.get("MIG-".len()..id.len() - old.len() + old.find('/')?)?;
            let gpu_instance = old.split('/').nth(1)?.parse().ok()?;
            return Some(Self::Instance { card, gpu_instance });
        }
        if let Some(gke) = id.strip_prefix("nvidia") {
            return match gke.split_once("/gi") {
                Some((card, instance)) => {
                    card.parse::<u32>().ok()?;
                    Some(Self::Instance { card, gpu_instance: instance.parse().ok()? })
                }
                None => gke.parse().ok().map(Self::Index),
            };
        }
        match id {
            id if id.len() > 4 && id.starts_with("GPU-") => Some(Self::Card(id)),
            id if id.len() > 4 && id.starts_with("MIG-") => Some(Self::Mig(id)),
            id => id.parse().ok().map(Self::Index),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_that_a_device_plugin_writes_is_taken_apart() {
        let table = [
            ("GPU-8a", Device::Card("GPU-8a"), None),
            ("GPU-8a::3", Device::Card("GPU-8a"), Some(3)),
            ("MIG-5c", Device::Mig("MIG-5c"), None),
            ("MIG-5c::0", Device::Mig("MIG-5c"), Some(0)),
            ("MIG-GPU-8a/7/0", Device::Instance { card: "GPU-8a", gpu_instance: 7 }, None),
            ("nvidia1", Device::Index(1), None),
            ("nvidia1/vgpu2", Device::Index(1), Some(2)),
            ("nvidia0/gi3", Device::Instance { card: "0", gpu_instance: 3 }, None),
            ("nvidia0/gi3/vgpu1", Device::Instance { card: "0", gpu_instance: 3 }, Some(1)),
            ("2", Device::Index(2), None),
        ];
        for (id, device, unit) in table {
            assert_eq!(DeviceId::parse(id), Some(DeviceId { device, unit }), "{id}");
        }
    }

    #[test]
    fn what_is_no_device_id_is_refused() {
        for id in ["", "GPU-", "MIG-", "GPU-8a::x", "nvidia", "nvidia0/gix", "tpu0", "MIG-GPU-8a", "0/vgpu"] {
            assert_eq!(DeviceId::parse(id), None, "{id}");
        }
    }
}
