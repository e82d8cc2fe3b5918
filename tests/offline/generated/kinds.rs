//! `docs/kinds.md`: the kinds whose Pod templates are judged.

use std::fmt::Write as _;

use sluice::subject::templates::{Count, TEMPLATE_KINDS};

/// The whole document.
pub fn document() -> String {
    let mut text = String::from(
        "<!-- Generated from src/subject/templates.rs by `make generate`. -->\n\
         # Kinds that hold Pod templates\n\
         A Pod is judged when it is created. These kinds are judged as well, so that whoever applies one sees the \
         finding at once and not in the events of a ReplicaSet.\n\n\
         | kind | API | Pod template at | number of Pods |\n|---|---|---|---|\n",
    );
    for row in TEMPLATE_KINDS {
        let api = [row.group, row.version].join("/");
        for group in row.groups {
            let count = match group.count {
                Count::At(path) => format!("`{}`, 1 where absent", path.join(".")),
                Count::EveryNode => "one on each node".to_owned(),
            };
            let (kind, template) = (row.kind, group.template.join("."));
            writeln!(text, "| {kind} | {api} | `{template}` | {count} |").expect("a String takes all text");
        }
    }
    text
}
