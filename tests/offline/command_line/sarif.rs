//! The shape of SARIF 2.1.0 (OASIS sarif-schema-2.1.0) as far as our log uses it: what must be there, of which type,
//! and which words are known.

use serde_json::Value;

/// What is wrong with a log; empty for a valid one.
pub fn problems(log: &Value) -> Vec<String> {
    let mut found = Found(Vec::new());
    found.only(log, "", &["$schema", "version", "runs"]);
    found.hold("version", log["version"] == "2.1.0");
    for run in found.list(&log["runs"], "runs") {
        found.only(run, "run", &["tool", "columnKind", "results"]);
        found.word(&run["columnKind"], "columnKind", &["utf16CodeUnits", "unicodeCodePoints"]);
        let driver = &run["tool"]["driver"];
        found.only(driver, "driver", &["name", "semanticVersion", "rules"]);
        found.text(&driver["name"], "driver.name");
        for rule in found.list(&driver["rules"], "rules") {
            let known = ["id", "shortDescription", "fullDescription", "help", "defaultConfiguration"];
            found.only(rule, "rule", &known);
            found.text(&rule["id"], "rule.id");
            for key in ["shortDescription", "fullDescription", "help"] {
                found.text(&rule[key]["text"], key);
            }
            found.word(
                &rule["defaultConfiguration"]["level"],
                "level",
                &["none", "note", "warning", "error"],
            );
        }
        let rules = driver["rules"].as_array().map_or(0, Vec::len);
        for result in found.list(&run["results"], "results") {
            found.result(result, rules);
        }
    }
    found.0
}

struct Found(Vec<String>);

impl Found {
    fn result(&mut self, result: &Value, rules: usize) {
        let known =
            ["ruleId", "ruleIndex", "level", "message", "locations", "partialFingerprints", "suppressions"];
        self.only(result, "result", &known);
        self.text(&result["ruleId"], "ruleId");
        self.hold("ruleIndex", result["ruleIndex"].as_u64().is_some_and(|index| index < rules as u64));
        self.word(&result["level"], "level", &["none", "note", "warning", "error"]);
        self.text(&result["message"]["text"], "message");
        for location in self.list(&result["locations"], "locations") {
            self.only(location, "location", &["logicalLocations", "physicalLocation"]);
            for logical in self.list(&location["logicalLocations"], "logicalLocations") {
                self.text(&logical["fullyQualifiedName"], "fullyQualifiedName");
                self.text(&logical["kind"], "kind");
            }
            if let Some(physical) = location.get("physicalLocation") {
                let uri = physical["artifactLocation"]["uri"].as_str().unwrap_or_default();
                self.hold("uri", !uri.is_empty() && !uri.contains([' ', '\\', '<', '>', '"']));
                self.hold("startLine", physical["region"]["startLine"].as_u64().is_some_and(|line| line > 0));
            }
        }
        for (_, value) in result["partialFingerprints"].as_object().into_iter().flatten() {
            self.text(value, "partialFingerprints");
        }
        for one in result["suppressions"].as_array().into_iter().flatten() {
            self.word(&one["kind"], "suppression", &["inSource", "external"]);
            self.text(&one["justification"], "justification");
        }
    }

    fn hold(&mut self, what: &str, holds: bool) {
        if !holds {
            self.0.push(what.to_owned());
        }
    }

    fn text(&mut self, value: &Value, what: &str) {
        self.hold(what, value.as_str().is_some_and(|text| !text.is_empty()));
    }

    fn word(&mut self, value: &Value, what: &str, words: &[&str]) {
        self.hold(what, value.as_str().is_some_and(|word| words.contains(&word)));
    }

    fn only(&mut self, value: &Value, what: &str, keys: &[&str]) {
        let unknown = value.as_object().into_iter().flatten().map(|(key, _)| key);
        let unknown: Vec<String> = unknown
            .filter(|key| !keys.contains(&key.as_str()))
            .map(|key| format!("{what} has {key}"))
            .collect();
        self.0.extend(unknown);
    }

    fn list<'a>(&mut self, value: &'a Value, what: &str) -> Vec<&'a Value> {
        self.hold(what, value.is_array());
        value.as_array().into_iter().flatten().collect()
    }
}
