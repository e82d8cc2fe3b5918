//! An object of any kind as the API server sends it: raw JSON, beside the little metadata that the client
//! needs. The generated types, and kube's DynamicObject, would take it apart and drop what we may need.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::{
    Resource,
    core::{ApiResource, DynamicResourceScope},
};
use serde::{Deserialize, Deserializer, de::Error as _};
use serde_json::Value;

use crate::cluster::{Kind, KindRow};

/// Any object.
#[derive(Clone, Debug)]
pub(super) struct Object {
    /// As it came.
    pub(super) value: Value,
    meta: ObjectMeta,
}

impl<'de> Deserialize<'de> for Object {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if !value.is_object() {
            return Err(D::Error::custom("an object of the API is a JSON object"));
        }
        let text = |key: &str| value["metadata"][key].as_str().map(str::to_owned);
        let meta = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            ..ObjectMeta::default()
        };
        Ok(Self { value, meta })
    }
}

impl Resource for Object {
    type DynamicType = ApiResource;
    type Scope = DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

/// The versions of a kind that can be read, the preferred one first.
pub(super) fn resources(kind: Kind) -> Vec<ApiResource> {
    let KindRow { group, version, also, name, plural, .. } = *kind.row();
    std::iter::once(&version)
        .chain(also)
        .map(|version| ApiResource {
            group: group.to_owned(),
            version: (*version).to_owned(),
            api_version: if group.is_empty() { (*version).to_owned() } else { format!("{group}/{version}") },
            kind: name.to_owned(),
            plural: plural.to_owned(),
        })
        .collect()
}
