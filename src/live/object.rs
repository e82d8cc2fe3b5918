//! Lists and watches of any kind, as JSON text.
//!
//! kube's typed calls would build a tree of every object of a page, ten times the size of its text, before
//! the first is read. Text waits in little room until the keeper turns one object after the other into the
//! little that the picture holds.

use std::error::Error as _;

use futures::{StreamExt, stream::BoxStream};
use kube::{
    Client, Error,
    api::{ListParams, WatchEvent, WatchParams},
    core::Request,
};
use serde::{Deserialize, Deserializer};
use serde_json::{Value, value::RawValue};

use crate::cluster::Kind;

/// An object as the API server sends it.
#[derive(Clone, Debug)]
pub(super) struct Object(Box<RawValue>);

/// A page of a list.
#[derive(Debug, Deserialize)]
pub(super) struct Page {
    /// Where the list goes on, and its version.
    #[serde(default)]
    pub(super) metadata: PageMeta,
    items: Option<Vec<Object>>,
}

/// `metadata` of a list.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct PageMeta {
    pub(super) resource_version: Option<String>,
    #[serde(rename = "continue")]
    token: Option<String>,
}

impl Object {
    /// The object as a tree.
    pub(super) fn value(&self) -> Result<Value, serde_json::Error> {
        serde_json::from_str(self.0.get())
    }

    /// Its version; empty where it says none.
    pub(super) fn version(&self) -> String {
        #[derive(Default, Deserialize)]
        #[serde(rename_all = "camelCase", default)]
        struct Meta {
            resource_version: String,
        }
        #[derive(Deserialize)]
        struct Versioned {
            #[serde(default)]
            metadata: Meta,
        }
        serde_json::from_str::<Versioned>(self.0.get())
            .map(|o| o.metadata.resource_version)
            .unwrap_or_default()
    }
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Box::<RawValue>::deserialize(deserializer).map(Self)
    }
}

impl Page {
    pub(super) fn objects(self) -> Vec<Object> {
        self.items.unwrap_or_default()
    }

    /// What to ask for the next page with; `None` after the last.
    pub(super) fn next(&self) -> Option<String> {
        self.metadata.token.clone().filter(|token| !token.is_empty())
    }
}

/// The paths of a kind in the versions that can be read, the preferred one first.
pub(super) fn paths(kind: Kind) -> impl Iterator<Item = String> {
    let row = kind.row();
    std::iter::once(&row.version).chain(row.also).map(|version| match row.group {
        "" => format!("/api/{version}/{}", row.plural),
        group => format!("/apis/{group}/{version}/{}", row.plural),
    })
}

/// A page of a list.
pub(super) async fn list(client: &Client, path: &str, parameters: &ListParams) -> Result<Page, Error> {
    let mut request = Request::new(path).list(parameters).map_err(Error::BuildRequest)?;
    request.extensions_mut().insert("list");
    client.request(request).await
}

/// The changes since a version.
pub(super) async fn watch(
    client: &Client,
    path: &str,
    parameters: &WatchParams,
    version: &str,
) -> Result<BoxStream<'static, Result<WatchEvent<Object>, Error>>, Error> {
    let mut request = Request::new(path).watch(parameters, version).map_err(Error::BuildRequest)?;
    request.extensions_mut().insert("watch");
    Ok(client.request_events::<Object>(request).await?.boxed())
}

/// An error with its causes: kube's own text says that something failed, the last cause says what.
pub(super) fn in_full(error: &Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let more = error.to_string();
        if !text.contains(&more) {
            text = format!("{text}: {more}");
        }
        cause = error.source();
    }
    text
}
