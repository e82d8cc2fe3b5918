//! The node agent: what the cards of this node can do, what the kubelet hands out of them, and who uses
//! them. It publishes one `GpuNode`, keeps this node's own startup taint, and shows metrics; it decides
//! nothing and writes nothing else.
//!
//! Hardware is asked through the trait [`Cards`]: [`nvml::Nvml`] on a real node, [`recorded::Recorded`]
//! everywhere else. What is made of the answers ([`handed`], [`status`],
//! [`ready`], [`publish`]) is pure.

pub mod card;
pub mod cgroup;
pub mod deadline;
pub mod device_id;
pub mod handed;
pub mod http;
pub mod kubelet;
pub mod metrics;
pub mod mig;
pub mod mps;
pub mod node;
pub mod nvml;
pub mod publish;
pub mod ready;
pub mod recorded;
pub mod run;
pub mod status;

pub use card::{Answer, Card, Cards, Inventory, Unreadable};
