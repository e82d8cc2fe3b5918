//! Changes of JSON that nobody would make on purpose.

use fastrand::Rng;
use serde_json::{Map, Value, json};

/// A key that no API has.
pub const MARK: &str = "xNobodyKnowsThis";

/// Spoils one place of a value.
pub fn once(value: &mut Value, rng: &mut Rng) {
    let mut paths = Vec::new();
    paths_of(value, &mut String::new(), &mut paths);
    let path = paths[rng.usize(..paths.len())].clone();
    let other = paths[rng.usize(..paths.len())].clone();
    match rng.usize(..6) {
        0 => remove(value, &path),
        1 => {
            let moved = value.pointer(&other).cloned().unwrap_or_default();
            // Within bounds: a value inside itself, a few times over, is large enough.
            if moved.to_string().len() < 4_000 {
                put(value, &path, moved);
            }
        }
        2 => {
            if let Some(Value::Array(items)) = value.pointer_mut(&path)
                && let Some(first) = items.first().cloned()
            {
                items.push(first);
            }
        }
        _ => put(value, &path, odd(rng)),
    }
}

fn odd(rng: &mut Rng) -> Value {
    match rng.usize(..16) {
        0 => Value::Null,
        1 => json!(true),
        2 => json!(-1),
        3 => json!(i64::MAX),
        4 => json!(i64::MIN),
        5 => json!(1e300),
        6 => json!(""),
        7 => json!("9".repeat(400)),
        8 => json!("\u{202e}\u{0000}🦀/~1.."),
        9 => json!([]),
        10 => json!({}),
        11 => (0..200).fold(json!(1), |inner, _| json!({"a": inner})),
        12 => (0..200).fold(json!(1), |inner, _| json!([inner])),
        13 => json!("9223372036854775807Ei"),
        14 => json!({"nvidia.com/gpu": "1", "nvidia.com/mig-1g.10gb": 3, "": "x"}),
        _ => json!(format!("{}", rng.u64(..))),
    }
}

fn paths_of(value: &Value, path: &mut String, paths: &mut Vec<String>) {
    paths.push(path.clone());
    let length = path.len();
    let mut step = |key: &str, inner: &Value| {
        path.push('/');
        path.push_str(&key.replace('~', "~0").replace('/', "~1"));
        paths_of(inner, path, paths);
        path.truncate(length);
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, inner)| step(key, inner)),
        Value::Array(items) => items.iter().enumerate().for_each(|(at, inner)| step(&at.to_string(), inner)),
        _ => {}
    }
}

fn put(value: &mut Value, path: &str, new: Value) {
    // kind and apiVersion stay: without them nothing is read at all.
    if path.is_empty() || path == "/kind" || path == "/apiVersion" {
        return;
    }
    if let Some(place) = value.pointer_mut(path) {
        *place = new;
    }
}

fn remove(value: &mut Value, path: &str) {
    let Some((parent, key)) = path.rsplit_once('/') else { return };
    let key = key.replace("~1", "/").replace("~0", "~");
    match value.pointer_mut(parent) {
        Some(Value::Object(map)) if key != "kind" && key != "apiVersion" => {
            map.remove(&key);
        }
        Some(Value::Array(items)) => {
            if let Some(at) = key.parse::<usize>().ok().filter(|at| *at < items.len()) {
                items.remove(at);
            }
        }
        _ => {}
    }
}

/// Puts a mark into every object whose fields are named by the API, and gives the pointers of the marks.
/// Maps of labels, resources and the like have no unknown fields.
pub fn mark_every_object(value: &mut Value) -> Vec<String> {
    const MAPS: [&str; 6] = ["labels", "annotations", "limits", "requests", "nodeSelector", "matchLabels"];
    let mut paths = Vec::new();
    paths_of(value, &mut String::new(), &mut paths);
    let is_map = |path: &String| path.rsplit('/').next().is_some_and(|key| MAPS.contains(&key));
    let mut marks = Vec::new();
    for path in paths.iter().filter(|path| !is_map(path)) {
        if let Some(Value::Object(map)) = value.pointer_mut(path) {
            map.insert(
                MARK.to_owned(),
                Value::Object(Map::from_iter([("deep".to_owned(), json!([1, null]))])),
            );
            marks.push(format!("{path}/{MARK}"));
        }
    }
    marks
}

/// Paths at which two values differ, as deep as they can be told apart.
pub fn differences(a: &Value, b: &Value, at: &mut Vec<String>, found: &mut Vec<Vec<String>>) {
    match (a, b) {
        (Value::Object(a), Value::Object(b)) => {
            let keys = a.keys().chain(b.keys().filter(|key| !a.contains_key(*key)));
            for key in keys {
                at.push(key.clone());
                match (a.get(key), b.get(key)) {
                    (Some(a), Some(b)) => differences(a, b, at, found),
                    _ => found.push(at.clone()),
                }
                at.pop();
            }
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => {
            for (index, (a, b)) in a.iter().zip(b).enumerate() {
                at.push(index.to_string());
                differences(a, b, at, found);
                at.pop();
            }
        }
        _ if a != b => found.push(at.clone()),
        _ => {}
    }
}
