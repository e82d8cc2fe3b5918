//! Where the server takes its World from: the live picture, or one from a file.

use std::{future::Future, pin::Pin, sync::Arc, time::Duration};

use crate::{live::Picture, world::World};

/// A World at the end of a wait.
pub type Waited<'a> = Pin<Box<dyn Future<Output = Arc<World>> + Send + 'a>>;

/// Gives the present World. Every method but [`Source::wait_for`] answers at once, and none asks the network.
pub trait Source: Send + Sync + 'static {
    /// The World of this moment.
    fn load(&self) -> Arc<World>;

    /// Whether policies and picture have been complete once. Asked by every request.
    fn is_ready(&self) -> bool;

    /// What is missing, and what a person should know although nothing is.
    fn readiness(&self) -> Readiness;

    /// The World as soon as it is `enough`, else the newest one after `at_most`.
    fn wait_for<'a>(&'a self, enough: Enough<'a>, at_most: Duration) -> Waited<'a>;
}

/// Tells whether a World shows what was missing.
pub type Enough<'a> = &'a (dyn Fn(&World) -> bool + Send + Sync);

/// What `/readyz` tells of a source.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Readiness {
    /// What is not there yet; empty when ready.
    pub missing: Vec<String>,
    /// Such as the errors of policies that were not taken, while the ones before are in force.
    pub notes: Vec<String>,
}

/// A World that never changes.
#[derive(Clone, Debug)]
pub struct Fixed(Arc<World>);

impl Fixed {
    /// That World.
    #[must_use]
    pub fn new(world: Arc<World>) -> Self {
        Self(world)
    }
}

impl Source for Fixed {
    fn load(&self) -> Arc<World> {
        self.0.clone()
    }

    fn is_ready(&self) -> bool {
        true
    }

    fn readiness(&self) -> Readiness {
        Readiness::default()
    }

    /// Nothing will appear in it: answers at once.
    fn wait_for<'a>(&'a self, _enough: Enough<'a>, _at_most: Duration) -> Waited<'a> {
        Box::pin(std::future::ready(self.load()))
    }
}

impl Source for Picture {
    fn load(&self) -> Arc<World> {
        Self::load(self)
    }

    fn is_ready(&self) -> bool {
        Self::is_ready(self)
    }

    fn readiness(&self) -> Readiness {
        let readiness = Self::readiness(self);
        Readiness { missing: readiness.missing, notes: readiness.notes }
    }

    fn wait_for<'a>(&'a self, enough: Enough<'a>, at_most: Duration) -> Waited<'a> {
        Box::pin(Self::wait_for(self, enough, at_most))
    }
}
