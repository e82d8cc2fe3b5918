//! Policies: what the files say ([`raw`]) and what the engine uses ([`PolicySet`]).
//!
//! `tree` and `shape` read a document with the place of everything in it and check its form against the
//! schema of the raw types; `compile` gives it meaning, `cross` checks documents against each other, `load`
//! does all of it for a directory. Only the loader sees raw policies. A PolicySet is cross-checked as a
//! whole and never changes.

#![deny(clippy::disallowed_methods, clippy::disallowed_types)]

mod builtin;
mod compile;
mod cross;
mod document;
mod error;
mod load;
mod overlap;
pub mod raw;
pub mod recognize;
mod scope;
pub mod set;
mod shape;
mod tree;

pub use builtin::built_in;
pub use error::{PolicyError, PolicyWarning, Position};
pub use load::{SourceFile, compile, is_policy_file};
pub use raw::{schema, test_schema};
pub use recognize::{Answer, Match, Recognition, Seen, Strength, recognize};
pub use scope::{NOTICE, Term, wildcard};
pub use set::*;
