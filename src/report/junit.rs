//! JUnit XML, as CI systems read it: a test suite for each file, a test case for each object, a failure
//! for each object that is refused (or warned about, where warnings fail).

use std::fmt::Write;

use super::json::{FindingResult, ObjectResult, VerdictWord};

/// The XML text. `fail_on` is the verdict from which an object counts as failed.
#[must_use]
pub fn text(results: &[ObjectResult], fail_on: VerdictWord) -> String {
    let failed = |result: &ObjectResult| result.verdict >= fail_on;
    let failures = |suite: &[ObjectResult]| suite.iter().filter(|result| failed(result)).count();
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let _ = writeln!(
        xml,
        "<testsuites name=\"sluice check\" tests=\"{}\" failures=\"{}\">",
        results.len(),
        failures(results)
    );
    for suite in results.chunk_by(|a, b| file(a) == file(b)) {
        let name = escape(file(&suite[0]));
        let _ = writeln!(
            xml,
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\">",
            suite.len(),
            failures(suite)
        );
        for result in suite {
            case(&mut xml, result, failed(result));
        }
        xml.push_str("  </testsuite>\n");
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn case(xml: &mut String, result: &ObjectResult, failed: bool) {
    let object = &result.object;
    let name = escape(&super::table::object_name(object));
    let line = result.source.as_ref().map_or_else(String::new, |source| format!(" line=\"{}\"", source.line));
    let head = format!(
        "    <testcase classname=\"{}\" name=\"{name}\" file=\"{}\"{line}",
        escape(&object.kind),
        escape(file(result))
    );
    let text: Vec<String> = result.findings.iter().map(finding).collect();
    let text = escape(&text.join("\n"));
    if failed {
        let verdict = if result.verdict == VerdictWord::Deny { "refused" } else { "warned" };
        let count = super::text::count(result.findings.len(), "finding");
        let _ = writeln!(
            xml,
            "{head}>\n      <failure type=\"{verdict}\" message=\"{verdict}: {count}\">{text}</failure>\n    </testcase>"
        );
    } else if text.is_empty() {
        let _ = writeln!(xml, "{head}/>");
    } else {
        let _ = writeln!(xml, "{head}>\n      <system-out>{text}</system-out>\n    </testcase>");
    }
}

fn finding(finding: &FindingResult) -> String {
    format!("{} {} {}: {}", finding.severity, finding.rule, finding.path, finding.message)
}

fn file(result: &ObjectResult) -> &str {
    result.source.as_ref().map_or("-", |source| &source.file)
}

/// Text that is safe in elements and attributes; characters that XML 1.0 cannot hold are left out.
pub(super) fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\n' | '\t' => escaped.push(c),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => {}
            c => escaped.push(c),
        }
    }
    escaped
}
