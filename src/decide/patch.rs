//! Edits on raw JSON, and the JSON Patch (RFC 6902) that says the same.
//!
//! A patch that cannot be applied is a refusal by the API server even under `failurePolicy: Ignore`, so an
//! operation is made only after the same edit worked on the document: missing parents are made, existing
//! ones are kept, and what does not fit is left out.

use json_patch::{AddOperation, PatchOperation, RemoveOperation, ReplaceOperation, jsonptr::PointerBuf};
use serde_json::{Map, Value};

use crate::rules::Edit;

/// Applies an edit to the document and gives the operations that do the same; none where nothing changes.
pub(super) fn apply(document: &mut Value, edit: &Edit) -> Vec<PatchOperation> {
    match edit {
        Edit::Set(path, value) => set(document, path, value.clone()),
        Edit::Append(path, value) => append(document, path, value.clone()),
        Edit::Remove(path) => remove(document, path),
    }
}

fn set(document: &mut Value, path: &[String], value: Value) -> Vec<PatchOperation> {
    match at(document, path) {
        Some(existing) if *existing == value => Vec::new(),
        Some(existing) => {
            *existing = value.clone();
            vec![PatchOperation::Replace(ReplaceOperation { path: pointer(path), value })]
        }
        None => insert(document, path, value),
    }
}

fn append(document: &mut Value, path: &[String], value: Value) -> Vec<PatchOperation> {
    match at(document, path) {
        Some(Value::Array(items)) => {
            items.push(value.clone());
            let mut end = pointer(path);
            end.push_back("-");
            vec![PatchOperation::Add(AddOperation { path: end, value })]
        }
        Some(Value::Null) | None => set(document, path, Value::Array(vec![value])),
        Some(_) => Vec::new(),
    }
}

fn remove(document: &mut Value, path: &[String]) -> Vec<PatchOperation> {
    let Some((last, parents)) = path.split_last() else { return Vec::new() };
    let removed = match at(document, parents) {
        Some(Value::Object(map)) => map.shift_remove(last).is_some(),
        Some(Value::Array(items)) => match last.parse::<usize>() {
            Ok(index) if index < items.len() => {
                items.remove(index);
                true
            }
            _ => false,
        },
        _ => false,
    };
    let operation = || PatchOperation::Remove(RemoveOperation { path: pointer(path) });
    removed.then(operation).into_iter().collect()
}

/// Adds a value whose parents may be missing: one operation at the first missing key, holding the rest.
fn insert(document: &mut Value, path: &[String], value: Value) -> Vec<PatchOperation> {
    for depth in 0..path.len() {
        let Some(parent) = at(document, &path[..depth]) else { return Vec::new() };
        let last = depth + 1 == path.len();
        match parent {
            Value::Object(map) if last || !map.get(&path[depth]).is_some_and(is_container) => {
                // A scalar where a parent should be is the user's mistake; it is not ours to overwrite.
                if !last && map.get(&path[depth]).is_some_and(|v| !v.is_null()) {
                    return Vec::new();
                }
                let nested = nest(&path[depth + 1..], value);
                map.insert(path[depth].clone(), nested.clone());
                return vec![PatchOperation::Add(AddOperation {
                    path: pointer(&path[..=depth]),
                    value: nested,
                })];
            }
            Value::Object(_) => {}
            Value::Array(items) if path[depth].parse::<usize>().is_ok_and(|index| index < items.len()) => {}
            _ => return Vec::new(),
        }
    }
    Vec::new()
}

fn nest(path: &[String], value: Value) -> Value {
    path.iter().rev().fold(value, |inner, key| Value::Object(Map::from_iter([(key.clone(), inner)])))
}

fn is_container(value: &Value) -> bool {
    value.is_object() || value.is_array()
}

fn at<'a>(document: &'a mut Value, path: &[String]) -> Option<&'a mut Value> {
    path.iter().try_fold(document, |value, segment| match value {
        Value::Object(map) => map.get_mut(segment),
        Value::Array(items) => items.get_mut(segment.parse::<usize>().ok()?),
        _ => None,
    })
}

fn pointer(path: &[String]) -> PointerBuf {
    PointerBuf::from_tokens(path.iter().map(String::as_str))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn path(segments: &[&str]) -> Vec<String> {
        segments.iter().map(|&segment| segment.to_owned()).collect()
    }

    /// Applies the edit, and checks that its patch says the same to an independent implementation.
    fn check(before: &Value, edit: &Edit, want: &Value, operations: usize) {
        let (mut edited, mut patched) = (before.clone(), before.clone());
        let patch = apply(&mut edited, edit);
        json_patch::patch(&mut patched, &patch).expect("the patch can be applied");
        assert_eq!((&edited, &patched, patch.len()), (want, want, operations), "{edit:?}");
    }

    #[test]
    fn missing_parents_are_made_in_one_operation() {
        let edit = Edit::Set(path(&["spec", "affinity", "nodeAffinity"]), json!({"a": 1}));
        check(&json!({"spec": {}}), &edit, &json!({"spec": {"affinity": {"nodeAffinity": {"a": 1}}}}), 1);
        check(&json!({}), &edit, &json!({"spec": {"affinity": {"nodeAffinity": {"a": 1}}}}), 1);
        check(
            &json!({"spec": {"affinity": null}}),
            &edit,
            &json!({"spec": {"affinity": {"nodeAffinity": {"a": 1}}}}),
            1,
        );
    }

    #[test]
    fn slashes_and_tildes_in_keys_are_escaped() {
        let edit = Edit::Set(path(&["limits", "nvidia.com/gpu~x"]), json!("1"));
        check(&json!({"limits": {}}), &edit, &json!({"limits": {"nvidia.com/gpu~x": "1"}}), 1);
    }

    #[test]
    fn an_equal_value_is_no_operation() {
        check(&json!({"a": 1}), &Edit::Set(path(&["a"]), json!(1)), &json!({"a": 1}), 0);
    }

    #[test]
    fn appending_makes_the_array_where_there_is_none() {
        let edit = Edit::Append(path(&["spec", "tolerations"]), json!({"key": "k"}));
        check(&json!({"spec": {}}), &edit, &json!({"spec": {"tolerations": [{"key": "k"}]}}), 1);
        check(
            &json!({"spec": {"tolerations": null}}),
            &edit,
            &json!({"spec": {"tolerations": [{"key": "k"}]}}),
            1,
        );
        check(
            &json!({"spec": {"tolerations": [1]}}),
            &edit,
            &json!({"spec": {"tolerations": [1, {"key": "k"}]}}),
            1,
        );
    }

    #[test]
    fn elements_of_arrays_are_reached_by_index() {
        let edit = Edit::Set(path(&["c", "1", "env"]), json!([]));
        check(&json!({"c": [{}, {}]}), &edit, &json!({"c": [{}, {"env": []}]}), 1);
        check(&json!({"c": [{}]}), &edit, &json!({"c": [{}]}), 0);
    }

    #[test]
    fn a_scalar_in_the_way_is_left_alone() {
        let edit = Edit::Set(path(&["spec", "affinity", "x"]), json!(1));
        check(&json!({"spec": {"affinity": "odd"}}), &edit, &json!({"spec": {"affinity": "odd"}}), 0);
        check(
            &json!({"spec": "odd"}),
            &Edit::Append(path(&["spec", "a"]), json!(1)),
            &json!({"spec": "odd"}),
            0,
        );
    }

    #[test]
    fn removing_what_is_absent_is_no_operation() {
        check(&json!({"a": {"b": 1}}), &Edit::Remove(path(&["a", "b"])), &json!({"a": {}}), 1);
        check(&json!({"a": {}}), &Edit::Remove(path(&["a", "b"])), &json!({"a": {}}), 0);
    }
}
