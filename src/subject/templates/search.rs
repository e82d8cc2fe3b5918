//! What looks like a Pod in a document of an unknown kind: an object with a list of containers. Used for files
//! that are given to `check` and for kinds that a policy names, never for whatever passes the API server.

use serde_json::Value;

use super::{Failure, GroupPath, Layout, read};
use crate::subject::PodGroup;

/// API groups whose objects speak of Pods without making any: policies, schemas, runtime and network settings.
const SPEAK_OF_PODS: [&str; 10] = [
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "config.gatekeeper.sh",
    "constraints.gatekeeper.sh",
    "kyverno.io",
    "mutations.gatekeeper.sh",
    "policies.kubewarden.io",
    "policies.kyverno.io",
    "sluice.dev",
    "templates.gatekeeper.sh",
];

/// How deep a template is looked for, and how many are taken: real ones stand within ten levels.
const DEEPEST: usize = 12;
const MOST: usize = 64;

/// The Pod groups of an object of an unknown kind.
///
/// # Errors
/// The path and what is wrong there, where a template has a value of another type.
pub fn search(object: &Value) -> Result<Vec<PodGroup>, Failure> {
    let group = object["apiVersion"].as_str().map_or("", super::group_of);
    if SPEAK_OF_PODS.contains(&group) {
        return Ok(Vec::new());
    }
    let mut places = Vec::new();
    look(object, String::new(), 0, &mut places);
    let mut groups = Vec::new();
    for (place, layout) in places {
        groups.extend(read(&GroupPath { layout, ..GroupPath::of(&place) }, object)?);
    }
    Ok(groups)
}

fn look(value: &Value, place: String, depth: usize, places: &mut Vec<(String, Layout<'static>)>) {
    if depth > DEEPEST || places.len() >= MOST {
        return;
    }
    match value {
        _ if is_pod_spec(value) => places.push(match place.strip_suffix(".spec") {
            Some(template) => (template.to_owned(), Layout::Template),
            // The object's own `spec` has no Pod's metadata beside it.
            None => (place, Layout::Spec),
        }),
        Value::Object(map) => {
            for (key, next) in map.iter().filter(|(key, _)| *key != "status" && *key != "metadata") {
                let quoted = key.contains(['.', '[', '/']);
                let words = if quoted { format!("[\"{key}\"]") } else { format!(".{key}") };
                let next_place = format!("{place}{words}");
                look(next, next_place.trim_start_matches('.').to_owned(), depth + 1, places);
            }
        }
        Value::Array(items) => {
            for (index, next) in items.iter().enumerate() {
                look(next, format!("{place}[{index}]"), depth + 1, places);
            }
        }
        _ => {}
    }
}

/// A list of containers, each with a name and what it runs or asks for.
fn is_pod_spec(value: &Value) -> bool {
    const SAYS: [&str; 4] = ["image", "resources", "command", "args"];
    let Some(containers) = value.get("containers").and_then(Value::as_array) else { return false };
    let is_container =
        |item: &Value| item["name"].is_string() && SAYS.iter().any(|key| !item[*key].is_null());
    !containers.is_empty() && containers.iter().all(is_container)
}
