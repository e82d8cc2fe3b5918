//! Where the values of a document stand.

use serde_saphyr::granit_parser::{Event, Parser, StrInput};

use super::compose;

/// The lines of a document's values; of values under an alias or a merge key, the line of that.
#[derive(Clone, Debug, Default)]
pub struct Places {
    line: usize,
    children: Vec<(String, Places)>,
}

impl Places {
    /// Line of the value at these keys and indices, from 1; of the nearest value above it where the
    /// document holds none there. A key's own line, where its value begins below it.
    #[must_use]
    pub fn line<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> usize {
        let mut here = self;
        for key in keys {
            match here.children.iter().rev().find(|(known, _)| known == key) {
                Some((_, below)) => here = below,
                None => break,
            }
        }
        here.line
    }

    /// The lines of the items at these keys.
    pub fn item_lines<'k>(&self, keys: impl IntoIterator<Item = &'k str>) -> impl Iterator<Item = usize> {
        let list = keys.into_iter().try_fold(self, |here, key| {
            here.children.iter().rev().find(|(known, _)| known == key).map(|(_, below)| below)
        });
        list.into_iter().flat_map(|list| list.children.iter().map(|(_, item)| item.line))
    }

    /// Reads the places of a document whose text begins at that line.
    #[must_use]
    pub fn read(text: &str, first_line: usize) -> Self {
        let mut reader = Reader { events: compose::parser(text), first_line };
        while let Some(event) = reader.next() {
            if !matches!(event.0, Event::StreamStart | Event::DocumentStart(..)) {
                return reader.node(event).unwrap_or_default();
            }
        }
        Self { line: first_line, children: Vec::new() }
    }
}

struct Reader<'a> {
    events: Parser<'a, StrInput<'a>>,
    first_line: usize,
}

type Placed<'a> = (Event<'a>, usize);

impl<'a> Reader<'a> {
    /// Faults end the reading: who asks for places has read the value before.
    fn next(&mut self) -> Option<Placed<'a>> {
        let (event, span) = self.events.next()?.ok()?;
        Some((event, self.first_line + span.start.line().saturating_sub(1)))
    }

    fn node(&mut self, (event, line): Placed<'a>) -> Option<Places> {
        let mut children = Vec::new();
        match event {
            Event::SequenceStart(..) => loop {
                match self.next()? {
                    (Event::SequenceEnd, _) => break,
                    item => children.push((children.len().to_string(), self.node(item)?)),
                }
            },
            Event::MappingStart(..) => loop {
                match self.next()? {
                    (Event::MappingEnd, _) => break,
                    key => {
                        let line = key.1;
                        let name = self.key(key)?;
                        let value = self.next()?;
                        children.push((name, Places { line, ..self.node(value)? }));
                    }
                }
            },
            _ => {}
        }
        Some(Places { line, children })
    }

    fn key(&mut self, key: Placed<'a>) -> Option<String> {
        match key.0 {
            Event::Scalar(text, ..) => Some(text.into_owned()),
            _ => self.node(key).map(|_| String::new()),
        }
    }
}
