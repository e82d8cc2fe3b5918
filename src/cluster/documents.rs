//! A picture from documents: what `--cluster FILE` holds and `sluice snapshot` writes.

use serde_json::Value;

use crate::cluster::{Change, Cluster, Kind, ReadError, unix_seconds};

/// `kind` of the document with which a snapshot begins: it lists the kinds that the file holds completely.
pub const SNAPSHOT_KIND: &str = "Snapshot";

/// The objects of a document: the items of a List (which need not repeat the List's kind), or itself.
#[must_use]
pub fn unfold(document: Value) -> Vec<Value> {
    let kind = document["kind"].as_str().unwrap_or_default();
    let Some(item_kind) = kind.strip_suffix("List").map(str::to_owned) else { return vec![document] };
    let Value::Object(mut list) = document else { return Vec::new() };
    let api_version = list.remove("apiVersion").unwrap_or_default();
    let Some(Value::Array(items)) = list.remove("items") else { return Vec::new() };
    items
        .into_iter()
        .map(|mut item| {
            if let Some(item) = item.as_object_mut().filter(|item| !item.contains_key("kind")) {
                item.insert("kind".to_owned(), item_kind.clone().into());
                item.insert("apiVersion".to_owned(), api_version.clone());
            }
            item
        })
        .flat_map(unfold)
        .collect()
}

impl Cluster {
    /// A picture in which nothing is known: rules that need it are not judged.
    #[must_use]
    pub fn none() -> Self {
        Self::default()
    }

    /// A picture of exactly these documents, any number of objects or Lists.
    ///
    /// Nodes and Pods count as known completely, so does every kind of which there is an object, and
    /// every kind that a snapshot's first document lists.
    ///
    /// # Errors
    /// Every object that cannot be read.
    pub fn from_documents(documents: impl IntoIterator<Item = Value>) -> Result<Self, Vec<ReadError>> {
        let mut cluster = Self::default();
        let mut errors = Vec::new();
        cluster.set_synced(Kind::Node, true);
        cluster.set_synced(Kind::Pod, true);
        for object in documents.into_iter().flat_map(unfold) {
            if is_marker(&object) {
                cluster.read_marker(&object);
                continue;
            }
            match cluster.apply(&object) {
                Ok(Change::Changed(kind) | Change::Unchanged(kind)) => cluster.set_synced(kind, true),
                Ok(Change::Ignored) => {}
                Err(error) => errors.push(error),
            }
        }
        if errors.is_empty() { Ok(cluster) } else { Err(errors) }
    }

    /// This picture with objects laid over it. Their kinds do not become known completely by that.
    ///
    /// # Errors
    /// Every object that cannot be read.
    pub fn with_objects<'a>(
        &self,
        objects: impl IntoIterator<Item = &'a Value>,
    ) -> Result<Self, Vec<ReadError>> {
        let mut over = self.clone();
        let errors: Vec<_> = objects.into_iter().filter_map(|object| over.apply(object).err()).collect();
        if errors.is_empty() { Ok(over) } else { Err(errors) }
    }

    fn read_marker(&mut self, marker: &Value) {
        let kinds = marker["spec"]["kinds"].as_array().into_iter().flatten();
        for kind in kinds.filter_map(Value::as_str).filter_map(Kind::named) {
            self.set_synced(kind, true);
        }
        self.set_as_of(marker["spec"]["takenAt"].as_str().and_then(unix_seconds));
    }
}

fn is_marker(object: &Value) -> bool {
    object["kind"] == SNAPSHOT_KIND && object["apiVersion"] == "sluice.dev/v1alpha1"
}
