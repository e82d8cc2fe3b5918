//! What bound Pods take of a node: sums that every bound, unfinished Pod adds to and can be taken out of.

use std::{collections::BTreeMap, sync::Arc};

use equivalent::Comparable;
use imbl::OrdMap;

use crate::{cluster::Key, k8s::quantity::Quantity};

/// What the Pods of one node take together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Load {
    /// Requests by resource, as the scheduler sums them. Exact.
    pub requests: BTreeMap<Arc<str>, Quantity>,
    /// Number of Pods.
    pub pods: u32,
    /// Ports of the host that are taken, with the number of Pods that take each.
    pub host_ports: BTreeMap<HostPort, u32>,
}

/// A port of the host that a Pod takes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HostPort {
    /// Number.
    pub port: u16,
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: Arc<str>,
    /// Address; empty means all.
    pub address: Arc<str>,
}

/// What one bound Pod takes, kept so that it can be taken out again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Footprint {
    /// UID; empty in files.
    pub uid: Arc<str>,
    /// The node it is bound to.
    pub node: Arc<str>,
    /// Requests by resource.
    pub requests: Arc<[(Arc<str>, Quantity)]>,
    /// Ports of the host.
    pub host_ports: Arc<[HostPort]>,
}

/// Footprints by Pod and their sums by node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Loads {
    footprints: OrdMap<Key, Arc<Footprint>>,
    by_node: OrdMap<Arc<str>, Arc<Load>>,
}

impl Load {
    /// The requested amount of a resource.
    #[must_use]
    pub fn requested(&self, resource: &str) -> Quantity {
        self.requests.get(resource).copied().unwrap_or_default()
    }

    /// The sums without one Pod, which must be among them: so that a running Pod that is judged again is not
    /// counted against itself.
    #[must_use]
    pub fn without(&self, footprint: &Footprint) -> Self {
        let mut rest = self.clone();
        rest.subtract(footprint);
        rest
    }

    fn add(&mut self, footprint: &Footprint) {
        self.pods = self.pods.saturating_add(1);
        for (resource, amount) in &*footprint.requests {
            let sum = self.requests.entry(Arc::clone(resource)).or_default();
            *sum = sum.saturating_add(*amount);
        }
        for port in &*footprint.host_ports {
            *self.host_ports.entry(port.clone()).or_default() += 1;
        }
    }

    fn subtract(&mut self, footprint: &Footprint) {
        self.pods = self.pods.saturating_sub(1);
        for (resource, amount) in &*footprint.requests {
            let rest = self.requested(resource).saturating_sub(*amount);
            if rest.is_zero() {
                self.requests.remove(resource);
            } else {
                self.requests.insert(Arc::clone(resource), rest);
            }
        }
        for port in &*footprint.host_ports {
            let rest = self.host_ports.get(port).copied().unwrap_or_default().saturating_sub(1);
            if rest == 0 {
                self.host_ports.remove(port);
            } else {
                self.host_ports.insert(port.clone(), rest);
            }
        }
    }
}

impl Loads {
    /// The sums of a node.
    pub(super) fn of(&self, node: &str) -> &Load {
        static NOTHING: Load = Load { requests: BTreeMap::new(), pods: 0, host_ports: BTreeMap::new() };
        self.by_node.get(node).map_or(&NOTHING, |load| load)
    }

    /// What a Pod takes.
    pub(super) fn footprint<'a>(
        &'a self,
        pod: &(impl Comparable<Key> + ?Sized),
    ) -> Option<&'a Arc<Footprint>> {
        self.footprints.get(pod)
    }

    /// The Pods of the picture that stand beside that one by name, and itself.
    pub(super) fn neighbours(&self, pod: &Key) -> [Option<&Key>; 2] {
        [self.footprints.get_prev(pod), self.footprints.get_next(pod)].map(|entry| entry.map(|(key, _)| key))
    }

    pub(super) fn len(&self) -> usize {
        self.footprints.len()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.footprints.keys()
    }

    /// Replaces what a Pod takes; `None` takes it out. False if nothing changed.
    pub(super) fn set(&mut self, pod: &Key, footprint: Option<Footprint>) -> bool {
        let old = self.footprints.get(pod);
        if old.map(|old| &**old) == footprint.as_ref() {
            return false;
        }
        if let Some(old) = old.cloned() {
            self.change(&old.node, |load| load.subtract(&old));
            self.footprints.remove(pod);
        }
        if let Some(new) = footprint {
            self.change(&new.node, |load| load.add(&new));
            self.footprints.insert(pod.clone(), Arc::new(new));
        }
        true
    }

    fn change(&mut self, node: &Arc<str>, change: impl FnOnce(&mut Load)) {
        let mut load = self.by_node.get(node).map(|load| Load::clone(load)).unwrap_or_default();
        change(&mut load);
        if load.pods == 0 {
            self.by_node.remove(node);
        } else {
            self.by_node.insert(Arc::clone(node), Arc::new(load));
        }
    }
}
