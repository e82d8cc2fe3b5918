//! Rules about a Pod on one node. Their ids are the extender's reason strings: constant, without names and
//! numbers, because the scheduler counts equal reasons together.

use super::{Applies, Check, Family, Rule};
use crate::policy::Severity;

const fn node(
    id: &'static str,
    family: Family,
    summary: &'static str,
    why: &'static str,
    remedy: &'static str,
) -> Rule {
    Rule {
        id,
        family,
        summary,
        why,
        remedy,
        severity: Severity::Audit,
        severity_because: "it is one node's answer; the Pod may have others",
        applies: Applies::Nodes,
        needs: &[],
        sources: &[],
        check: Check::Node,
    }
}

/// `node-unknown`
pub static NODE_UNKNOWN: Rule = node(
    "node-unknown",
    Family::NodeLifecycle,
    "the node is in our picture",
    "A node that was just deleted, or that we have not seen yet, is not judged.",
    "Nothing to do; it is judged once it is seen.",
);

/// `pool-not-candidate`
pub static POOL_NOT_CANDIDATE: Rule = node(
    "pool-not-candidate",
    Family::Placement,
    "the node belongs to a pool that can serve the Pod's class",
    "The same resource name may stand for a whole card, a share of one, or a slice.",
    "`sluice explain -f POD` shows the pools and why the others are passed over.",
);

/// `mig-config-pending`; said of a Pod too that has no other nodes to go to, as a warning.
pub static MIG_CONFIG_PENDING: Rule = node(
    "mig-config-pending",
    Family::Mig,
    "the node's MIG layout is applied",
    "nvidia.com/mig.config is a wish, mig.config.state the fact: until it says success the node may still advertise cards that are about to be partitioned.",
    "Wait for the MIG manager, or mend the layout that failed.",
);

/// `mig-single-needs-uniform-layout`
pub static MIG_SINGLE_NEEDS_UNIFORM_LAYOUT: Rule = node(
    "mig-single-needs-uniform-layout",
    Family::Mig,
    "MIG strategy single has one profile on every card",
    "With an empty card, or more than one profile, feature discovery marks the product MIG-INVALID and the node offers nothing.",
    "Use one profile on all cards, or strategy mixed.",
);

/// `node-gpu-not-initialised`
pub static NODE_GPU_NOT_INITIALISED: Rule = node(
    "node-gpu-not-initialised",
    Family::NodeLifecycle,
    "the node's GPUs are ready",
    "A node is Ready before its device plugin is; a Pod that comes too early fails for good.",
    "Wait for the agent to remove the taint sluice.dev/not-ready.",
);

/// `node-rejoining`
pub static NODE_REJOINING: Rule = node(
    "node-rejoining",
    Family::NodeLifecycle,
    "the node's agent has looked at the cards since the last boot",
    "After a reboot the kubelet still advertises what it had, and starts Pods before the device plugin is healthy: they end in UnexpectedAdmissionError, which is final, and their controllers make new ones.",
    "Wait for the agent's first report after the boot.",
);

/// `node-driver-not-ready`
pub static NODE_DRIVER_NOT_READY: Rule = node(
    "node-driver-not-ready",
    Family::NodeLifecycle,
    "nobody is changing the node's driver or what serves its cards",
    "While a driver is upgraded, or the device plugin is paused for another layout, allocatable still has the cards: a Pod that starts now finds none, fails at once, and makes room for the next one.",
    "Wait for the operator to finish; if the upgrade failed, look at the node's driver Pod.",
);

/// `double-allocator-node`
pub static DOUBLE_ALLOCATOR_NODE: Rule = node(
    "double-allocator-node",
    Family::Dra,
    "one allocator hands out the node's cards",
    "Device plugin and DRA do not see each other's allocations: both give out the same card.",
    "Turn one of them off on this node.",
);

/// `colocation-limit`
pub static COLOCATION_LIMIT: Rule = node(
    "colocation-limit",
    Family::Sharing,
    "the node has fewer tenants than the Pod's class accepts",
    "Time-slicing gives every process an equal turn: each further tenant lengthens every other's latency.",
    "Wait, add nodes, or raise the class's `sharing.maxTenants`.",
);

/// `neighbour-not-allowed`
pub static NEIGHBOUR_NOT_ALLOWED: Rule = node(
    "neighbour-not-allowed",
    Family::Sharing,
    "the tenants of the card and the Pod's class accept each other",
    "A batch job beside an interactive model costs it its latency.",
    "Wait, or change `sharing.with` of one of the two classes.",
);

/// `untolerated-taint`
pub static UNTOLERATED_TAINT: Rule = node(
    "untolerated-taint",
    Family::Taints,
    "the Pod tolerates the node's taints",
    "A taint keeps off every Pod that does not tolerate it; cordoned nodes too.",
    "Tolerate the taint, or uncordon the node.",
);

/// `node-affinity-mismatch`
pub static NODE_AFFINITY_MISMATCH: Rule = node(
    "node-affinity-mismatch",
    Family::Placement,
    "the node meets the Pod's selector and affinity",
    "Both are hard.",
    "Loosen them if this node should do.",
);

/// `node-too-small`
pub static NODE_TOO_SMALL: Rule = node(
    "node-too-small",
    Family::Resources,
    "the node has at all what the Pod asks for",
    "Even empty, the node could not run it.",
    "Ask for less, or use larger nodes.",
);

/// `no-free-gpu`
pub static NO_FREE_GPU: Rule = node(
    "no-free-gpu",
    Family::Resources,
    "the node has enough free GPUs",
    "Other Pods hold them.",
    "Wait, add nodes, or evict.",
);

/// `no-free-slice`
pub static NO_FREE_SLICE: Rule = node(
    "no-free-slice",
    Family::Mig,
    "the node has enough free slices of the profile",
    "Other Pods hold them.",
    "Wait, add nodes, or evict.",
);

/// `no-free-resource`
pub static NO_FREE_RESOURCE: Rule = node(
    "no-free-resource",
    Family::Resources,
    "the node has enough free cpu, memory and the like",
    "Other Pods hold them.",
    "Wait, add nodes, or ask for less.",
);

/// `too-many-pods`
pub static TOO_MANY_PODS: Rule = node(
    "too-many-pods",
    Family::Resources,
    "the node may run one more Pod",
    "The kubelet's limit of Pods is reached.",
    "Wait, or add nodes.",
);

/// `host-port-taken`
pub static HOST_PORT_TAKEN: Rule = node(
    "host-port-taken",
    Family::Resources,
    "the host ports that the Pod asks for are free",
    "Another Pod of the node holds one.",
    "Use another port, or none of the host's.",
);

/// `room-promised`
pub static ROOM_PROMISED: Rule = node(
    "room-promised",
    Family::Sharing,
    "the room that is left is not promised to a Pod that is just being placed",
    "The scheduler counts units, not neighbours and GPU memory: between our answer and the binding in our picture only we know that the last such room is taken.",
    "Nothing to do; the scheduler asks again once it is known where the other Pod went.",
);

/// `no-free-vram`
pub static NO_FREE_VRAM: Rule = node(
    "no-free-vram",
    Family::Sharing,
    "a time-sliced card has GPU memory left for the Pod's class",
    "Time-slicing isolates no memory: an engine that finds too little of it does not start, or ends its neighbour.",
    "Wait, add nodes, or lower `memory` of the class.",
);

/// `victim-protected`
pub static VICTIM_PROTECTED: Rule = node(
    "victim-protected",
    Family::Priority,
    "no protected Pod has to go for this one",
    "A model that takes minutes to load, or whose class outranks the newcomer's, is dearer than a job that can wait, whatever the priority numbers say.",
    "Wait, add nodes, or take `disruption.protected` from the class.",
);
