//! A YAML document with the place of every key and value.
//!
//! Why not straight into the raw types: serde stops at the first fault of a document, and a person who
//! writes a policy wants to hear all of them. So a document is read into this tree, checked against the
//! schema as a whole ([`super::shape`]), and only then given to serde.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_saphyr::{DuplicateKeyPolicy, Spanned};

use super::error::Position;

/// A value and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Node {
    pub at: Position,
    pub value: Value,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    Null,
    Bool(bool),
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    /// In the order of the file; a key may occur twice.
    Map(Vec<(Key, Node)>),
}

/// A key and its place.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Key {
    pub at: Position,
    pub name: String,
}

/// One document of a file, not yet parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Chunk<'a> {
    /// Line of the file at which it starts, from 1.
    pub line: u64,
    pub text: &'a str,
}

/// Cuts a file at its document markers, so that a broken document does not take the next ones with it.
///
/// A line that starts with `---` and a blank is a marker wherever it stands (YAML 1.2, 9.1.2), even within
/// a quoted scalar. Documents without content are left out.
pub(super) fn chunks(text: &str) -> Vec<Chunk<'_>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut chunks = Vec::new();
    let (mut start, mut start_line, mut offset) = (0, 1, 0);
    for (index, line) in text.split_inclusive('\n').enumerate() {
        let here = index as u64 + 1;
        if offset > start && is_marker(line) {
            chunks.push(Chunk { line: start_line, text: &text[start..offset] });
            (start, start_line) = (offset, here);
        }
        offset += line.len();
    }
    chunks.push(Chunk { line: start_line, text: &text[start..] });
    chunks.retain(|chunk| has_content(chunk.text));
    chunks
}

fn is_marker(line: &str) -> bool {
    line.strip_prefix("---").is_some_and(|rest| rest.is_empty() || rest.starts_with([' ', '\t', '\r', '\n']))
}

fn has_content(text: &str) -> bool {
    text.lines().any(|line| {
        let line = line.strip_prefix("---").unwrap_or(line).trim();
        !line.is_empty() && !line.starts_with('#') && line != "..."
    })
}

/// Deepest nesting of a document. Reading recurses and takes tens of kilobytes a level without
/// optimisation; the deepest place of the schema is nine levels down.
const DEEPEST: usize = 24;

/// `apiVersion` and `kind` of a document, read without recursion, so that objects of other groups (a
/// CustomResourceDefinition nests deeply) need not be read further. Nothing where they are not plain text.
pub(super) fn head(chunk: Chunk<'_>) -> Option<(String, String)> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Head {
        api_version: String,
        kind: String,
    }
    let options = serde_saphyr::options! { with_snippet: false };
    let head: Head = serde_saphyr::from_str_with_options(chunk.text, options).ok()?;
    Some((head.api_version, head.kind))
}

/// Parses one document. An error is what is wrong and where, lines counted in the file.
pub(super) fn parse(chunk: Chunk<'_>) -> Result<Node, (Position, String)> {
    let options = serde_saphyr::options! {
        duplicate_keys: DuplicateKeyPolicy::PassThrough,
        with_snippet: false,
        budget: serde_saphyr::budget! {
            max_depth: DEEPEST,
            flow_nesting_limit: DEEPEST,
        },
    };
    let mut node: Node = serde_saphyr::from_str_with_options(chunk.text, options).map_err(|error| {
        let at =
            error.location().filter(|location| location.line() > 0).map_or(Position::START, |location| {
                Position { line: location.line(), column: location.column() }
            });
        let message = error.without_snippet().render_with_formatter(&serde_saphyr::UserMessageFormatter);
        (Position { line: at.line + chunk.line - 1, ..at }, first_line(&message))
    })?;
    node.move_down(chunk.line - 1);
    Ok(node)
}

/// The parser's sentence, without the place that we print ourselves.
fn first_line(message: &str) -> String {
    let line = message.lines().next().unwrap_or_default();
    let line = line.find(" at line ").map_or(line, |end| &line[..end]);
    line.trim_end_matches([':', '.']).to_owned()
}

impl Node {
    /// The value of a key; the first where it occurs twice.
    pub fn get(&self, key: &str) -> Option<&Self> {
        self.entry(key).map(|(_, node)| node)
    }

    /// Key and value.
    pub fn entry(&self, key: &str) -> Option<(&Key, &Self)> {
        let Value::Map(entries) = &self.value else { return None };
        entries.iter().find(|(known, _)| known.name == key).map(|(key, node)| (key, node))
    }

    /// An item of a list.
    pub fn item(&self, index: usize) -> Option<&Self> {
        let Value::List(items) = &self.value else { return None };
        items.get(index)
    }

    /// The text of a text value.
    pub fn text(&self) -> Option<&str> {
        match &self.value {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The same without places; of a key that occurs twice, the last value.
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::Value as Json;
        match &self.value {
            Value::Null => Json::Null,
            Value::Bool(value) => Json::Bool(*value),
            Value::Number(number) => Json::Number(number.clone()),
            Value::Text(text) => Json::String(text.clone()),
            Value::List(items) => Json::Array(items.iter().map(Self::to_json).collect()),
            Value::Map(entries) => {
                Json::Object(entries.iter().map(|(key, node)| (key.name.clone(), node.to_json())).collect())
            }
        }
    }

    fn move_down(&mut self, lines: u64) {
        self.at.line += lines;
        match &mut self.value {
            Value::List(items) => items.iter_mut().for_each(|item| item.move_down(lines)),
            Value::Map(entries) => {
                for (key, node) in entries {
                    key.at.line += lines;
                    node.move_down(lines);
                }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::Text(_) => {}
        }
    }
}

impl Value {
    /// What it is, for messages.
    pub const fn noun(&self) -> &'static str {
        match self {
            Self::Null => "empty",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::Text(_) => "text",
            Self::List(_) => "a list",
            Self::Map(_) => "a mapping",
        }
    }
}

fn position<T>(spanned: &Spanned<T>) -> Position {
    let location = spanned.referenced;
    Position { line: location.line().max(1), column: location.column().max(1) }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: position(&spanned), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<String>::deserialize(deserializer)?;
        Ok(Self { at: position(&spanned), name: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(serde_json::Number::from_f64(value).map_or_else(|| Value::Text(value.to_string()), Value::Number))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn only(text: &str) -> Node {
        let chunks = chunks(text);
        assert_eq!(chunks.len(), 1, "{chunks:?}");
        parse(chunks[0]).expect("it parses")
    }

    #[test]
    fn every_key_and_value_knows_its_place() {
        let node = only("# a comment\nspec:\n  list:\n    - one\n    - {two: 2}\n");
        let (key, spec) = node.entry("spec").unwrap();
        assert_eq!(key.at, Position { line: 2, column: 1 });
        let list = spec.get("list").unwrap();
        assert_eq!(list.item(0).unwrap().at, Position { line: 4, column: 7 });
        let (key, two) = list.item(1).unwrap().entry("two").unwrap();
        assert_eq!(key.at, Position { line: 5, column: 8 });
        assert_eq!(two.at, Position { line: 5, column: 13 });
        assert_eq!(two.value, Value::Number(2.into()));
    }

    #[test]
    fn a_key_that_occurs_twice_is_kept_twice() {
        let node = only("a: 1\na: 2\n");
        let Value::Map(entries) = &node.value else { panic!("a map") };
        assert_eq!(entries.len(), 2);
        assert_eq!(entries[1].0.at, Position { line: 2, column: 1 });
    }

    #[test]
    fn a_broken_document_does_not_take_the_next_one_with_it() {
        let text = "a: [1\n---\nb: 2\n--- # third\nc: \"x\n  y\"\n";
        let chunks = chunks(text);
        assert_eq!(chunks.iter().map(|chunk| chunk.line).collect::<Vec<_>>(), [1, 2, 4]);
        let (at, what) = parse(chunks[0]).unwrap_err();
        assert!(at.line <= 2 && !what.is_empty() && !what.contains("line"), "{at:?} {what}");
        assert_eq!(parse(chunks[1]).unwrap().entry("b").unwrap().0.at, Position { line: 3, column: 1 });
        assert_eq!(parse(chunks[2]).unwrap().entry("c").unwrap().0.at, Position { line: 5, column: 1 });
    }

    #[test]
    fn comments_and_empty_documents_are_nothing() {
        assert!(chunks("# only a comment\n---\n\n---\n...\n").is_empty());
        assert!(chunks("").is_empty());
    }

    #[test]
    fn numbers_booleans_and_nothing_keep_their_type() {
        let node = only("{n: -3, f: 1.5, b: true, e: , t: '1.30'}");
        assert_eq!(node.get("n").unwrap().value, Value::Number((-3).into()));
        assert_eq!(node.get("f").unwrap().value.noun(), "a number");
        assert_eq!(node.get("b").unwrap().value, Value::Bool(true));
        assert_eq!(node.get("e").unwrap().value, Value::Null);
        assert_eq!(node.get("t").unwrap().text(), Some("1.30"));
    }
}
