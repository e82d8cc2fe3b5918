//! What a taint on a GPU node is for: to keep GPUs free for GPU Pods, to mark a passing state, or else.

use crate::k8s::object::Taint;

/// A taint of a node's life, not of its purpose: it goes away by itself and is never tolerated for a Pod
/// (well-known taints; cluster-autoscaler and Karpenter FAQ; our agent's startup taint).
#[must_use]
pub fn is_passing(taint: &Taint) -> bool {
    const KEYS: [&str; 6] = [
        "sluice.dev/not-ready",
        "ToBeDeletedByClusterAutoscaler",
        "DeletionCandidateOfClusterAutoscaler",
        "karpenter.sh/disrupted",
        "karpenter.sh/unregistered",
        "node.cloudprovider.kubernetes.io/uninitialized",
    ];
    KEYS.contains(&taint.key.as_str())
        || taint.key.starts_with("node.kubernetes.io/")
        || is_startup(&taint.key)
}

/// The key of a taint that keeps Pods off a node until it is made ready, beyond Kubernetes' own states: ours, and
/// those that autoscalers and GPU operators take away once drivers and plugins run.
#[must_use]
pub fn is_startup(key: &str) -> bool {
    let own = !key.starts_with("node.kubernetes.io/");
    own && (key.starts_with("startup-taint.cluster-autoscaler.kubernetes.io/")
        || key.contains("not-ready")
        || key.contains("startup"))
}

/// A taint by which GPU nodes are kept free for GPU Pods, whatever a cloud or team calls it:
/// `nvidia.com/gpu`, `sku=gpu`, `dedicated=gpu`, `cloud.google.com/gke-accelerator`.
#[must_use]
pub fn guards_gpus(taint: &Taint) -> bool {
    let speaks = |text: &str| {
        let text = text.to_lowercase();
        text.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| matches!(word, "gpu" | "gpus"))
            || text.contains("nvidia")
            || text.contains("accelerator")
    };
    !is_passing(taint) && (speaks(&taint.key) || speaks(&taint.value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str, value: &str) -> Taint {
        Taint { key: key.into(), value: value.into(), effect: "NoSchedule".into() }
    }

    #[test]
    fn a_guard_is_known_by_key_or_value_in_whole_words() {
        for guard in [
            taint("nvidia.com/gpu", ""),
            taint("sku", "gpu"),
            taint("dedicated", "GPU"),
            taint("cloud.google.com/gke-accelerator", "x"),
        ] {
            assert!(guards_gpus(&guard), "{guard:?}");
        }
        for other in [taint("team", "gpuwerk"), taint("dedicated", "database")] {
            assert!(!guards_gpus(&other), "{other:?}");
        }
    }

    #[test]
    fn a_passing_state_guards_nothing() {
        for passing in [
            taint("node.kubernetes.io/not-ready", ""),
            taint("startup-taint.cluster-autoscaler.kubernetes.io/gpu", ""),
            taint("nvidia.com/gpu-driver-startup", ""),
        ] {
            assert!(is_passing(&passing), "{passing:?}");
            assert!(!guards_gpus(&passing), "{passing:?}");
        }
        assert!(!is_passing(&taint("nvidia.com/gpu", "present")));
    }
}
