//! The `cluster` room.

#![deny(clippy::disallowed_methods, clippy::disallowed_types, clippy::print_stdout, clippy::print_stderr)]

/// Kinds of objects that the picture holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Nodes.
    Node,
}

/// The picture of a cluster.
#[derive(Clone, Debug, Default)]
pub struct Cluster {}
