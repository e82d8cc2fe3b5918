//! Parser events → a JSON value.

use std::collections::HashMap;

use serde_json::{Map, Value};
use serde_saphyr::granit_parser::{Event, Options, Parser, ScalarStyle, Span, StrInput, Tag, options};

use super::{Wrong, scalar};

/// Values that aliases may add to a document: beyond it, it is an attack and no manifest.
const ALIASED_MAX: usize = 1_000_000;

/// How the parser is set, for values and places alike.
pub(super) fn parser(text: &str) -> Parser<'_, StrInput<'_>> {
    Parser::new_from_str_with_options(text, settings())
}

/// The value of the first document of a text; null where it is empty.
pub(super) fn value(text: &str) -> Result<Value, Wrong> {
    let mut composer = Composer { events: parser(text), anchors: HashMap::new(), aliased: 0 };
    let mut value = Value::Null;
    let mut documents = 0;
    while let Some((event, span)) = composer.next()? {
        match event {
            Event::DocumentStart(..) if documents == 1 => {
                return Err(at(&span, "another document begins without `---`; kubectl would drop it"));
            }
            Event::DocumentStart(..) => documents = 1,
            Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
            event => value = composer.node(event, &span)?,
        }
    }
    Ok(value)
}

fn settings() -> Options {
    options! { emit_comments: false }
}

struct Composer<'a> {
    events: Parser<'a, StrInput<'a>>,
    /// Finished values by anchor, each with its size in values.
    anchors: HashMap<usize, (Value, usize)>,
    aliased: usize,
}

impl<'a> Composer<'a> {
    fn next(&mut self) -> Result<Option<(Event<'a>, Span)>, Wrong> {
        Ok(self.events.next().transpose()?)
    }

    fn expect(&mut self) -> Result<(Event<'a>, Span), Wrong> {
        let end = || Wrong { line: 1, column: 1, what: "the document ends too early".into() };
        self.next()?.ok_or_else(end)
    }

    fn node(&mut self, event: Event<'a>, span: &Span) -> Result<Value, Wrong> {
        let (anchor, value) = match event {
            Event::Scalar(text, style, anchor, tag) => {
                let plain = style == ScalarStyle::Plain;
                (anchor, scalar::value(&text, plain, tag.as_deref()).map_err(|what| at(span, &what))?)
            }
            Event::SequenceStart(_, anchor, _) => (anchor, self.sequence()?),
            Event::MappingStart(_, anchor, _) => (anchor, self.mapping()?),
            Event::Alias(anchor) => return self.alias(anchor, span),
            _ => return Err(at(span, "no value begins here")),
        };
        if anchor != 0 {
            let size = size(&value);
            self.anchors.insert(anchor, (value.clone(), size));
        }
        Ok(value)
    }

    fn alias(&mut self, anchor: usize, span: &Span) -> Result<Value, Wrong> {
        let (value, size) =
            self.anchors.get(&anchor).ok_or_else(|| at(span, "the alias stands within its own anchor"))?;
        self.aliased += size;
        if self.aliased > ALIASED_MAX {
            return Err(at(span, "aliases expand to more than a million values"));
        }
        Ok(value.clone())
    }

    fn sequence(&mut self) -> Result<Value, Wrong> {
        let mut items = Vec::new();
        loop {
            match self.expect()? {
                (Event::SequenceEnd, _) => return Ok(Value::Array(items)),
                (event, span) => items.push(self.node(event, &span)?),
            }
        }
    }

    fn mapping(&mut self) -> Result<Value, Wrong> {
        let mut entries = Map::new();
        loop {
            let (event, span) = self.expect()?;
            if matches!(event, Event::MappingEnd) {
                return Ok(Value::Object(entries));
            }
            let merge = is_merge(&event);
            let key = self.node(event, &span)?;
            let (event, value_span) = self.expect()?;
            let value = self.node(event, &value_span)?;
            if merge {
                merged(value, &mut entries).map_err(|what| at(&value_span, what))?;
            } else {
                // The last of equal keys wins, as in kubectl.
                entries.insert(key_text(key).map_err(|what| at(&span, what))?, value);
            }
        }
    }
}

fn is_merge(event: &Event<'_>) -> bool {
    let merge_tag = |tag: &Tag| tag.suffix_in_namespace("tag:yaml.org,2002:").as_deref() == Some("merge");
    match event {
        Event::Scalar(text, style, _, tag) => {
            text == "<<" && tag.as_deref().map_or(*style == ScalarStyle::Plain, merge_tag)
        }
        _ => false,
    }
}

/// Lays a mapping, or a sequence of mappings of which the first wins, over what stands before the merge key.
fn merged(value: Value, entries: &mut Map<String, Value>) -> Result<(), &'static str> {
    match value {
        Value::Object(map) => entries.extend(map),
        Value::Array(maps) => {
            for map in maps.into_iter().rev() {
                let Value::Object(map) = map else { return Err("only mappings can be merged") };
                entries.extend(map);
            }
        }
        _ => return Err("only mappings can be merged"),
    }
    Ok(())
}

/// Keys of JSON are texts: `1:` is `"1"` and `yes:` is `"true"`.
fn key_text(key: Value) -> Result<String, &'static str> {
    match key {
        Value::String(text) => Ok(text),
        Value::Bool(yes) => Ok(yes.to_string()),
        Value::Number(number) => Ok(number.to_string()),
        Value::Null => Err("a key may not be null"),
        Value::Array(_) | Value::Object(_) => Err("a key may not be a list or a mapping"),
    }
}

fn size(value: &Value) -> usize {
    1 + match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(entries) => entries.values().map(size).sum(),
        _ => 0,
    }
}

fn at(span: &Span, what: &str) -> Wrong {
    Wrong { line: span.start.line(), column: span.start.col() + 1, what: what.to_owned() }
}
