//! Files that are generated from the tables of the code. The test fails where one differs; `make generate`
//! writes them anew.

mod configurations;
mod kinds;

use std::fs;

use sluice::cli::manifests;

use crate::sources;

/// A path and what the file must hold.
type Generated = (&'static str, fn() -> String);

const FILES: &[Generated] = &[
    ("docs/check-report.schema.json", report_schema),
    ("docs/kinds.md", kinds::document),
    ("docs/rules.md", sluice::report::rules_doc::markdown),
    ("deploy/agent/gpunode.yaml", manifests::gpu_node_definition),
    ("deploy/base/picture-role.yaml", manifests::picture_role),
    ("deploy/base/scheduler-config.yaml", manifests::gpu_scheduler),
    ("deploy/overlays/availability/default-scheduler.yaml", manifests::default_scheduler),
    ("policies/schema.json", policy_schema),
    ("policies/tests/schema.json", test_schema),
    ("webhook-config/backstop.yaml", configurations::backstop),
    ("webhook-config/mutating.yaml", configurations::mutating),
    ("webhook-config/validating.yaml", configurations::validating),
];

fn report_schema() -> String {
    let schema = sluice::report::json::schema();
    serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n"
}

fn policy_schema() -> String {
    serde_json::to_string_pretty(&sluice::policy::schema()).expect("a schema is JSON") + "\n"
}

fn test_schema() -> String {
    serde_json::to_string_pretty(&sluice::policy::test_schema()).expect("a schema is JSON") + "\n"
}

#[test]
fn generated_files_are_what_the_tables_say() {
    let write = std::env::var_os("SLUICE_GENERATE").is_some_and(|value| value == "1");
    for (path, generate) in FILES {
        let want = generate();
        let file = sources::root().join(path);
        if write {
            fs::write(&file, &want).unwrap_or_else(|e| panic!("{path}: {e}"));
        }
        let have = fs::read_to_string(&file).unwrap_or_default();
        assert!(have == want, "{path} is not what the tables say: run `make generate`");
    }
}
