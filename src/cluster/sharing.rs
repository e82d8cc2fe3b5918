//! Equal parts of Pods are held once.
//!
//! Pods of one owner have names that begin alike, so they stand side by side in a map by name, and what they
//! have in common is found at the neighbour. No table of known values is needed that would have to be
//! cleared, and what a picture equals does not depend on what is shared.

use std::{collections::BTreeMap, sync::Arc};

use crate::cluster::{Cluster, Footprint, Key, Tenant, pod::PodFacts};

/// Holds `theirs` instead of `mine` where the two are equal.
pub(super) fn share<T: PartialEq + ?Sized>(mine: &mut Arc<T>, theirs: &Arc<T>) {
    if !Arc::ptr_eq(mine, theirs) && **mine == **theirs {
        *mine = Arc::clone(theirs);
    }
}

fn share_some<T: PartialEq + ?Sized>(mine: &mut Option<Arc<T>>, theirs: Option<&Arc<T>>) {
    if let (Some(mine), Some(theirs)) = (mine, theirs) {
        share(mine, theirs);
    }
}

impl Cluster {
    /// Lets a Pod hold what the picture already holds of its neighbour, its node and itself.
    pub(super) fn share_pod(&self, key: &mut Key, facts: &mut PodFacts) {
        for neighbour in self.loads.neighbours(key).into_iter().chain(self.tenants.neighbours(key)).flatten()
        {
            share(&mut key.namespace, &neighbour.namespace);
        }
        if let Some(footprint) = &mut facts.footprint {
            for neighbour in self.loads.neighbours(key).into_iter().flatten() {
                let Some(neighbour) = self.loads.footprint(neighbour) else { continue };
                share(&mut footprint.requests, &neighbour.requests);
                share(&mut footprint.host_ports, &neighbour.host_ports);
            }
            if let Some(node) = self.node(&footprint.node) {
                share(&mut footprint.node, &node.name);
            }
        }
        if let Some(tenant) = &mut facts.tenant {
            tenant.namespace = Arc::clone(&key.namespace);
            tenant.name = Arc::clone(&key.name);
            for neighbour in self.tenants.neighbours(key).into_iter().flatten() {
                if let Some(neighbour) = self.tenants.get(neighbour) {
                    tenant.share(neighbour);
                }
            }
            if let Some(Footprint { uid, node, .. }) = &mut facts.footprint {
                share(&mut tenant.uid, uid);
                share_some(&mut tenant.node, Some(node));
            }
        }
    }
}

impl Tenant {
    fn share(&mut self, other: &Self) {
        share(&mut self.labels, &other.labels);
        share(&mut self.annotations, &other.annotations);
        share(&mut self.gpus, &other.gpus);
        share(&mut self.claims, &other.claims);
        share(&mut self.priority_class, &other.priority_class);
        share(&mut self.service_account, &other.service_account);
        share(&mut self.scheduler, &other.scheduler);
        share_some(&mut self.class, other.class.as_ref());
        share_some(&mut self.owner, other.owner.as_ref());
    }
}

/// Built from a sorted sequence, a map fills its nodes; read from JSON entry by entry, it leaves half of
/// them empty.
pub(super) fn compact<K: Ord, V>(map: BTreeMap<K, V>) -> BTreeMap<K, V> {
    map.into_iter().collect()
}
