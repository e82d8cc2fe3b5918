//! Policies: what the files say ([`raw`](self)) and what the engine uses ([`PolicySet`]).
//!
//! Only the loader sees raw policies. A PolicySet is cross-checked as a whole and never changes.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

pub mod recognize;
mod scope;
pub mod set;

pub use set::*;
