//! The CustomResourceDefinition of `GpuNode`, made of the types that the agent writes and the picture reads.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use super::yaml;
use crate::{gpu::GpuNodeStatus, k8s};

/// `deploy/agent/gpunode.yaml`.
///
/// # Panics
/// Never: the definition is constant and covered by a test.
#[must_use]
pub fn gpu_node_definition() -> String {
    let text = k8s::yaml::to_text(&definition()).expect("a definition without floats can be written");
    format!("{}{text}", yaml::header("What the node agent publishes of its node: one object a node."))
}

fn definition() -> Value {
    let column = |name: &str, path: &str, description: &str| json!({"name": name, "type": "string", "jsonPath": path, "description": description});
    let mut age = column("Age", ".status.observedAt", "Since the agent last wrote");
    age["type"] = json!("date");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gpunodes.sluice.dev"},
        "spec": {
            "group": "sluice.dev",
            "scope": "Cluster",
            "names": {"kind": "GpuNode", "listKind": "GpuNodeList", "plural": "gpunodes", "singular": "gpunode"},
            "versions": [{
                "name": "v1alpha1",
                "served": true,
                "storage": true,
                "subresources": {"status": {}},
                "additionalPrinterColumns": [
                    column("Product", ".status.product", "Cards of the node"),
                    column("MIG", ".status.mig", "What MIG is on them, and why"),
                    column("Sharing", ".status.sharing", "How one card is shared"),
                    column("Driver", ".status.driverVersion", "Version of the driver"),
                    column("Ready", ".status.conditions[?(@.type==\"Ready\")].status", "Whether the node may take GPU Pods"),
                    column("Reason", ".status.conditions[?(@.type==\"Ready\")].reason", "Why"),
                    age,
                ],
                "schema": {"openAPIV3Schema": {
                    "type": "object",
                    "description": "What the cards of a node can do, as the node agent sees them.",
                    "properties": {"status": status_schema()},
                }},
            }],
        },
    })
}

/// The structural schema of the status. Kubernetes allows less than OpenAPI: no references, no default in a
/// status, and it warns of formats that it does not know.
fn status_schema() -> Value {
    let settings = SchemaSettings::openapi3().with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let mut schema = settings.into_generator().into_root_schema_for::<GpuNodeStatus>().to_value();
    structural(&mut schema);
    schema["properties"]["conditions"]["x-kubernetes-list-type"] = json!("map");
    schema["properties"]["conditions"]["x-kubernetes-list-map-keys"] = json!(["type"]);
    schema
}

fn structural(schema: &mut Value) {
    match schema {
        Value::Object(object) => {
            strip(object);
            object.values_mut().for_each(structural);
        }
        Value::Array(items) => items.iter_mut().for_each(structural),
        _ => {}
    }
}

fn strip(object: &mut Map<String, Value>) {
    // `properties` is a map of names: a field may be called like a keyword.
    if object.get("type").is_none_or(|kind| !kind.is_string()) {
        return;
    }
    for keyword in ["default", "title", "nullable"] {
        object.remove(keyword);
    }
    let unknown = |format: &Value| format.as_str().is_some_and(|format| format.starts_with("uint"));
    if object.get("format").is_some_and(unknown) {
        object.remove("format");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_schema_has_every_field_of_a_status_and_no_word_that_kubernetes_refuses() {
        let schema = status_schema();
        assert_eq!(schema["properties"]["devices"]["items"]["properties"]["memoryMib"]["type"], "integer");
        assert_eq!(schema["properties"]["devices"]["items"]["properties"]["mig"]["type"], "string");
        let text = schema.to_string();
        for word in ["$ref", "\"default\"", "uint", "oneOf", "anyOf"] {
            assert!(!text.contains(word), "{word} in {text}");
        }
    }
}
