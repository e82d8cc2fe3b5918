//! From files to a [`PolicySet`]: every file read, every document checked, all of them cross-checked, and
//! either a set that may be used or every fault of every file at once.
//!
//! Pure: who reads the directory is `live`.

use std::sync::Arc;

use super::{
    builtin,
    compile::{self, Known, Place},
    cross,
    document::{self, Document, Raw},
    error::{Faults, PolicyError},
    raw::Kind,
    set::PolicySet,
};

/// One file of a policy directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Path from the directory, as it is shown.
    pub path: String,
    /// Content.
    pub text: String,
}

/// Compiles the files of a directory as a whole. Where no file holds a `WorkloadClass`, the built-in
/// classes are used, and likewise for an `AdmissionPolicy`. `known_rules` are the ids that policies may
/// name.
///
/// Passed over: `kustomization.yaml`, files below a folder `tests`, names that do not end in `.yaml`,
/// `.yml` or `.json`, and objects of other groups. PriorityClasses are read.
///
/// # Errors
/// Every fault of every file, in the order of files and lines.
pub fn compile(
    files: &[SourceFile],
    revision: &str,
    known_rules: &[&str],
) -> Result<PolicySet, Vec<PolicyError>> {
    let mut faults = Faults::new("");
    let mut documents = document::read_all(files, &mut faults);
    for kind in [Kind::WorkloadClass, Kind::AdmissionPolicy] {
        if !documents.iter().any(|document| document.kind == Some(kind)) {
            documents.extend(document::read_all(&builtin::files(kind), &mut faults));
        }
    }
    cross::duplicate_names(&documents, &mut faults);
    let known = known(&documents, known_rules);
    let mut set = build(&documents, &known, &mut faults);
    let (errors, warnings) = faults.finish();
    if !errors.is_empty() {
        return Err(errors);
    }
    revision.clone_into(&mut set.revision);
    set.warnings = warnings;
    set.recognizers();
    Ok(set)
}

/// Whether a path is that of a policy file.
#[must_use]
pub fn is_policy_file(path: &str) -> bool {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let stem = [".yaml", ".yml", ".json"].iter().find_map(|end| name.strip_suffix(end));
    let skipped = ["kustomization", "Kustomization", "schema"];
    stem.is_some_and(|stem| !stem.is_empty() && !stem.starts_with('.') && !skipped.contains(&stem))
        && !folders
            .split('/')
            .any(|folder| folder == "tests" || (folder.starts_with('.') && folder != "." && folder != ".."))
}

fn known<'a>(documents: &'a [Document], rules: &'a [&'a str]) -> Known<'a> {
    let names = |kind: Kind| {
        let of_kind = documents.iter().filter(move |document| document.kind == Some(kind));
        of_kind.filter_map(|document| document.name.as_ref()).map(|(name, _)| name.as_str()).collect()
    };
    let priorities = documents.iter().filter_map(|document| match &document.raw {
        Some(Raw::Priority(class)) => Some((class.metadata.name.clone(), (**class).clone())),
        _ => None,
    });
    Known {
        pools: names(Kind::GpuPool),
        classes: names(Kind::WorkloadClass),
        rules,
        priorities: priorities.collect(),
    }
}

fn build(documents: &[Document], known: &Known<'_>, all: &mut Faults<'_>) -> PolicySet {
    let mut set = PolicySet::default();
    let mut classes = Vec::new();
    let mut pools = Vec::new();
    let mut policies = Vec::new();
    for document in documents {
        let mut faults = Faults::new(&document.file);
        let place = Place::of(&document.node);
        match &document.raw {
            Some(Raw::Pool(raw)) => pools.push((compile::pool(raw, place, &mut faults), document)),
            Some(Raw::Class(raw)) => {
                let class = compile::class(raw, known, place, &mut faults);
                classes.push(cross::Pending { class, fallback: &raw.spec.fallback, document });
            }
            Some(Raw::Policy(raw)) => {
                policies.push((compile::admission_policy(raw, known, place, &mut faults), document));
            }
            Some(Raw::Exception(raw)) => {
                set.exceptions.extend(compile::exception(raw, known, place, &mut faults).map(Arc::new));
            }
            Some(Raw::Priority(_)) | None => {}
        }
        all.absorb(faults);
    }
    cross::overlapping_pools(&pools, all);
    cross::same_scope(&policies, all);
    set.pools = pools.into_iter().map(|(pool, _)| Arc::new(pool)).collect();
    set.classes = cross::follow_fallbacks(classes, known, all).into_iter().map(Arc::new).collect();
    set.policies = policies.into_iter().map(|(policy, _)| Arc::new(policy)).collect();
    sort(&mut set);
    set
}

fn sort(set: &mut PolicySet) {
    set.pools.sort_by(|a, b| a.name.cmp(&b.name));
    set.classes.sort_by(|a, b| a.name.cmp(&b.name));
    set.exceptions.sort_by(|a, b| a.name.cmp(&b.name));
    set.policies.sort_by(|a, b| {
        b.namespaces.specificity().cmp(&a.namespaces.specificity()).then_with(|| a.name.cmp(&b.name))
    });
}
