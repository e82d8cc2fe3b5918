//! Checks a document against the schema of its kind and hands on what is sound.
//!
//! Knows of JSON Schema what schemars writes for [`super::raw`] and nothing more. What is faulty is left
//! out of the result, so that the meaning of the rest is judged in the same run.

use std::sync::LazyLock;

use serde_json::{Map, Value as Json};

use super::{
    error::{Faults, nearest},
    raw::{self, Kind},
    tree::{Key, Node, Value},
};

static SCHEMA: LazyLock<Json> = LazyLock::new(raw::schema);

/// Every fault of form in a document, told to `faults`; gives the document as JSON for serde, without the
/// parts that are faulty, or nothing where a required part is.
pub(super) fn check(node: &Node, kind: Kind, faults: &mut Faults<'_>) -> Option<Json> {
    let schema = &SCHEMA["definitions"][kind.as_str()];
    Checker { kind, faults }.value(node, schema, "")
}

struct Checker<'a, 'f> {
    kind: Kind,
    faults: &'a mut Faults<'f>,
}

impl Checker<'_, '_> {
    fn value(&mut self, node: &Node, schema: &Json, path: &str) -> Option<Json> {
        let schema = resolve(schema);
        if let Some(choices) = schema["oneOf"].as_array() {
            return self.word(node, choices, path);
        }
        if let Some(choices) = schema["anyOf"].as_array() {
            return self.alternatives(node, choices, path);
        }
        let types = types(schema);
        match &node.value {
            Value::Null if types.contains(&"null") => Some(Json::Null),
            Value::Bool(value) if types.contains(&"boolean") => Some(Json::Bool(*value)),
            Value::Text(text) if types.contains(&"string") => Some(Json::String(text.clone())),
            Value::Number(number) if fits(number, schema, &types) => Some(Json::Number(number.clone())),
            Value::List(items) if types.contains(&"array") => self.list(items, &schema["items"], path),
            Value::Map(entries) if types.contains(&"object") => self.map(node, entries, schema, path),
            _ => self.wrong_type(node, &expected(schema), path),
        }
    }

    /// An enum: one constant for each word.
    fn word(&mut self, node: &Node, choices: &[Json], path: &str) -> Option<Json> {
        let words: Vec<&str> = choices.iter().filter_map(|choice| choice["const"].as_str()).collect();
        match node.text() {
            Some(text) if words.contains(&text) => Some(Json::String(text.to_owned())),
            Some(text) => {
                // Where one word is possible, it is said already.
                let suggestion = (words.len() > 1).then(|| nearest(text, words.iter().copied())).flatten();
                self.faults.push(node.at, format!("{path} is `{text}`"), one_of(&words), suggestion);
                None
            }
            None => self.wrong_type(node, &one_of(&words), path),
        }
    }

    /// Several types (a quantity), or one type and null (an optional field).
    fn alternatives(&mut self, node: &Node, choices: &[Json], path: &str) -> Option<Json> {
        let real: Vec<&Json> = choices.iter().filter(|choice| choice["type"] != "null").collect();
        if node.value == Value::Null && real.len() < choices.len() {
            return Some(Json::Null);
        }
        if let [choice] = real.as_slice() {
            return self.value(node, choice, path);
        }
        for choice in &real {
            let mut quiet = Faults::new("");
            let found = Checker { kind: self.kind, faults: &mut quiet }.value(node, choice, path);
            if found.is_some() && quiet.is_empty() {
                return found;
            }
        }
        let nouns: Vec<String> = real.iter().map(|choice| noun(resolve(choice))).collect();
        self.wrong_type(node, &format!("it must be {}", nouns.join(" or ")), path)
    }

    fn list(&mut self, items: &[Node], schema: &Json, path: &str) -> Option<Json> {
        let read: Vec<Option<Json>> = items
            .iter()
            .enumerate()
            .map(|(index, item)| self.value(item, schema, &format!("{path}[{index}]")))
            .collect();
        read.into_iter().collect::<Option<Vec<Json>>>().map(Json::Array)
    }

    fn map(&mut self, node: &Node, entries: &[(Key, Node)], schema: &Json, path: &str) -> Option<Json> {
        let mut read = Map::new();
        let mut sound = true;
        for (index, (key, value)) in entries.iter().enumerate() {
            if let Some((first, _)) = entries[..index].iter().find(|(earlier, _)| earlier.name == key.name) {
                let what = format!("`{}` is given twice", join(path, &key.name));
                self.faults.push(key.at, what, format!("the first is in line {}", first.at.line), None);
                continue;
            }
            let Some(field) = self.field(key, schema, path) else { continue };
            match self.value(value, field, &join(path, &key.name)) {
                Some(json) => {
                    read.insert(key.name.clone(), json);
                }
                None => sound &= !required(schema).any(|name| name == key.name),
            }
        }
        for name in required(schema).filter(|name| node.entry(name).is_none()) {
            let whole = if path.is_empty() { self.kind.as_str() } else { path };
            self.faults.push(node.at, format!("{whole} has no `{name}`"), "it is required".to_owned(), None);
            sound = false;
        }
        sound.then_some(Json::Object(read))
    }

    /// The schema of one key, or a fault.
    fn field<'s>(&mut self, key: &Key, schema: &'s Json, path: &str) -> Option<&'s Json> {
        if let Some(field) = schema["properties"].get(&key.name) {
            return Some(field);
        }
        if schema["additionalProperties"].is_object() {
            return Some(&schema["additionalProperties"]);
        }
        let known = schema["properties"].as_object().map(|fields| fields.keys().map(String::as_str));
        let suggestion = nearest(&key.name, known.into_iter().flatten());
        let place = if path.is_empty() { self.kind.as_str() } else { path };
        let why = format!("a {} has no such field there", self.kind.as_str());
        self.faults.push(key.at, format!("unknown field `{}` in {place}", key.name), why, suggestion);
        None
    }

    fn wrong_type(&mut self, node: &Node, why: &str, path: &str) -> Option<Json> {
        let what = match &node.value {
            Value::Text(text) if text.len() <= 40 => format!("{path} is the text `{text}`"),
            Value::Number(number) => format!("{path} is the number {number}"),
            Value::Bool(value) => format!("{path} is {value}"),
            other => format!("{path} is {}", other.noun()),
        };
        let what = if path.is_empty() { format!("the document{what}") } else { what };
        self.faults.push(node.at, what, why.to_owned(), None);
        None
    }
}

/// Follows references: `$ref`, alone or in the `allOf` that keeps a description beside it.
fn resolve(schema: &Json) -> &Json {
    let mut schema = schema;
    loop {
        let target = schema["$ref"].as_str().or_else(|| schema["allOf"][0]["$ref"].as_str());
        match target.and_then(|target| target.strip_prefix("#/definitions/")) {
            Some(name) => schema = &SCHEMA["definitions"][name],
            None => return schema,
        }
    }
}

fn types(schema: &Json) -> Vec<&str> {
    match &schema["type"] {
        Json::String(one) => vec![one.as_str()],
        Json::Array(several) => several.iter().filter_map(Json::as_str).collect(),
        _ => Vec::new(),
    }
}

fn required(schema: &Json) -> impl Iterator<Item = &str> {
    schema["required"].as_array().into_iter().flatten().filter_map(Json::as_str)
}

fn fits(number: &serde_json::Number, schema: &Json, types: &[&str]) -> bool {
    if types.contains(&"number") {
        return true;
    }
    let largest = if schema["format"] == "uint32" { u64::from(u32::MAX) } else { u64::MAX };
    types.contains(&"integer") && number.as_u64().is_some_and(|value| value <= largest)
}

fn expected(schema: &Json) -> String {
    format!("it must be {}", noun(schema))
}

fn noun(schema: &Json) -> String {
    let known = types(schema).into_iter().filter(|name| *name != "null").map(|name| match name {
        "string" => "text (in quotes where it looks like a number)",
        "integer" => "a whole number, not negative",
        "number" => "a number",
        "boolean" => "true or false",
        "array" => "a list",
        "object" => "a mapping",
        other => other,
    });
    known.collect::<Vec<_>>().join(" or ")
}

fn one_of(words: &[&str]) -> String {
    match words {
        [word] => format!("it must be `{word}`"),
        words => format!("it must be one of {}", words.join(", ")),
    }
}

fn join(path: &str, key: &str) -> String {
    if path.is_empty() { key.to_owned() } else { format!("{path}.{key}") }
}
