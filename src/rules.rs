//! The rules: one list, a file for each rule or shared computation.
//!
//! A rule looks at a [`Case`]: the World, the subject, and what placement found; it answers with findings.
//! Rules never change anything and never decide what happens: severity and action are applied afterwards.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod bypass;
mod case;
mod change;
mod disruption;
mod finding;
mod fit;
mod list;
mod mig;
mod nodes;
pub mod offers;
mod placement;
mod priority;
mod resources;
mod rollout;
mod sharing;

pub use bypass::{node_name::*, stamp::*, visible_devices::*};
pub use case::{Candidate, Case, Placement, PodCase, Skipped};
pub use change::{Change, Edit};
pub use disruption::drain::*;
pub use finding::{Finding, Findings};
pub use fit::{Fit, Score};
pub use list::{ALL, Applies, Check, Family, Needs, Rule, find, ids};
pub use mig::profile::*;
pub use nodes::*;
pub use placement::{added::*, pool_affinity::*, selector::*, steering::*};
pub use priority::class::*;
pub use resources::{class::*, extended::*, large::*, names::*};
pub use rollout::{startup, startup::STARTUP_BUDGET_TOO_SMALL, surge::*};
pub use sharing::units::*;
