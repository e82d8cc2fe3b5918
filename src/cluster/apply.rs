//! One object in or out: the one reader for watch and file.

use std::{collections::BTreeSet, sync::Arc};

use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::{
    cluster::{
        Cluster, Key, Kind, Node, ReadError, Workload,
        evidence::Agent,
        node::NodeFacts,
        pod::PodFacts,
        read::{self, key, prune},
        table::Table,
        workload_index,
    },
    k8s::object::{self, Meta},
};

/// What an object did to the picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The picture does not hold objects of this kind.
    Ignored,
    /// The picture had it just so.
    Unchanged(Kind),
    /// The picture is another one now.
    Changed(Kind),
}

impl Change {
    /// Whether the picture is another one now.
    #[must_use]
    pub const fn is_change(self) -> bool {
        matches!(self, Self::Changed(_))
    }

    const fn of(kind: Kind, changed: bool) -> Self {
        if changed { Self::Changed(kind) } else { Self::Unchanged(kind) }
    }
}

impl Cluster {
    /// Takes an object in, new or changed. Kinds that the picture does not hold are passed over.
    ///
    /// # Errors
    /// An object that cannot be read; the picture stays as it was.
    pub fn apply(&mut self, object: &Value) -> Result<Change, ReadError> {
        match kind_of(object) {
            Some(kind) => self.apply_as(kind, object),
            None => Ok(Change::Ignored),
        }
    }

    /// Takes in an object whose kind is known; lists of the API do not repeat it in their items.
    ///
    /// # Errors
    /// An object that cannot be read; the picture stays as it was.
    pub fn apply_as(&mut self, kind: Kind, object: &Value) -> Result<Change, ReadError> {
        let key = key(kind, object)?;
        let changed = match kind {
            Kind::Node => self.apply_node(object)?,
            Kind::Pod => self.apply_pod(key, object)?,
            Kind::Namespace => put(&mut self.namespaces, kind, key, object, |o| &mut o.metadata)?,
            Kind::PriorityClass => put(&mut self.priority_classes, kind, key, object, |o| &mut o.metadata)?,
            Kind::PodDisruptionBudget => put(&mut self.budgets, kind, key, object, |o| &mut o.metadata)?,
            Kind::HorizontalPodAutoscaler => {
                put(&mut self.autoscalers, kind, key, object, |o| &mut o.metadata)?
            }
            Kind::ResourceQuota => put(&mut self.quotas, kind, key, object, |o| &mut o.metadata)?,
            Kind::LimitRange => put(&mut self.limits, kind, key, object, |o| &mut o.metadata)?,
            Kind::DeviceClass => self.apply_device_class(key, object)?,
            Kind::ResourceClaim => put(&mut self.claims, kind, key, object, |o| &mut o.metadata)?,
            Kind::ResourceClaimTemplate => {
                put(&mut self.claim_templates, kind, key, object, |o| &mut o.metadata)?
            }
            Kind::ResourceSlice => self.apply_slice(slice_key(object, &key), object)?,
            Kind::GpuNode => self.apply_agent(key, object)?,
            Kind::Deployment
            | Kind::ReplicaSet
            | Kind::StatefulSet
            | Kind::DaemonSet
            | Kind::Job
            | Kind::CronJob => self.apply_workload(kind, key, object)?,
        };
        Ok(Change::of(kind, changed))
    }

    /// Takes an object out. A Pod goes only if it is the one that the picture has, by UID.
    ///
    /// # Errors
    /// An object without a name.
    pub fn delete(&mut self, object: &Value) -> Result<Change, ReadError> {
        match kind_of(object) {
            Some(kind) => self.delete_as(kind, object),
            None => Ok(Change::Ignored),
        }
    }

    /// Takes out an object whose kind is known.
    ///
    /// # Errors
    /// An object without a name.
    pub fn delete_as(&mut self, kind: Kind, object: &Value) -> Result<Change, ReadError> {
        let key = key(kind, object)?;
        let uid = object["metadata"]["uid"].as_str().unwrap_or_default();
        if kind == Kind::Pod && !self.is_that_pod(&key, uid) {
            return Ok(Change::Unchanged(kind));
        }
        let key = if kind == Kind::ResourceSlice { slice_key(object, &key) } else { key };
        Ok(Change::of(kind, self.remove(kind, &key)))
    }

    /// Replaces all objects of a kind at once, as after a broken watch: there is no moment at which an
    /// object that is in both is missing. The kind is known completely afterwards.
    ///
    /// # Errors
    /// Objects that cannot be read; they are left out, all others are taken in.
    pub fn replace_all<'a>(
        &mut self,
        kind: Kind,
        objects: impl IntoIterator<Item = &'a Value>,
    ) -> Result<(), Vec<ReadError>> {
        let mut errors = Vec::new();
        let mut seen = BTreeSet::new();
        for object in objects {
            match self.apply_as(kind, object).and_then(|_| Self::key_of(kind, object)) {
                Ok(key) => drop(seen.insert(key)),
                Err(error) => errors.push(error),
            }
        }
        self.retain(kind, &seen);
        self.set_synced(kind, true);
        if errors.is_empty() { Ok(()) } else { Err(errors) }
    }

    /// Where an object stands in the picture, for [`Cluster::retain`].
    ///
    /// # Errors
    /// An object without a name.
    pub fn key_of(kind: Kind, object: &Value) -> Result<Key, ReadError> {
        let key = key(kind, object)?;
        Ok(if kind == Kind::ResourceSlice { slice_key(object, &key) } else { key })
    }

    /// Takes out every object of a kind that is not among `keep`. Gives the number taken out.
    pub fn retain(&mut self, kind: Kind, keep: &BTreeSet<Key>) -> usize {
        let gone: Vec<Key> = self.keys(kind).into_iter().filter(|key| !keep.contains(key)).collect();
        gone.iter().filter(|key| self.remove(kind, key)).count()
    }

    /// Whether every object of the kind is in the picture, so that absence may be asserted.
    #[must_use]
    pub const fn is_synced(&self, kind: Kind) -> bool {
        self.synced.has(kind)
    }

    /// Says whether every object of the kind is in the picture.
    pub const fn set_synced(&mut self, kind: Kind, synced: bool) {
        self.synced.set(kind, synced);
    }

    /// Unix seconds at which the picture was last known to be right; `None` where nobody said.
    #[must_use]
    pub const fn as_of(&self) -> Option<i64> {
        self.synced.as_of()
    }

    /// Sets the time of the picture, Unix seconds.
    pub const fn set_as_of(&mut self, as_of: Option<i64>) {
        self.synced.set_as_of(as_of);
    }

    fn apply_node(&mut self, object: &Value) -> Result<bool, ReadError> {
        let read: object::Node = read::read(Kind::Node, object)?;
        let name: Arc<str> = read.metadata.name.as_str().into();
        let facts = NodeFacts::read(read, object)?;
        let shape = facts.shape(&self.observed(&name, &facts));
        let old = self.nodes.get("", &name).cloned();
        self.shapes.rename_host(&name, old.as_deref().and_then(Node::host), facts.host());
        let shape = match old.map(|node| Arc::clone(&node.shape)) {
            Some(old) if *old == shape => old,
            Some(old) => self.shapes.change(&old, shape, &name),
            None => self.shapes.join(shape, &name),
        };
        Ok(self.nodes.put(Key::new("", &name), facts.into_node(name, shape)))
    }

    fn apply_device_class(&mut self, key: Key, object: &Value) -> Result<bool, ReadError> {
        let changed = put(&mut self.device_classes, Kind::DeviceClass, key, object, |o| &mut o.metadata)?;
        if changed {
            self.reshape_dra_nodes();
        }
        Ok(changed)
    }

    fn apply_slice(&mut self, key: Key, object: &Value) -> Result<bool, ReadError> {
        let node = Arc::clone(&key.namespace);
        let changed = put(&mut self.slices, Kind::ResourceSlice, key, object, |o| &mut o.metadata)?;
        if changed {
            self.reshape(&node);
        }
        Ok(changed)
    }

    fn apply_agent(&mut self, key: Key, object: &Value) -> Result<bool, ReadError> {
        let agent = Agent::read(object, self.as_of())?;
        let name = Arc::clone(&key.name);
        let changed = self.agents.put(key, agent);
        if changed {
            self.reshape(&name);
        }
        Ok(changed)
    }

    fn apply_pod(&mut self, mut key: Key, object: &Value) -> Result<bool, ReadError> {
        let mut facts = PodFacts::read(&key, object)?;
        self.share_pod(&mut key, &mut facts);
        let load = self.loads.set(&key, facts.footprint);
        let tenants = self.tenants.set(&key, facts.tenant);
        Ok(load || tenants)
    }

    fn apply_workload(&mut self, kind: Kind, key: Key, object: &Value) -> Result<bool, ReadError> {
        let Some(table) = workload_index(kind).and_then(|index| self.workloads.get_mut(index)) else {
            return Ok(false);
        };
        Ok(match Workload::read(kind, object)? {
            Some(workload) => table.put(key, workload),
            None => table.remove(&key).is_some(),
        })
    }

    /// Whether the Pod of that name is the one with that UID; without UIDs the name decides.
    fn is_that_pod(&self, key: &Key, uid: &str) -> bool {
        let held = match (self.loads.footprint(key), self.tenants.get(key)) {
            (Some(footprint), _) => &*footprint.uid,
            (None, Some(tenant)) => &*tenant.uid,
            (None, None) => return false,
        };
        uid.is_empty() || held.is_empty() || held.contains('/') || held == uid
    }

    fn remove(&mut self, kind: Kind, key: &Key) -> bool {
        match kind {
            Kind::Node => {
                let Some(node) = self.nodes.remove(key) else { return false };
                self.shapes.rename_host(&node.name, node.host(), None);
                self.shapes.leave(&node.shape, &node.name);
                true
            }
            Kind::Pod => {
                let load = self.loads.set(key, None);
                self.tenants.set(key, None) || load
            }
            Kind::Namespace => self.namespaces.remove(key).is_some(),
            Kind::PriorityClass => self.priority_classes.remove(key).is_some(),
            Kind::PodDisruptionBudget => self.budgets.remove(key).is_some(),
            Kind::HorizontalPodAutoscaler => self.autoscalers.remove(key).is_some(),
            Kind::ResourceQuota => self.quotas.remove(key).is_some(),
            Kind::LimitRange => self.limits.remove(key).is_some(),
            Kind::DeviceClass => {
                let removed = self.device_classes.remove(key).is_some();
                if removed {
                    self.reshape_dra_nodes();
                }
                removed
            }
            Kind::ResourceClaim => self.claims.remove(key).is_some(),
            Kind::ResourceClaimTemplate => self.claim_templates.remove(key).is_some(),
            Kind::ResourceSlice => {
                let removed = self.slices.remove(key).is_some();
                self.reshape(&key.namespace);
                removed
            }
            Kind::GpuNode => {
                let removed = self.agents.remove(key).is_some();
                self.reshape(&key.name);
                removed
            }
            _ => workload_index(kind)
                .and_then(|index| self.workloads.get_mut(index))
                .is_some_and(|table| table.remove(key).is_some()),
        }
    }

    fn keys(&self, kind: Kind) -> BTreeSet<Key> {
        match kind {
            Kind::Node => self.nodes.keys().cloned().collect(),
            Kind::Pod => self.loads.keys().chain(self.tenants.keys()).cloned().collect(),
            Kind::Namespace => self.namespaces.keys().cloned().collect(),
            Kind::PriorityClass => self.priority_classes.keys().cloned().collect(),
            Kind::PodDisruptionBudget => self.budgets.keys().cloned().collect(),
            Kind::HorizontalPodAutoscaler => self.autoscalers.keys().cloned().collect(),
            Kind::ResourceQuota => self.quotas.keys().cloned().collect(),
            Kind::LimitRange => self.limits.keys().cloned().collect(),
            Kind::DeviceClass => self.device_classes.keys().cloned().collect(),
            Kind::ResourceClaim => self.claims.keys().cloned().collect(),
            Kind::ResourceClaimTemplate => self.claim_templates.keys().cloned().collect(),
            Kind::ResourceSlice => self.slices.keys().cloned().collect(),
            Kind::GpuNode => self.agents.keys().cloned().collect(),
            _ => workload_index(kind)
                .and_then(|index| self.workloads.get(index))
                .map(|table| table.keys().cloned().collect())
                .unwrap_or_default(),
        }
    }
}

fn kind_of(object: &Value) -> Option<Kind> {
    Kind::of(object["apiVersion"].as_str()?, object["kind"].as_str()?)
}

/// Slices are asked for by node, so they stand under their node's name.
fn slice_key(object: &Value, key: &Key) -> Key {
    Key::new(object["spec"]["nodeName"].as_str().unwrap_or_default(), &key.name)
}

fn put<T: DeserializeOwned + PartialEq>(
    table: &mut Table<T>,
    kind: Kind,
    key: Key,
    object: &Value,
    meta: impl FnOnce(&mut T) -> &mut Meta,
) -> Result<bool, ReadError> {
    let mut read: T = read::read(kind, object)?;
    prune(meta(&mut read), &[]);
    Ok(table.put(key, read))
}
