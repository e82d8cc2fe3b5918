//! What `sluice test` prints: each test with what differs, the coverage and a line that sums up; and the same as
//! JUnit XML.

use std::io::{self, Write};

use super::{
    junit::escape,
    table::Paint,
    text::{count, line},
};

/// What a run of tests came to.
#[derive(Clone, Debug, Default)]
pub struct TestReport {
    /// Every test, in the order of the files.
    pub tests: Vec<TestResult>,
    /// What no test asks for, and how much there is.
    pub coverage: Coverage,
}

/// What one test came to.
#[derive(Clone, Debug, Default)]
pub struct TestResult {
    /// Its name.
    pub name: String,
    /// Its file.
    pub file: String,
    /// What it shows.
    pub description: String,
    /// Its objects.
    pub objects: Vec<TestedObject>,
}

/// An object of a test.
#[derive(Clone, Debug, Default)]
pub struct TestedObject {
    /// `Pod ml/chat`.
    pub name: String,
    /// Where it is not what was expected; empty where it is.
    pub differences: Vec<Difference>,
}

/// One thing that is not what was expected.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// Which: `verdict`, `rules`, …
    pub what: &'static str,
    /// What was expected.
    pub expected: String,
    /// What came.
    pub got: String,
    /// What is missing (`-`) and what nobody expected (`+`), each with what is known of it.
    pub details: Vec<String>,
}

/// What the tests ask for, of what there is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Coverage {
    /// Number of classes.
    pub classes: usize,
    /// Classes that no expectation names.
    pub untested_classes: Vec<String>,
    /// Number of rules.
    pub rules: usize,
    /// Rules that no expectation names.
    pub untested_rules: Vec<String>,
}

impl TestResult {
    /// Whether everything is as expected.
    #[must_use]
    pub fn passed(&self) -> bool {
        self.objects.iter().all(|object| object.differences.is_empty())
    }
}

impl TestReport {
    /// Tests that failed.
    #[must_use]
    pub fn failed(&self) -> usize {
        self.tests.iter().filter(|test| !test.passed()).count()
    }
}

impl std::fmt::Display for Difference {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: expected {}, got {}", self.what, self.expected, self.got)
    }
}

/// Writes it for people; `untested`: with the names of what no test asks for.
///
/// # Errors
/// The writer's.
pub fn write(out: &mut impl Write, report: &TestReport, untested: bool, colour: bool) -> io::Result<()> {
    let paint = Paint { colour };
    for test in &report.tests {
        let word = if test.passed() { paint.good("ok  ") } else { paint.bad("FAIL") };
        writeln!(out, "{word}  {}  {}", line(&test.name), line(&test.file))?;
        if test.passed() {
            continue;
        }
        if !test.description.is_empty() {
            writeln!(out, "      {}", line(&test.description))?;
        }
        for object in test.objects.iter().filter(|object| !object.differences.is_empty()) {
            writeln!(out, "      {}", paint.bold(&line(&object.name)))?;
            for text in lines(object) {
                writeln!(out, "        {text}")?;
            }
        }
    }
    let coverage = &report.coverage;
    writeln!(
        out,
        "{}: {} passed, {} failed; named by a test: {} of {}, {} of {}",
        count(report.tests.len(), "test"),
        report.tests.len() - report.failed(),
        report.failed(),
        coverage.classes - coverage.untested_classes.len(),
        count(coverage.classes, "class").replace("classs", "classes"),
        coverage.rules - coverage.untested_rules.len(),
        count(coverage.rules, "rule"),
    )?;
    if untested {
        writeln!(out, "classes that no test names: {}", or_none(&coverage.untested_classes))?;
        writeln!(out, "rules that no test names: {}", or_none(&coverage.untested_rules))?;
    }
    Ok(())
}

/// JUnit XML: a suite for each test, a case for each of its objects.
#[must_use]
pub fn junit(report: &TestReport) -> String {
    let objects = |tests: &[TestResult]| tests.iter().map(|test| test.objects.len()).sum::<usize>();
    let failures = |tests: &[TestResult]| {
        let objects = tests.iter().flat_map(|test| &test.objects);
        objects.filter(|object| !object.differences.is_empty()).count()
    };
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    xml += &format!(
        "<testsuites name=\"sluice test\" tests=\"{}\" failures=\"{}\">\n",
        objects(&report.tests),
        failures(&report.tests)
    );
    for test in &report.tests {
        let one = std::slice::from_ref(test);
        let name = escape(&test.name);
        xml += &format!(
            "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" file=\"{}\">\n",
            objects(one),
            failures(one),
            escape(&test.file)
        );
        for object in &test.objects {
            let head = format!("    <testcase classname=\"{name}\" name=\"{}\"", escape(&object.name));
            if object.differences.is_empty() {
                xml += &format!("{head}/>\n");
                continue;
            }
            xml += &format!(
                "{head}>\n      <failure type=\"difference\" message=\"{}\">{}</failure>\n    </testcase>\n",
                escape(&count(object.differences.len(), "difference")),
                escape(&lines(object).join("\n"))
            );
        }
        xml += "  </testsuite>\n";
    }
    xml + "</testsuites>\n"
}

fn lines(object: &TestedObject) -> Vec<String> {
    let with_details = |difference: &Difference| {
        let details = difference.details.iter().map(|detail| format!("  {}", line(detail)));
        std::iter::once(line(&difference.to_string())).chain(details).collect::<Vec<_>>()
    };
    object.differences.iter().flat_map(with_details).collect()
}

fn or_none(names: &[String]) -> String {
    if names.is_empty() { "none".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report() -> TestReport {
        let difference = Difference {
            what: "rules",
            expected: "none".into(),
            got: "tp-on-mig".into(),
            details: vec!["+ tp-on-mig  spec: is <2>; should be 1".into()],
        };
        let object = |differences| TestedObject { name: "Pod ml/a".into(), differences };
        let test = |name: &str, differences| TestResult {
            name: name.into(),
            file: "tests/a.yaml".into(),
            description: "what it shows".into(),
            objects: vec![object(differences)],
        };
        TestReport {
            tests: vec![test("good", vec![]), test("bad", vec![difference])],
            coverage: Coverage {
                classes: 2,
                untested_classes: vec!["asr".into()],
                rules: 3,
                untested_rules: vec!["a".into(), "b".into()],
            },
        }
    }

    #[test]
    fn what_failed_is_told_with_what_differs_and_the_rest_in_a_line_each() {
        let mut out = Vec::new();
        write(&mut out, &report(), true, false).expect("memory");
        assert_eq!(
            String::from_utf8(out).expect("text"),
            "ok    good  tests/a.yaml\n\
             FAIL  bad  tests/a.yaml\n      what it shows\n      Pod ml/a\n        \
             rules: expected none, got tp-on-mig\n          + tp-on-mig  spec: is <2>; should be 1\n\
             2 tests: 1 passed, 1 failed; named by a test: 1 of 2 classes, 1 of 3 rules\n\
             classes that no test names: asr\nrules that no test names: a, b\n"
        );
    }

    #[test]
    fn junit_counts_objects_and_escapes_what_differs() {
        let xml = junit(&report());
        assert!(xml.contains("<testsuites name=\"sluice test\" tests=\"2\" failures=\"1\">"), "{xml}");
        assert!(xml.contains("+ tp-on-mig  spec: is &lt;2&gt;; should be 1</failure>"), "{xml}");
        assert!(xml.contains("<testcase classname=\"good\" name=\"Pod ml/a\"/>"), "{xml}");
    }
}
