//! As much of JSON Schema (draft 2020-12) as our own schemas use. A validator from a library would turn on
//! features of crates that the program shares, and so have all of them built twice.

use serde_json::Value;

/// Where a value does not hold a schema, as JSON pointers with what is wrong there.
pub fn problems(root: &Value, value: &Value) -> Vec<String> {
    let mut found = Vec::new();
    check(root, root, value, "", &mut found);
    found
}

// Long because each keyword of the schema is an arm.
fn check(root: &Value, schema: &Value, value: &Value, at: &str, found: &mut Vec<String>) {
    for (keyword, wanted) in schema.as_object().into_iter().flatten() {
        match keyword.as_str() {
            "$ref" => {
                let pointer =
                    wanted.as_str().and_then(|text| text.strip_prefix('#')).expect("a local reference");
                check(root, root.pointer(pointer).expect("the reference leads somewhere"), value, at, found);
            }
            "type" => {
                let types = wanted.as_array().cloned().unwrap_or_else(|| vec![wanted.clone()]);
                if !types.iter().any(|name| is(name.as_str().expect("a type"), value)) {
                    found.push(format!("{at}: is not {wanted}"));
                }
            }
            "required" => {
                let missing = wanted.as_array().expect("a list").iter().filter_map(Value::as_str);
                found.extend(
                    missing.filter(|key| value.get(key).is_none()).map(|key| format!("{at}: lacks {key}")),
                );
            }
            "properties" => {
                for (key, schema) in wanted.as_object().expect("properties") {
                    if let Some(value) = value.get(key) {
                        check(root, schema, value, &format!("{at}/{key}"), found);
                    }
                }
            }
            "additionalProperties" => match wanted {
                Value::Bool(false) => {
                    let known = schema.get("properties").and_then(Value::as_object);
                    let unknown = value.as_object().into_iter().flatten().map(|(key, _)| key);
                    let unknown = unknown.filter(|key| !known.is_some_and(|known| known.contains_key(*key)));
                    found.extend(unknown.map(|key| format!("{at}: has {key}")));
                }
                schema => {
                    for (key, value) in value.as_object().into_iter().flatten() {
                        check(root, schema, value, &format!("{at}/{key}"), found);
                    }
                }
            },
            "allOf" => {
                wanted
                    .as_array()
                    .into_iter()
                    .flatten()
                    .for_each(|schema| check(root, schema, value, at, found));
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, wanted, item, &format!("{at}/{index}"), found);
                }
            }
            "const" if wanted != value => found.push(format!("{at}: is not {wanted}")),
            "enum" if !wanted.as_array().is_some_and(|values| values.contains(value)) => {
                found.push(format!("{at}: is none of {wanted}"));
            }
            "oneOf" | "anyOf" => {
                let fits = |schema: &&Value| {
                    let mut found = Vec::new();
                    check(root, schema, value, at, &mut found);
                    found.is_empty()
                };
                if !wanted.as_array().expect("a list").iter().any(|schema| fits(&schema)) {
                    found.push(format!("{at}: is none of the {keyword}"));
                }
            }
            "minimum" if value.as_f64() < wanted.as_f64() => found.push(format!("{at}: is below {wanted}")),
            "$schema" | "$defs" | "definitions" | "title" | "description" | "format" | "const" | "enum"
            | "minimum" | "examples" | "default" | "uniqueItems" => {}
            other => panic!("the keyword {other} is not understood here"),
        }
    }
}

fn is(name: &str, value: &Value) -> bool {
    match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "null" => value.is_null(),
        other => panic!("the type {other} does not exist"),
    }
}
