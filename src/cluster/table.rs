//! Objects of one kind by namespace and name, in a map that shares structure with its copies.

use std::sync::Arc;

use equivalent::{Comparable, Equivalent};
use imbl::OrdMap;

/// Namespace (empty for cluster-scoped kinds) and name.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key {
    /// Namespace; empty for cluster-scoped kinds.
    pub namespace: Arc<str>,
    /// Name.
    pub name: Arc<str>,
}

/// A key that owns nothing, to look up with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct KeyRef<'a> {
    pub(super) namespace: &'a str,
    pub(super) name: &'a str,
}

/// Objects of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Table<T>(OrdMap<Key, Arc<T>>);

impl Key {
    /// A key from its parts.
    #[must_use]
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

impl Equivalent<Key> for KeyRef<'_> {
    fn equivalent(&self, key: &Key) -> bool {
        *self.namespace == *key.namespace && *self.name == *key.name
    }
}

impl Comparable<Key> for KeyRef<'_> {
    fn compare(&self, key: &Key) -> std::cmp::Ordering {
        self.cmp(&KeyRef { namespace: &key.namespace, name: &key.name })
    }
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self(OrdMap::new())
    }
}

impl<T: PartialEq> Table<T> {
    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<T>> {
        self.0.get(&KeyRef { namespace, name })
    }

    /// Lays the object in; false if it was there just so.
    pub(super) fn put(&mut self, key: Key, object: T) -> bool {
        if self.0.get(&key).is_some_and(|old| **old == object) {
            return false;
        }
        self.0.insert(key, Arc::new(object));
        true
    }

    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<T>> {
        self.0.remove(key)
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<T>> {
        self.0.values()
    }

    /// The last key up to `key` and the first from it on.
    pub(super) fn neighbours(&self, key: &Key) -> [Option<&Key>; 2] {
        [self.0.get_prev(key), self.0.get_next(key)].map(|entry| entry.map(|(key, _)| key))
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&Key, &Arc<T>)> {
        self.0.iter()
    }

    pub(super) fn keys(&self) -> impl Iterator<Item = &Key> {
        self.0.keys()
    }

    pub(super) fn within(&self, namespace: &str) -> impl Iterator<Item = &Arc<T>> {
        let namespace: Arc<str> = namespace.into();
        self.0
            .range(Key { namespace: Arc::clone(&namespace), name: "".into() }..)
            .take_while(move |(key, _)| key.namespace == namespace)
            .map(|(_, object)| object)
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}
