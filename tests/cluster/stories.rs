//! Stories of sluice at work: a real control plane, the built `sluice serve`, the shipped webhook configuration,
//! the shipped rights, and a person with kubectl.

pub mod fleet;
pub mod gate;
pub mod operation;
pub mod placement;
pub mod refusals;
pub mod rounds;
pub mod samples;
pub mod shipped;
pub mod told;
