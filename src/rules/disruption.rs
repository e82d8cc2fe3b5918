//! Disruption budgets.

pub mod drain;
pub mod overlap;
