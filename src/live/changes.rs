//! What watches, files and the policy folder tell the keeper of the picture.

use std::sync::Arc;

use serde_json::Value;

use crate::{
    cluster::{Cluster, Kind},
    policy::PolicySet,
};

/// A message to the keeper.
#[derive(Debug)]
pub(super) enum News {
    /// Of a watch.
    Kind(Kind, KindNews),
    /// A whole picture, in place of the one before.
    Whole(Box<Cluster>),
    /// Other policies.
    Policies(Arc<PolicySet>),
}

/// What a watch tells.
#[derive(Debug)]
pub(super) enum KindNews {
    /// A list begins; objects follow.
    ListBegins,
    /// An object of that list.
    Listed(Value),
    /// The list is complete: what it did not hold is gone.
    ListEnds,
    /// An object is new or changed.
    Applied(Value),
    /// An object is gone.
    Deleted(Value),
    /// The server was heard of, and nothing changed.
    Contact,
    /// The watch is broken; what is known stays, and ages.
    Broken(String),
    /// The server does not have this kind.
    Unavailable,
}
