//! Disruption budgets.

pub mod drain;
