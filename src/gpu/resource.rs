//! GPU resource names: what a name in `resources` or `allocatable` stands for.
//!
//! A name alone does not say what a container gets: under MIG strategy `single` and under sharing without
//! renaming, `nvidia.com/gpu` is a slice or a share. [`crate::gpu::evidence`] answers that for a node.

use std::fmt;

use super::MigProfile;

/// The resource of a whole NVIDIA card, and of whatever a node hands out in its place.
pub const WHOLE: &str = "nvidia.com/gpu";

/// Prefix of the extended resource that every DeviceClass has without naming one (KEP-5004).
pub const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Whole cards by the names that their makers' device plugins give them; Karpenter knows the same.
pub const WHOLE_NAMES: [&str; 5] =
    [WHOLE, "amd.com/gpu", "gpu.intel.com/i915", "gpu.intel.com/xe", "habana.ai/gaudi"];

/// Domains whose names stand for GPUs unless a network word follows.
pub const DEVICE_MAKERS: [&str; 2] = ["nvidia.com", "amd.com"];

/// Words of network cards. NVIDIA and AMD make these too, and their device plugins use the same domains
/// (`nvidia.com/hostdev`, `amd.com/nic`).
pub const NETWORK_WORDS: [&str; 7] = ["rdma", "nic", "hostdev", "sriov", "mlnx", "roce", "vf"];

/// A resource name that concerns GPUs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GpuResource {
    name: String,
    kind: ResourceKind,
}

/// What a resource name says.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ResourceKind {
    /// `nvidia.com/gpu`.
    Whole,
    /// `nvidia.com/gpu.shared`: a share of a card, renamed by the device plugin (`renameByDefault`).
    Shared,
    /// `nvidia.com/mig-1g.10gb`.
    Mig(MigProfile),
    /// `nvidia.com/mig-1g.10gb.shared`: a share of a slice.
    MigShared(MigProfile),
    /// A whole card of another maker: `amd.com/gpu`, `gpu.intel.com/xe`, `habana.ai/gaudi`.
    OtherVendor,
    /// The implicit name of a DeviceClass. Whether its devices are GPUs the class says, not the name.
    DeviceClass(String),
    /// An amount that qualifies a GPU request and is no unit itself: HAMi's `nvidia.com/gpumem`,
    /// `nvidia.com/gpumem-percentage`, `nvidia.com/gpucores`, `nvidia.com/priority`. Recognised, not managed.
    Qualifier,
    /// Looks like a GPU name and is none that we know: legacy, misspelt, or a plugin of one's own. Only a
    /// node or pool that advertises it makes it real.
    Unknown,
}

/// Whether a name belongs to the GPU families, known or not. Other names are none of our business.
#[must_use]
pub fn is_gpu_like(name: &str) -> bool {
    match GpuResource::parse(name).map(|resource| resource.kind) {
        Some(ResourceKind::DeviceClass(class)) => sounds_like_gpu(&class.to_ascii_lowercase()),
        kind => kind.is_some(),
    }
}

/// The advertised name that the writer of `name` most likely meant; `None` where nothing is near.
/// A MIG name prefers a MIG name of as many compute slices, an old name its successor.
#[must_use]
pub fn nearest<'a>(name: &str, advertised: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // A ResourceQuota's key, written where a resource belongs.
    let name = name.strip_prefix("requests.").or_else(|| name.strip_prefix("limits.")).unwrap_or(name);
    let wanted = GpuResource::parse(name);
    let mut best: Option<(f64, &str)> = None;
    for candidate in advertised {
        let score = likeness(name, wanted.as_ref(), candidate);
        let better = best.is_none_or(|(top, held)| score > top || (score == top && candidate < held));
        if score >= LIKELY && better {
            best = Some((score, candidate));
        }
    }
    best.map(|(_, candidate)| candidate)
}

impl GpuResource {
    /// Reads a name; `None` where it has nothing to do with GPUs.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        let kind = match name.split_once('/') {
            Some(("nvidia.com", rest)) => nvidia(rest),
            Some(("deviceclass.resource.kubernetes.io", class)) => {
                Some(ResourceKind::DeviceClass(class.to_owned()))
            }
            _ if WHOLE_NAMES.contains(&name) => Some(ResourceKind::OtherVendor),
            _ => None,
        };
        let kind = kind.or_else(|| {
            let lower = name.to_ascii_lowercase();
            looks_like_gpu(&lower).then_some(ResourceKind::Unknown)
        })?;
        Some(Self { name: name.to_owned(), kind })
    }

    /// The name as written.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it says.
    #[must_use]
    pub const fn kind(&self) -> &ResourceKind {
        &self.kind
    }

    /// Whether one of it is something that a container can hold: a card, a share or a slice.
    #[must_use]
    pub const fn is_unit(&self) -> bool {
        !matches!(self.kind, ResourceKind::Qualifier)
    }

    /// The profile of a MIG name.
    #[must_use]
    pub const fn profile(&self) -> Option<MigProfile> {
        match self.kind {
            ResourceKind::Mig(profile) | ResourceKind::MigShared(profile) => Some(profile),
            _ => None,
        }
    }

    /// Whether the device plugin renamed it because its units are shared.
    #[must_use]
    pub const fn is_renamed(&self) -> bool {
        matches!(self.kind, ResourceKind::Shared | ResourceKind::MigShared(_))
    }
}

impl fmt::Display for GpuResource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.name)
    }
}

/// Below this, a suggestion would be a guess.
const LIKELY: f64 = 0.75;

fn nvidia(rest: &str) -> Option<ResourceKind> {
    match rest {
        "gpu" => return Some(ResourceKind::Whole),
        "gpu.shared" => return Some(ResourceKind::Shared),
        "gpumem" | "gpumem-percentage" | "gpucores" | "priority" => return Some(ResourceKind::Qualifier),
        _ => {}
    }
    let mig = rest.strip_prefix("mig-")?;
    match mig.strip_suffix(".shared") {
        Some(mig) => MigProfile::from_resource_suffix(mig).map(ResourceKind::MigShared),
        None => MigProfile::from_resource_suffix(mig).map(ResourceKind::Mig),
    }
}

/// Takes a DeviceClass's name in lower case; NVIDIA's driver has `gpu.nvidia.com` and `mig.nvidia.com`.
fn sounds_like_gpu(class: &str) -> bool {
    class.contains("gpu") || class.split(['.', '-']).any(|word| word == "mig")
}

/// Takes lower case.
fn looks_like_gpu(name: &str) -> bool {
    let (domain, rest) = name.split_once('/').unwrap_or(("", name));
    let is_network = NETWORK_WORDS.iter().any(|word| rest.contains(word));
    let maker = DEVICE_MAKERS.contains(&domain);
    name.contains("gpu") || rest.starts_with("mig-") || rest.contains("-mig-") || (maker && !is_network)
}

fn likeness(name: &str, wanted: Option<&GpuResource>, candidate: &str) -> f64 {
    let lower = name.to_ascii_lowercase();
    if candidate == WHOLE && (lower.ends_with("/nvidia-gpu") || lower == "gpu" || lower == "nvidia-gpu") {
        return 1.0;
    }
    let text = strsim::jaro_winkler(&lower, &candidate.to_ascii_lowercase());
    // One maker's card is not another's, however alike the names are.
    let makers = (maker(&lower), maker(candidate));
    if let (Some(wanted), Some(offered)) = makers
        && wanted != offered
    {
        return 0.0;
    }
    // `mig-1g10gb` for `mig-1g.10gb`: the same letters and digits.
    let plain = |name: &str| name.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    if plain(&lower) == plain(candidate) {
        return 2.0;
    }
    let profiles = (
        wanted.and_then(GpuResource::profile),
        GpuResource::parse(candidate).and_then(|resource| resource.profile()),
    );
    match profiles {
        (Some(wanted), Some(offered)) if wanted.slices() == offered.slices() => 1.0 + text,
        (Some(_), None) | (None, Some(_)) => text - 0.2,
        _ => text,
    }
}

/// Whose card a name stands for; `None` for names that say nothing of it.
fn maker(name: &str) -> Option<&'static str> {
    ["nvidia", "amd", "intel", "habana"].into_iter().find(|maker| name.contains(maker))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Option<ResourceKind> {
        GpuResource::parse(name).map(|resource| resource.kind)
    }

    fn profile(text: &str) -> MigProfile {
        text.parse().unwrap()
    }

    #[test]
    fn nvidia_names_say_what_the_device_plugin_means_by_them() {
        assert_eq!(kind("nvidia.com/gpu"), Some(ResourceKind::Whole));
        assert_eq!(kind("nvidia.com/gpu.shared"), Some(ResourceKind::Shared));
        assert_eq!(kind("nvidia.com/mig-1g.10gb"), Some(ResourceKind::Mig(profile("1g.10gb"))));
        assert_eq!(kind("nvidia.com/mig-1g.5gb.me"), Some(ResourceKind::Mig(profile("1g.5gb+me"))));
        assert_eq!(kind("nvidia.com/mig-1g.10gb.shared"), Some(ResourceKind::MigShared(profile("1g.10gb"))));
        assert_eq!(
            kind("nvidia.com/mig-1g.24gb.me.all.shared"),
            Some(ResourceKind::MigShared(profile("1g.24gb+me.all")))
        );
    }

    #[test]
    fn memory_and_core_amounts_are_recognised_and_are_no_units() {
        for name in ["nvidia.com/gpumem", "nvidia.com/gpucores", "nvidia.com/gpumem-percentage"] {
            let resource = GpuResource::parse(name).unwrap();
            assert_eq!(*resource.kind(), ResourceKind::Qualifier);
            assert!(!resource.is_unit());
        }
        assert!(GpuResource::parse("nvidia.com/gpu").unwrap().is_unit());
    }

    #[test]
    fn legacy_and_misspelt_names_are_gpu_like_and_unknown() {
        for name in [
            "alpha.kubernetes.io/nvidia-gpu",
            "nvidia.com/gpus",
            "nvidia.com/GPU",
            "gpu",
            "nvidia.com/mig-1g",
            "nvidia.com/mig-one",
            "example.com/vgpu",
            "example.com/mig-1g.5gb",
            "nvidia.com/GH100_H100_PCIE",
            "amd.com/cpx_nps4",
            "gpu.intel.com/i915_monitoring",
        ] {
            assert_eq!(kind(name), Some(ResourceKind::Unknown), "{name}");
            assert!(is_gpu_like(name), "{name}");
        }
    }

    #[test]
    fn names_outside_the_gpu_families_are_none_of_our_business() {
        for name in [
            "cpu",
            "memory",
            "hugepages-2Mi",
            "ephemeral-storage",
            "nvidia.com/hostdev",
            "nvidia.com/rdma_shared_device_a",
            "nvidia.com/mlnxnics",
            "amd.com/nic",
            "aws.amazon.com/neuron",
            "google.com/tpu",
            "example.com/migration",
        ] {
            assert_eq!(kind(name), None, "{name}");
            assert!(!is_gpu_like(name), "{name}");
        }
    }

    #[test]
    fn a_device_class_name_is_gpu_like_only_where_the_class_sounds_like_one() {
        let name = "deviceclass.resource.kubernetes.io/gpu.nvidia.com";
        assert_eq!(kind(name), Some(ResourceKind::DeviceClass("gpu.nvidia.com".into())));
        assert!(is_gpu_like(name));
        assert!(is_gpu_like("deviceclass.resource.kubernetes.io/mig.nvidia.com"));
        let network = "deviceclass.resource.kubernetes.io/dra.net";
        assert_eq!(kind(network), Some(ResourceKind::DeviceClass("dra.net".into())));
        assert!(!is_gpu_like(network));
    }

    #[test]
    fn whole_devices_of_other_makers_are_known() {
        for name in ["amd.com/gpu", "habana.ai/gaudi", "gpu.intel.com/i915", "gpu.intel.com/xe"] {
            assert_eq!(kind(name), Some(ResourceKind::OtherVendor), "{name}");
        }
    }

    #[test]
    fn the_nearest_advertised_name_is_the_one_that_was_meant() {
        let advertised =
            ["nvidia.com/gpu", "nvidia.com/gpu.shared", "nvidia.com/mig-1g.10gb", "nvidia.com/mig-3g.40gb"];
        for (written, meant) in [
            ("alpha.kubernetes.io/nvidia-gpu", Some("nvidia.com/gpu")),
            ("nvidia.com/gpus", Some("nvidia.com/gpu")),
            ("nvidia.com/GPU", Some("nvidia.com/gpu")),
            ("nvidia.com/gpu.share", Some("nvidia.com/gpu.shared")),
            ("nvidia.com/mig-1g.5gb", Some("nvidia.com/mig-1g.10gb")),
            ("nvidia.com/mig-3g.20gb", Some("nvidia.com/mig-3g.40gb")),
            ("requests.nvidia.com/gpu", Some("nvidia.com/gpu")),
            ("nvidia.com/mig-1g10gb", Some("nvidia.com/mig-1g.10gb")),
            ("amd.com/gpu", None),
            ("rocm/device", None),
        ] {
            assert_eq!(nearest(written, advertised), meant, "{written}");
        }
        assert_eq!(nearest("nvidia.com/gpus", []), None);
    }
}
