//! Decision → what people and programs read: the refusal, warnings and audit annotations of admission,
//! the reasons of the extender, and the report of `check` in its formats.
//!
//! It words and arranges what the decision holds, and decides nothing.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

pub mod explain;
pub mod json;
pub mod junit;
pub mod openreports;
pub mod policy_tests;
pub mod rules_doc;
pub mod sarif;
pub mod scan;
pub mod table;
pub mod text;

pub use json::{CheckReport, NodeResult, ObjectResult, VerdictWord};
pub use text::{audit_annotations, filter_reason, refusal, warnings};

#[cfg(test)]
mod tests;
