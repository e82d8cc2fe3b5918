//! What watches, files and the policy folder tell the keeper of the picture.

use std::sync::Arc;

use crate::{
    cluster::{Cluster, Kind},
    live::object::Object,
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
    Listed(Object),
    /// The list is complete: what it did not hold is gone.
    ListEnds,
    /// An object is new or changed.
    Applied(Object),
    /// An object is gone.
    Deleted(Object),
    /// The server was heard of, and nothing changed.
    Contact,
    /// The watch is broken; what is known stays, and ages.
    Broken(String),
    /// The server does not have this kind.
    Unavailable,
}
