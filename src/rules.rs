//! The rules: one list, a file for each rule or shared computation.
//!
//! A rule looks at a [`Case`]: the World, the subject, and what placement found; it answers with findings.
//! Rules never change anything and never decide what happens: severity and action are applied afterwards.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bypass;
mod capacity;
mod case;
mod change;
mod disruption;
mod dra;
mod finding;
mod fit;
mod installation;
mod list;
mod mig;
mod nodes;
pub mod offers;
mod parallelism;
mod placement;
mod policies;
mod priority;
mod quota;
mod resources;
mod rollout;
mod scale;
mod sharing;
mod templates;

pub use bypass::{
    Reach, host_namespaces::*, host_path::*, node_name::*, privileged::*, reach, scheduler::*, stamp::*,
    visible_devices::*,
};
pub use case::{Candidate, Case, Placement, PodCase, Skipped};
pub use change::{Change, Edit};
pub use disruption::{drain::*, health::*, overlap::*};
pub use dra::{claims::*, shared_claim::*};
pub use finding::{Finding, Findings};
pub use fit::{Fit, Score};
pub use installation::{authority::*, extender::*, webhook::*};
pub use list::{ALL, Applies, Check, Family, Needs, Rule, find, ids};
pub use mig::{layout::*, node_change::*, profile::*};
pub use nodes::*;
pub use parallelism::{shm::*, tensor::*};
pub use placement::{
    added::*, anti_affinity::*, at_zero::*, cpu_pod::*, daemonset::*, gates::*, pool_affinity::*,
    selector::*, spread::*, steering::*, tolerations::*,
};
pub use policies::*;
pub use priority::{class::*, fields::*, guard::*, order::*, values::*};
pub use quota::{keys::*, limit_range::*, names::*};
pub use resources::{class::*, extended::*, large::*, missing::*, mixed::*, names::*};
pub use rollout::{
    deadline::*, grace::*, job_deadline::*, liveness::*, readiness::*, startup,
    startup::STARTUP_BUDGET_TOO_SMALL, surge::*,
};
pub use sharing::{autoscaler::*, memory::*, oversized::*, units::*};
pub use templates::{gang::*, missing::*};
