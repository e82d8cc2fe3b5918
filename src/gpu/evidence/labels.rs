//! Reads the node labels that are evidence, by the meaning that their writers give them: GPU feature
//! discovery and device plugin 0.20 (`internal/lm`), MIG manager, GKE, Karpenter.

use std::collections::BTreeMap;

use crate::gpu::{
    Mebibytes, MigProfile, MigStrategy,
    model::{MigSuffix, Product},
    version::parse_version,
};

/// The labels of one node, read.
#[derive(Clone, Debug)]
pub(super) struct LabelFacts<'a> {
    labels: &'a BTreeMap<String, String>,
    /// `nvidia.com/mig-<profile>.*`, only under strategy `mixed`.
    pub(super) slices: BTreeMap<MigProfile, SliceLabels<'a>>,
}

/// What the labels say of one profile.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct SliceLabels<'a> {
    /// MIG devices of this profile.
    pub(super) count: u32,
    /// Its true memory.
    pub(super) memory: Option<Mebibytes>,
    /// Units made of each device.
    pub(super) replicas: Option<u32>,
    /// `none`, `time-slicing`.
    pub(super) sharing: Option<&'a str>,
}

/// What GKE says of its own device plugin's sharing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Gke<'a> {
    /// MIG profile of every unit.
    pub(super) partition: Option<&'a str>,
    /// `time-sharing` or `mps`.
    pub(super) sharing: Option<&'a str>,
    /// Clients of each card or partition.
    pub(super) clients: Option<u32>,
}

/// Whether a label of this key is read as evidence. Other labels need not be in an
/// [`Observed`](super::Observed).
#[must_use]
pub fn is_evidence_label(key: &str) -> bool {
    let Some((domain, name)) = key.split_once('/') else { return false };
    match domain {
        "nvidia.com" => NVIDIA.contains(&name) || name.starts_with("mig-") || name.starts_with("cuda.driver"),
        "cloud.google.com" => GKE.contains(&name),
        "karpenter.k8s.aws" => KARPENTER.contains(&name),
        _ => false,
    }
}

impl<'a> LabelFacts<'a> {
    pub(super) fn read(labels: &'a BTreeMap<String, String>) -> Self {
        let mut slices: BTreeMap<MigProfile, SliceLabels<'a>> = BTreeMap::new();
        for (key, value) in labels {
            let Some((profile, fact)) = key.strip_prefix("nvidia.com/mig-").and_then(slice_label) else {
                continue;
            };
            let slice = slices.entry(profile).or_default();
            match fact {
                "count" => slice.count = value.parse().unwrap_or(0),
                "memory" => slice.memory = memory(value),
                "replicas" => slice.replicas = value.parse().ok(),
                "sharing-strategy" => slice.sharing = Some(value).filter(|v| !v.is_empty()).map(|v| &**v),
                _ => {}
            }
        }
        Self { labels, slices }
    }

    /// A label of the NVIDIA components, without its domain.
    pub(super) fn nvidia(&self, name: &str) -> Option<&'a str> {
        self.labels.get(&format!("nvidia.com/{name}")).map(String::as_str).filter(|value| !value.is_empty())
    }

    fn number(&self, name: &str) -> Option<u32> {
        self.nvidia(name)?.parse().ok()
    }

    /// GFD's product label as written. GFD labels one product only, whichever comes first, where a node
    /// has several.
    pub(super) fn product_label(&self) -> Option<&'a str> {
        self.nvidia("gpu.product")
    }

    /// The same, taken apart.
    pub(super) fn product(&self) -> Option<Product<'a>> {
        self.product_label().map(Product::read)
    }

    /// Whether feature discovery has labelled this node. It writes `mig.strategy` unless that is `none`,
    /// so where it has, an absent strategy is known to be none.
    pub(super) fn has_discovery(&self) -> bool {
        ["gpu.product", "gpu.count", "gpu.sharing-strategy"].iter().any(|name| self.nvidia(name).is_some())
    }

    /// The suffix of strategy `single` on the product.
    pub(super) fn mig_suffix(&self) -> Option<MigSuffix> {
        self.product()?.mig
    }

    /// `gpu.count`: cards, those in MIG mode included; under strategy `single` MIG devices. 0 says nothing.
    pub(super) fn count(&self) -> Option<u32> {
        self.number("gpu.count").filter(|&count| count > 0)
    }

    /// `gpu.count` where it counts cards, else what Karpenter knows of the instance type.
    pub(super) fn cards(&self) -> Option<u32> {
        let is_slices = matches!(self.mig_suffix(), Some(MigSuffix::Profile(_)));
        let count = self.count().filter(|_| !is_slices);
        count.or_else(|| self.karpenter("count")?.parse().ok())
    }

    /// `gpu.replicas` where it says that units are shared: 1 = not shared, 0 = a card in MIG mode.
    pub(super) fn replicas(&self) -> Option<u32> {
        self.number("gpu.replicas").filter(|&replicas| replicas > 1)
    }

    /// `gpu.replicas` as written.
    pub(super) fn replicas_label(&self) -> Option<u32> {
        self.number("gpu.replicas")
    }

    /// `gpu.memory`: of the card, under strategy `single` of the slice.
    pub(super) fn memory(&self) -> Option<Mebibytes> {
        self.nvidia("gpu.memory").and_then(memory)
    }

    /// `mps.capable` is true only where the plugin is set to MPS: it means "active", not "could".
    pub(super) fn mps_active(&self) -> bool {
        self.nvidia("mps.capable") == Some("true")
    }

    /// `mig.capable`: an OR over the node's cards; false means that none has MIG.
    pub(super) fn mig_capable(&self) -> Option<bool> {
        self.nvidia("mig.capable")?.parse().ok()
    }

    pub(super) fn strategy(&self) -> Option<MigStrategy> {
        match self.nvidia("mig.strategy")? {
            "single" => Some(MigStrategy::Single),
            "mixed" => Some(MigStrategy::Mixed),
            _ => None,
        }
    }

    /// The driver; newer names first.
    pub(super) fn driver(&self) -> Option<Vec<u32>> {
        let parts = |names: [&str; 3]| -> Option<Vec<u32>> {
            let version: Vec<u32> = names.iter().map_while(|name| self.number(name)).collect();
            (!version.is_empty()).then_some(version)
        };
        self.nvidia("cuda.driver-version.full")
            .and_then(parse_version)
            .or_else(|| {
                parts([
                    "cuda.driver-version.major",
                    "cuda.driver-version.minor",
                    "cuda.driver-version.revision",
                ])
            })
            .or_else(|| parts(["cuda.driver.major", "cuda.driver.minor", "cuda.driver.rev"]))
    }

    pub(super) fn compute_capability(&self) -> Option<(u32, u32)> {
        Some((self.number("gpu.compute.major")?, self.number("gpu.compute.minor")?))
    }

    /// A label of GKE, without its domain.
    fn google(&self, name: &str) -> Option<&'a str> {
        self.labels.get(&format!("cloud.google.com/{name}")).map(String::as_str).filter(|v| !v.is_empty())
    }

    /// GKE's name for the card.
    pub(super) fn gke_accelerator(&self) -> Option<&'a str> {
        self.google("gke-accelerator")
    }

    /// GKE's labels, where its own device plugin serves the node.
    pub(super) fn gke(&self) -> Option<Gke<'a>> {
        self.gke_accelerator()
            .filter(|_| self.google("gke-no-default-nvidia-gpu-device-plugin").is_none())?;
        Some(Gke {
            partition: self.google("gke-gpu-partition-size"),
            sharing: self.google("gke-gpu-sharing-strategy"),
            clients: self.google("gke-max-shared-clients-per-gpu").and_then(|clients| clients.parse().ok()),
        })
    }

    /// A label of Karpenter on AWS, without its prefix.
    pub(super) fn karpenter(&self, name: &str) -> Option<&'a str> {
        let value = self.labels.get(&format!("karpenter.k8s.aws/instance-gpu-{name}"))?;
        Some(value.as_str()).filter(|value| !value.is_empty())
    }
}

const NVIDIA: [&str; 12] = [
    "gpu.product",
    "gpu.count",
    "gpu.replicas",
    "gpu.sharing-strategy",
    "gpu.memory",
    "gpu.compute.major",
    "gpu.compute.minor",
    "mig.capable",
    "mig.strategy",
    "mig.config",
    "mig.config.state",
    "mps.capable",
];

const GKE: [&str; 5] = [
    "gke-accelerator",
    "gke-gpu-partition-size",
    "gke-gpu-sharing-strategy",
    "gke-max-shared-clients-per-gpu",
    "gke-no-default-nvidia-gpu-device-plugin",
];

const KARPENTER: [&str; 3] = ["instance-gpu-name", "instance-gpu-count", "instance-gpu-memory"];

/// Parts `1g.5gb.me.count` into profile and fact; the profile may hold dots itself.
fn slice_label(text: &str) -> Option<(MigProfile, &str)> {
    let (profile, fact) = text.rsplit_once('.')?;
    Some((MigProfile::from_resource_suffix(profile)?, fact))
}

/// MiB; 0 is what GFD writes where it does not know.
pub(super) fn memory(text: &str) -> Option<Mebibytes> {
    text.parse().ok().filter(|&mib| mib > 0).map(Mebibytes)
}
