//! Disruption budgets.

pub mod drain;
pub mod health;
pub mod overlap;
mod sizes;
