//! `docs/kinds.md`: the kinds whose Pod templates are judged.

use std::fmt::Write as _;

use sluice::subject::templates::{Count, Layout, Number, TEMPLATE_KINDS};

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
        let api = [row.group, row.versions[0]].join("/");
        for group in row.groups {
            let count = match group.count {
                Count::At(number) => in_words(number),
                Count::Product(one, other) => format!("{} × {}", in_words(one), in_words(other)),
                Count::EveryNode => "one on each node".to_owned(),
                Count::Same | Count::Unknown => "not said".to_owned(),
            };
            let what = match group.layout {
                Layout::Template => "",
                Layout::Spec => ", a Pod spec",
                Layout::Component => ", fields of a Pod spec and a server's",
                Layout::Step { .. } => ", a step",
                Layout::Trainer => ", one container's fields",
            };
            let together = if group.together == Count::Unknown { "" } else { "; all or none" };
            let kind = row.kind;
            writeln!(text, "| {kind} | {api} | `{}`{what} | {count}{together} |", group.template)
                .expect("a String takes all text");
        }
    }
    text.push_str(
        "\nA policy adds kinds of its own: `templateKinds` of an AdmissionPolicy. In files that are given to `check`, \
         documents of every other kind are searched for what looks like a Pod; the API server asks about the kinds \
         of this table only.\n\n\
         A template is judged and never changed: what is missing is added to its Pods.\n",
    );
    text
}

fn in_words(number: Number<'_>) -> String {
    if number.at.is_empty() {
        return number.otherwise.to_string();
    }
    let or = if number.or.is_empty() { String::new() } else { format!(", else `{}`", number.or) };
    let least =
        if number.at_least.is_empty() { String::new() } else { format!(", at least `{}`", number.at_least) };
    let leader = if number.less_one_for.is_empty() {
        String::new()
    } else {
        format!(", less one where `{}` is given", number.less_one_for)
    };
    format!("`{}`{or}, {} where absent{least}{leader}", number.at, number.otherwise)
}
