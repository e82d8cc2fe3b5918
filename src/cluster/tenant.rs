//! GPU Pods as the picture holds them.

use std::sync::Arc;

use imbl::OrdMap;

use crate::{
    cluster::{Key, table::Table},
    k8s::{object::Labels, resources::Amounts},
};

/// The label with which a Pod names its class.
pub const CLASS_LABEL: &str = "sluice.dev/class";

/// The annotation in which the stamp records the class that was recognised.
pub const STAMPED_CLASS: &str = "sluice.dev/decided-class";

/// Annotations of Pods that are kept: the stamp, and the experiment that the Pod refers to.
pub const POD_ANNOTATIONS: &[&str] = &[
    "sluice.dev/arm",
    STAMPED_CLASS,
    "sluice.dev/decision",
    "sluice.dev/experiment",
    "sluice.dev/fallback",
    "sluice.dev/pools",
    "sluice.dev/revision",
    "sluice.dev/suppress",
];

/// A Pod on a GPU, or one that waits for one. Finished Pods hold nothing and are not kept.
#[derive(Clone, Debug, PartialEq)]
pub struct Tenant {
    /// Namespace.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
    /// UID; `namespace/name` where the object has none.
    pub uid: Arc<str>,
    /// All labels.
    pub labels: Arc<Labels>,
    /// The annotations of [`POD_ANNOTATIONS`].
    pub annotations: Arc<Labels>,
    /// The class that its label names, else the one that its stamp records.
    pub class: Option<Arc<str>>,
    /// GPU resources that it takes, as the scheduler sums them.
    pub gpus: Arc<Amounts>,
    /// Names of its ResourceClaims, as far as they are known.
    pub claims: Arc<[Arc<str>]>,
    /// Resolved priority; 0 where none.
    pub priority: i64,
    /// Name of its PriorityClass; empty where none.
    pub priority_class: Arc<str>,
    /// Phase.
    pub phase: Phase,
    /// Condition `Ready`.
    pub ready: bool,
    /// Unix seconds of creation.
    pub created: Option<i64>,
    /// Unix seconds at which the kubelet accepted it.
    pub started: Option<i64>,
    /// The node it is bound to.
    pub node: Option<Arc<str>>,
    /// The managing controller.
    pub owner: Option<Arc<Owner>>,
    /// Being deleted; it still holds what it holds.
    pub deleting: bool,
    /// ServiceAccount.
    pub service_account: Arc<str>,
    /// `spec.schedulerName`.
    pub scheduler: Arc<str>,
}

/// Phase of a Pod that is not finished.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Phase {
    /// Not started: not bound, or images and volumes are on their way.
    #[default]
    Pending,
    /// At least one container has started.
    Running,
    /// Its node does not answer.
    Unknown,
}

/// The managing controller of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// Kind.
    pub kind: String,
    /// Name.
    pub name: Arc<str>,
    /// UID.
    pub uid: String,
}

/// Tenants by name, by UID and by node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tenants {
    by_key: Table<Tenant>,
    by_uid: OrdMap<Arc<str>, Key>,
    by_node: OrdMap<Arc<str>, Arc<Vec<Arc<Tenant>>>>,
}

impl Phase {
    /// A Pod in a file may have none yet.
    pub(super) fn read(text: &str) -> Self {
        match text {
            "Running" => Self::Running,
            "Unknown" => Self::Unknown,
            _ => Self::Pending,
        }
    }
}

impl Tenant {
    /// Namespace and name.
    #[must_use]
    pub fn key(&self) -> Key {
        Key { namespace: Arc::clone(&self.namespace), name: Arc::clone(&self.name) }
    }

    /// Units of GPU resources that it takes, of every name together.
    #[must_use]
    pub fn units(&self) -> i64 {
        self.gpus.values().fold(0, |sum, amount| sum.saturating_add(amount.value()))
    }
}

impl Tenants {
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Tenant>> {
        self.by_key.all()
    }

    pub(super) fn within(&self, namespace: &str) -> impl Iterator<Item = &Arc<Tenant>> {
        self.by_key.within(namespace)
    }

    pub(super) fn get(&self, key: &Key) -> Option<&Arc<Tenant>> {
        self.by_key.get(&key.namespace, &key.name)
    }

    pub(super) fn by_uid(&self, uid: &str) -> Option<&Arc<Tenant>> {
        self.get(self.by_uid.get(uid)?)
    }

    pub(super) fn on(&self, node: &str) -> &[Arc<Tenant>] {
        self.by_node.get(node).map_or(&[], |tenants| tenants)
    }

    /// The Pods of the picture that stand beside that one by name, and itself.
    pub(super) fn neighbours(&self, pod: &Key) -> [Option<&Key>; 2] {
        self.by_key.neighbours(pod)
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.by_key.keys()
    }

    pub(super) fn len(&self) -> usize {
        self.by_key.len()
    }

    /// Replaces a Pod; `None` takes it out. False if nothing changed.
    pub(super) fn set(&mut self, key: &Key, tenant: Option<Tenant>) -> bool {
        let old = self.get(key).cloned();
        if old.as_deref() == tenant.as_ref() {
            return false;
        }
        if let Some(old) = old {
            self.by_uid.remove(&old.uid);
            self.by_key.remove(key);
            self.change(old.node.as_ref(), |list| list.retain(|tenant| tenant.key() != *key));
        }
        if let Some(new) = tenant {
            self.by_uid.insert(Arc::clone(&new.uid), key.clone());
            self.by_key.put(key.clone(), new);
            if let Some(new) = self.get(key).cloned() {
                self.change(new.node.clone().as_ref(), |list| list.push(new));
            }
        }
        true
    }

    /// Lists of one node are short and sorted by name, so that their order says nothing about history.
    fn change(&mut self, node: Option<&Arc<str>>, change: impl FnOnce(&mut Vec<Arc<Tenant>>)) {
        let Some(node) = node else { return };
        let mut list = self.by_node.get(node).map(|list| Vec::clone(list)).unwrap_or_default();
        change(&mut list);
        list.sort_by_cached_key(|tenant| tenant.key());
        if list.is_empty() {
            self.by_node.remove(node);
        } else {
            self.by_node.insert(Arc::clone(node), Arc::new(list));
        }
    }
}
