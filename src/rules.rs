//! The rules: one list, a file for each rule or shared computation.
//!
//! A rule looks at a [`Case`]: the World, the subject, and what placement found; it answers with findings.
//! Rules never change anything and never decide what happens: severity and action are applied afterwards.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod case;
mod change;
mod finding;
mod fit;
mod list;

pub use case::{Candidate, Case, Placement, PodCase, Skipped};
pub use change::{Change, Edit};
pub use finding::{Finding, Findings};
pub use fit::{Fit, Score};
pub use list::{ALL, Applies, Check, Family, Needs, Rule, find, ids};
