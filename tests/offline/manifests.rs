//! What is shipped for a cluster: `webhook-config/` and `deploy/`. What an API server makes of it is told by
//! the stories of `tests/cluster`, group `manifests`; here is what would be wrong on any of them.

mod scheduling;
mod webhooks;
mod workloads;

use serde_json::Value;

use crate::sources;

/// The documents of a shipped file.
fn documents(path: &str) -> Vec<Value> {
    parse(path, &sources::read(path))
}

fn parse(path: &str, text: &str) -> Vec<Value> {
    serde_saphyr::from_multiple(text).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// All documents of a kind in `deploy/`, patches left out.
fn shipped(kind: &str) -> Vec<Value> {
    let files = sources::below("deploy", ".yaml");
    let patches = ["webhooks-ignore.yaml", "backstop-audit.yaml", "stamp-audit.yaml"];
    let whole = files.iter().filter(|file| !patches.iter().any(|patch| file.path.ends_with(patch)));
    let all = whole.flat_map(|file| parse(&file.path, &file.text));
    all.filter(|document| document["kind"] == kind).collect()
}

/// The strings of a list; empty where there is none.
fn words(list: &Value) -> Vec<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

fn items(list: &Value) -> impl Iterator<Item = &Value> {
    list.as_array().into_iter().flatten()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}
