//! The parts of Kubernetes objects that we read, and nothing else.
//!
//! Why not the generated types: they hold every field of one API version, fail on the first value of an
//! unexpected type, and cost time and memory for what nobody reads (docs/adr/0002). Here an absent or
//! null field is its default, and unknown fields are passed over; changes are applied to the raw JSON,
//! so that they survive. Field names and meaning are those of the Kubernetes API reference, 1.37.

mod installation;
mod node;
mod others;
mod pod;
mod workload;

use std::collections::BTreeMap;

use serde::{Deserialize, Deserializer};

pub use installation::*;
pub use node::*;
pub use others::*;
pub use pod::*;
pub use workload::*;

/// Label and annotation maps.
pub type Labels = BTreeMap<String, String>;

/// Requests, limits, capacity: resource name to the quantity as written.
pub type ResourceList = BTreeMap<String, QuantityText>;

/// A quantity as the object holds it: text, or a JSON number's text. Parsed where it is used, because a
/// malformed quantity is a finding, not an unreadable object.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuantityText(pub String);

/// `metadata` as far as we read it.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Meta {
    /// Name; empty while only `generateName` is set.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// Prefix of the name that the API server will make.
    #[serde(deserialize_with = "nullable")]
    pub generate_name: String,
    /// Namespace; empty for cluster-scoped objects and where the request alone names it.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
    /// Set by the API server; empty in files and in the mutating phase of CREATE.
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// Version of the stored object.
    #[serde(deserialize_with = "nullable")]
    pub resource_version: String,
    /// Generation of the spec.
    #[serde(deserialize_with = "nullable")]
    pub generation: i64,
    /// Labels.
    #[serde(deserialize_with = "nullable")]
    pub labels: Labels,
    /// Annotations.
    #[serde(deserialize_with = "nullable")]
    pub annotations: Labels,
    /// Direct owners only: a Pod of a Deployment names its ReplicaSet.
    #[serde(deserialize_with = "nullable")]
    pub owner_references: Vec<OwnerReference>,
    /// RFC 3339; set once the object is being deleted.
    pub deletion_timestamp: Option<String>,
    /// RFC 3339.
    pub creation_timestamp: Option<String>,
}

/// One entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner.
    #[serde(deserialize_with = "nullable")]
    pub api_version: String,
    /// Kind of the owner.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Name of the owner.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// UID of the owner.
    #[serde(deserialize_with = "nullable")]
    pub uid: String,
    /// Whether this owner is the managing controller.
    pub controller: Option<bool>,
}

/// `metav1.LabelSelector` as written; [`crate::k8s::labels`] gives it its meaning.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// All of these labels.
    #[serde(deserialize_with = "nullable")]
    pub match_labels: Labels,
    /// And all of these expressions.
    #[serde(deserialize_with = "nullable")]
    pub match_expressions: Vec<Expression>,
}

/// A label or field expression as written (`LabelSelectorRequirement`, `NodeSelectorRequirement`).
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Expression {
    /// Label or field key.
    #[serde(deserialize_with = "nullable")]
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`, `Gt`, `Lt`; anything else is a parse error of its term.
    #[serde(deserialize_with = "nullable")]
    pub operator: String,
    /// Operands.
    #[serde(deserialize_with = "nullable")]
    pub values: Vec<String>,
}

/// A JSON number or string, as ports, `maxSurge` or `minAvailable` allow.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum IntOrText {
    /// A number.
    Int(i64),
    /// A string such as `25%`; also a number with a fraction, which no API server takes, as it is written.
    #[serde(deserialize_with = "text_or_fraction")]
    Text(String),
}

impl Meta {
    /// The managing controller, where there is one.
    #[must_use]
    pub fn controller(&self) -> Option<&OwnerReference> {
        self.owner_references.iter().find(|owner| owner.controller == Some(true))
    }

    /// The name, or what `generateName` will make of it (`web-*`).
    #[must_use]
    pub fn display_name(&self) -> String {
        if self.name.is_empty() { format!("{}*", self.generate_name) } else { self.name.clone() }
    }
}

impl From<&str> for QuantityText {
    fn from(text: &str) -> Self {
        Self(text.to_owned())
    }
}

impl<'de> Deserialize<'de> for QuantityText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Written {
            Text(String),
            Number(serde_json::Number),
            /// `nvidia.com/gpu:` with nothing behind it, which the API server reads as 0.
            Nothing(()),
        }
        Ok(match Written::deserialize(deserializer)? {
            Written::Text(text) => Self(text),
            Written::Number(number) => Self(number.to_string()),
            Written::Nothing(()) => Self("0".to_owned()),
        })
    }
}

/// A string, or a number with a fraction as it is written: somebody has to be told of it, so the object stays
/// readable.
fn text_or_fraction<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Written {
        Text(String),
        Fraction(f64),
    }
    Ok(match Written::deserialize(deserializer)? {
        Written::Text(text) => text,
        Written::Fraction(number) => number.to_string(),
    })
}

/// Absent and `null` mean the same to the API server, so they do here.
pub(crate) fn nullable<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: Default + Deserialize<'de>,
{
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
