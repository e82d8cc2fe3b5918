//! Namespaces that no entry looks at.

/// The namespace that `deploy/` installs into.
pub const NAMESPACE: &str = "sluice-system";

/// The namespace of the node agents: their Pods need what is a bypass in anybody else's.
pub const AGENT_NAMESPACE: &str = "sluice-agent";

/// Namespaces of what the cluster, its GPUs and we ourselves stand on. If their Pods could only start once we
/// answer, an outage would keep itself alive. Whoever may create Pods in one of them is not judged: give out
/// that right as you would root on the nodes.
///
/// The default namespaces of the projects' own installation guides; another choice is a patch of the overlay.
pub const EXCLUDED_NAMESPACES: [&str; 21] = [
    // Kubernetes itself.
    "kube-node-lease",
    "kube-public",
    "kube-system",
    // GPU drivers, device plugins, feature discovery, DRA drivers.
    "gpu-operator",
    "gpu-operator-resources",
    "kube-amd-gpu",
    "node-feature-discovery",
    "nvidia",
    "nvidia-device-plugin",
    "nvidia-dra-driver-gpu",
    "nvidia-gpu-operator",
    // The network, without which nobody reaches us.
    "calico-system",
    "kube-flannel",
    "kube-ovn",
    "network-operator",
    "nvidia-network-operator",
    "tigera-operator",
    // Volumes.
    "longhorn-system",
    "rook-ceph",
    // Certificates, ours among them.
    "cert-manager",
    // Our node agents.
    AGENT_NAMESPACE,
];

/// All of them and our own, sorted.
#[must_use]
pub fn excluded_namespaces(own: &str) -> Vec<&str> {
    let mut all: Vec<&str> = EXCLUDED_NAMESPACES.into_iter().chain([own]).collect();
    all.sort_unstable();
    all.dedup();
    all
}
