//! Room that is promised: to Pods that were offered nodes, and whose binding the picture does not show yet.
//!
//! A value that is laid over the World for one question. Who keeps it, and for how long, is not decided here.

use std::{collections::BTreeSet, sync::Arc};

/// Promises to Pods.
#[derive(Clone, Debug, Default)]
pub struct Promised {
    /// Of one Pod each.
    pub pods: Vec<Arc<Promise>>,
    /// Somebody else may have made promises of which nothing is known: whatever only we keep the account of
    /// is taken.
    pub unknown: bool,
}

/// One Pod that will run on one of these nodes, nobody knows which.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Promise {
    /// UID of the Pod.
    pub uid: Arc<str>,
    /// Its class.
    pub class: Option<Arc<str>>,
    /// Nodes that it was offered and where only we keep the account.
    pub nodes: BTreeSet<Arc<str>>,
}

impl Promised {
    /// No promise at all.
    pub const NONE: Self = Self { pods: Vec::new(), unknown: false };

    /// The promises that a node is part of.
    pub fn on(&self, node: &str) -> impl Iterator<Item = &Promise> {
        self.pods.iter().map(|promise| &**promise).filter(move |promise| promise.nodes.contains(node))
    }
}
