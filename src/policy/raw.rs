//! What a policy file says: one serde type for each kind, one file a kind. Nothing is looked up or compiled
//! here; `super::load` does that.
//!
//! The types are the schema's only home: the JSON Schema is generated from them, doc comments become its
//! descriptions, and the loader checks documents against it, so that an editor and the loader agree.

mod admission;
mod class;
mod common;
mod exception;
mod pool;
mod test;

use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value, json};

pub use admission::*;
pub use class::*;
pub use common::*;
pub use exception::*;
pub use pool::*;
pub use test::*;

/// The group of our kinds.
pub const GROUP: &str = "sluice.dev";

/// Group and version of our kinds.
pub const API_VERSION: &str = "sluice.dev/v1alpha1";

/// A kind of policy file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// [`GpuPool`].
    GpuPool,
    /// [`WorkloadClass`].
    WorkloadClass,
    /// [`AdmissionPolicy`].
    AdmissionPolicy,
    /// [`PolicyException`].
    PolicyException,
}

impl Kind {
    /// Every kind, in the order of the documentation.
    pub const ALL: [Self; 4] =
        [Self::GpuPool, Self::WorkloadClass, Self::AdmissionPolicy, Self::PolicyException];

    /// The value of `kind:`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::GpuPool => "GpuPool",
            Self::WorkloadClass => "WorkloadClass",
            Self::AdmissionPolicy => "AdmissionPolicy",
            Self::PolicyException => "PolicyException",
        }
    }

    /// The kind of that name.
    #[must_use]
    pub fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == name)
    }
}

/// The JSON Schema of all kinds, draft 7, because that is the newest draft that YAML editors handle whole.
///
/// The kind of a document chooses its definition, so that an editor's message speaks of one kind. Other
/// kinds (PriorityClasses, a kustomization) may stand in the same folder and are not judged.
#[must_use]
pub fn schema() -> Value {
    let mut generator = SchemaSettings::draft07().into_generator();
    generator.subschema_for::<GpuPool>();
    generator.subschema_for::<WorkloadClass>();
    generator.subschema_for::<AdmissionPolicy>();
    generator.subschema_for::<PolicyException>();
    let mut definitions: Map<String, Value> = generator.take_definitions(true);
    definitions.values_mut().for_each(unwrap_lines);
    let choices: Vec<Value> = Kind::ALL.iter().map(|kind| choice(*kind)).collect();
    json!({
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "sluice policies",
        "description": "Policy files of sluice: GpuPool, WorkloadClass, AdmissionPolicy, PolicyException.",
        "type": "object",
        "required": ["apiVersion", "kind"],
        "properties": {
            "apiVersion": {"type": "string", "examples": [API_VERSION]},
            "kind": {"type": "string", "examples": Kind::ALL.map(Kind::as_str)},
        },
        "allOf": choices,
        "definitions": definitions,
    })
}

/// The JSON Schema of [`PolicyTest`], draft 7 as [`schema`].
#[must_use]
pub fn test_schema() -> Value {
    let mut schema: Value =
        SchemaSettings::draft07().into_generator().into_root_schema_for::<PolicyTest>().into();
    unwrap_lines(&mut schema);
    schema
}

fn choice(kind: Kind) -> Value {
    json!({
        "if": {"required": ["kind"], "properties": {"kind": {"const": kind.as_str()}}},
        "then": {"$ref": format!("#/definitions/{}", kind.as_str())},
    })
}

/// Doc comments are wrapped for the source; an editor wraps for itself.
fn unwrap_lines(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        *text = text
                            .split("\n\n")
                            .map(|part| part.replace('\n', " "))
                            .collect::<Vec<_>>()
                            .join("\n\n");
                    }
                    other => unwrap_lines(other),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(unwrap_lines),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The type of `apiVersion`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize, JsonSchema)]
pub enum ApiVersion {
    /// The only version so far.
    #[serde(rename = "sluice.dev/v1alpha1")]
    V1Alpha1,
}
