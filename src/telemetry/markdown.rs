//! `docs/metrics.md`, made from the table.

use std::fmt::Write;

use super::table::{AGENT, ALL, Metric, SECONDS, Shape};

/// The text of `docs/metrics.md`.
#[must_use]
pub fn markdown() -> String {
    let mut text = String::from(
        "# Metrics\n\n\
         Served as `/metrics` on the status port. This page is made from the table in \
         `src/telemetry/table.rs`; `UPDATE=1 cargo test --lib telemetry` writes it anew.\n\n\
         No metric carries the name of a Pod or of a user.\n\n\
         | metric | type | labels | what it tells |\n| --- | --- | --- | --- |\n",
    );
    for metric in ALL {
        row(&mut text, metric);
    }
    text.push_str(
        "\nThe node agent (`sluice agent`) serves these. Their labels join with dcgm-exporter's `UUID`.\n\n\
         | metric | type | labels | what it tells |\n| --- | --- | --- | --- |\n",
    );
    for metric in AGENT {
        row(&mut text, metric);
    }
    let bounds: Vec<String> = SECONDS.iter().map(f64::to_string).collect();
    let _ = write!(text, "\nUpper bounds of every histogram, in seconds: {}.\n", bounds.join(", "));
    text
}

fn row(text: &mut String, metric: &Metric) {
    let labels: Vec<String> = metric.labels.iter().map(|label| format!("`{label}`")).collect();
    let shape = Shape::as_str(metric.shape);
    let _ = writeln!(text, "| `{}` | {shape} | {} | {} |", metric.name, labels.join(", "), metric.help);
}
