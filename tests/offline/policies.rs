//! Policy files as people write them: the shipped folder, every fault with its exact text, and files that
//! were damaged at random.

mod damaged;

use std::{fs, path::Path};

use sluice::{
    policy::{self, PolicySet, SourceFile},
    rules,
};

use crate::{golden, sources::root};

/// The files of a folder, by path.
fn files(folder: &Path) -> Vec<SourceFile> {
    fn walk(folder: &Path, shown: &str, files: &mut Vec<SourceFile>) {
        for entry in fs::read_dir(folder).expect("the folder is there").map(|entry| entry.expect("an entry"))
        {
            let path = format!("{shown}{}", entry.file_name().to_string_lossy());
            if entry.path().is_dir() {
                walk(&entry.path(), &format!("{path}/"), files);
            } else if policy::is_policy_file(&path) {
                files.push(SourceFile { text: fs::read_to_string(entry.path()).expect("text"), path });
            }
        }
    }
    let mut files_of = Vec::new();
    walk(folder, "", &mut files_of);
    files_of.sort_by(|a, b| a.path.cmp(&b.path));
    files_of
}

fn shipped() -> Vec<SourceFile> {
    files(&root().join("policies"))
}

fn compile(files: &[SourceFile]) -> Result<PolicySet, String> {
    policy::compile(files, "test", &rules::ids())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

#[test]
fn the_shipped_folder_is_sound_and_without_doubts() {
    let set = compile(&shipped()).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(set.warnings.is_empty(), "{:?}", set.warnings);
    let names = |names: Vec<&str>| names.join(" ");
    assert_eq!(names(set.classes.iter().map(|class| &*class.name).collect()), "asr batch embedding llm");
    assert_eq!(
        names(set.pools.iter().map(|pool| &*pool.name).collect()),
        "a10-mps h100-mig h100-whole l4-time-slicing"
    );
    let priorities: Vec<_> = set.classes.iter().filter_map(|class| class.priority_class.clone()).collect();
    let file = fs::read_to_string(root().join("policies/priorityclasses.yaml")).expect("it is there");
    for name in priorities {
        assert!(file.contains(&format!("  name: {name}\n")), "{name}");
    }
}

#[test]
fn every_shipped_file_tells_editors_its_schema() {
    for file in shipped().iter().filter(|file| file.path != "priorityclasses.yaml") {
        let up = "../".repeat(file.path.matches('/').count());
        let line = format!("# yaml-language-server: $schema={up}schema.json\n");
        assert!(file.text.starts_with(&line), "{}", file.path);
    }
}

#[test]
fn the_built_in_set_is_the_shipped_classes_and_policy() {
    let built_in = policy::built_in(&rules::ids());
    assert_eq!(built_in.revision, "built-in");
    assert!(built_in.pools.is_empty() && built_in.exceptions.is_empty() && built_in.warnings.is_empty());
    let shipped = compile(&shipped()).unwrap_or_else(|errors| panic!("{errors}"));
    assert_eq!(format!("{:?}", built_in.classes), format!("{:?}", shipped.classes));
    assert_eq!(format!("{:?}", built_in.policies), format!("{:?}", shipped.policies));
}

#[test]
fn a_folder_with_a_class_of_its_own_has_no_built_in_ones() {
    let own = "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {name: own}\n\
               spec: {pools: [{mode: exclusive}]}\n";
    let set = compile(&[SourceFile { path: "own.yaml".into(), text: own.into() }]).expect("it is sound");
    assert_eq!(set.classes.len(), 1);
    assert_eq!(&*set.policies[0].name, "default");
}

/// Each file of `faults/` has beside it what is told about it; `make generate` writes that anew.
#[test]
fn every_fault_is_told_with_its_place_its_reason_and_what_was_meant() {
    let folder = root().join("tests/offline/policies/faults");
    let mut seen = 0;
    for file in files(&folder) {
        let text = match policy::compile(std::slice::from_ref(&file), "test", &rules::ids()) {
            Ok(set) => {
                assert!(!set.warnings.is_empty(), "{} has no fault", file.path);
                set.warnings.iter().map(|warning| format!("warning: {warning}\n")).collect::<String>()
            }
            Err(errors) => errors.iter().map(|error| format!("{error}\n")).collect(),
        };
        golden::assert_same(&format!("tests/offline/policies/faults/{}.txt", file.path), &text);
        seen += 1;
    }
    assert!(seen >= 30, "{seen}");
}

#[test]
fn faults_of_several_files_are_told_together_in_order() {
    let folder = root().join("tests/offline/policies/faults");
    let all = files(&folder);
    let alone: usize = ["bad-yaml.yaml", "unknown-field.yaml"]
        .iter()
        .map(|name| {
            fs::read_to_string(folder.join(format!("{name}.txt"))).expect("it is there").lines().count()
        })
        .sum();
    let two: Vec<SourceFile> = all
        .into_iter()
        .filter(|file| ["bad-yaml.yaml", "unknown-field.yaml"].contains(&&*file.path))
        .collect();
    let errors = policy::compile(&two, "test", &rules::ids()).expect_err("both are faulty");
    assert_eq!(errors.len(), alone);
    assert!(errors.is_sorted(), "by file, line and column");
}

#[test]
fn a_name_that_is_given_twice_names_both_files() {
    let pool = |path: &str, label: &str| SourceFile {
        path: path.into(),
        text: format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: GpuPool\nmetadata:\n  name: twice\nspec:\n  \
             nodes: [{{matchLabels: {{pool: {label}}}}}]\n  mode: exclusive\n"
        ),
    };
    let errors = compile(&[pool("a.yaml", "a"), pool("z/b.yaml", "b")]).expect_err("twice");
    assert_eq!(errors, "z/b.yaml:4:9: GpuPool `twice` is defined twice, the first is at a.yaml:4:9");
}

#[test]
fn what_is_not_a_policy_is_passed_over() {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
    let set = compile(&[
        file("kustomization.yaml", "resources: [a]"),
        file("tests/a.yaml", "no: policy"),
        file("pools/tests/a.yaml", "no: policy"),
        file(".hidden/a.yaml", "no: policy"),
        file("schema.json", "{}"),
        file("README.md", "text"),
        file("other.yaml", "apiVersion: apps/v1\nkind: Deployment\nspec: {anything: [1]}\n"),
        file("empty.yaml", "# nothing\n---\n"),
        file(
            "pools.json",
            r#"{"apiVersion":"sluice.dev/v1alpha1","kind":"GpuPool","metadata":{"name":"j"},
            "spec":{"nodes":[{"matchLabels":{"a":"b"}}],"mode":"exclusive"}}"#,
        ),
    ]);
    assert_eq!(set.expect("sound").pools.len(), 1);
}

#[test]
fn a_fallback_to_another_class_adds_its_pools_and_takes_over_its_end() {
    let class = |name: &str, spec: &str| SourceFile {
        path: format!("{name}.yaml"),
        text: format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: WorkloadClass\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        ),
    };
    let set = compile(&[
        class("a", "{pools: [{mode: mig}], fallback: {class: b}}"),
        class("b", "{pools: [{mode: mig}, {mode: mps}], fallback: {class: c, otherwise: any-compatible}}"),
        class("c", "{pools: [{mode: exclusive}]}"),
    ])
    .expect("sound");
    let shown = |name: &str| {
        let class = set.class(name).expect("the class");
        let terms: Vec<String> = class
            .terms
            .iter()
            .map(|term| match term {
                policy::PoolTerm::Named(name) => name.to_string(),
                policy::PoolTerm::Properties(properties) => properties.to_string(),
            })
            .collect();
        format!("{} then {:?}", terms.join(", "), class.fallback)
    };
    assert_eq!(shown("a"), "mode mig, mode mps, mode exclusive then AnyCompatible");
    assert_eq!(shown("b"), "mode mig, mode mps, mode exclusive then AnyCompatible");
    assert_eq!(shown("c"), "mode exclusive then Refuse");
}

#[test]
fn of_several_policies_the_most_specific_is_in_force() {
    let policy = |name: &str, spec: &str| SourceFile {
        path: format!("{name}.yaml"),
        text: format!(
            "apiVersion: sluice.dev/v1alpha1\nkind: AdmissionPolicy\nmetadata: {{name: {name}}}\nspec: {spec}\n"
        ),
    };
    let set = compile(&[
        policy("all", "{action: audit, namespaces: {except: [kube-system]}}"),
        policy("teams", "{action: warn, namespaces: {names: ['team-*']}}"),
        policy("speech", "{action: deny, namespaces: {names: ['team-speech*']}}"),
        policy("one", "{action: audit, namespaces: {names: [team-speech-lab]}}"),
        policy("gold", "{action: deny, namespaces: {labels: {matchLabels: {tier: gold}}}}"),
    ])
    .expect("sound");
    let gold = [("tier".to_owned(), "gold".to_owned())].into();
    let force =
        |namespace: &str| set.policy_for(namespace, Some(&gold)).map(|policy| policy.name.to_string());
    assert_eq!(force("team-a").as_deref(), Some("teams"));
    assert_eq!(force("team-speech-1").as_deref(), Some("speech"));
    assert_eq!(force("team-speech-lab").as_deref(), Some("one"));
    assert_eq!(force("other").as_deref(), Some("gold"));
    assert_eq!(set.policy_for("other", None).map(|policy| &*policy.name), Some("all"));
    assert_eq!(set.policy_for("kube-system", None).map(|policy| &*policy.name), None);
    // Names win over labels, so only where no name decides the labels have to be known.
    assert!(set.hangs_on_labels("other") && set.hangs_on_labels("kube-system"));
    assert!(!set.hangs_on_labels("team-a"));
}
