//! The policies that are used where a directory says nothing: the classes of `policies/classes/` and
//! `policies/admission.yaml`, embedded as files, so that they go through the same loader as any other.

use super::{
    load::{self, SourceFile},
    raw::Kind,
    set::PolicySet,
};

/// The revision of the built-in set.
pub const REVISION: &str = "built-in";

const CLASSES: [(&str, &str); 4] = [
    ("built-in/classes/asr.yaml", include_str!("../../policies/classes/asr.yaml")),
    ("built-in/classes/batch.yaml", include_str!("../../policies/classes/batch.yaml")),
    ("built-in/classes/embedding.yaml", include_str!("../../policies/classes/embedding.yaml")),
    ("built-in/classes/llm.yaml", include_str!("../../policies/classes/llm.yaml")),
];

const POLICIES: [(&str, &str); 1] =
    [("built-in/admission.yaml", include_str!("../../policies/admission.yaml"))];

/// The set for who gives no directory: the built-in classes and policy, and no declared pools.
/// `known_rules` are the ids that policies may name.
#[must_use]
pub fn built_in(known_rules: &[&str]) -> PolicySet {
    load::compile(&[], REVISION, known_rules).expect("the embedded files are fixed and a test compiles them")
}

/// The embedded files of a kind.
pub(super) fn files(kind: Kind) -> Vec<SourceFile> {
    let embedded: &[(&str, &str)] = match kind {
        Kind::WorkloadClass => &CLASSES,
        Kind::AdmissionPolicy => &POLICIES,
        Kind::GpuPool | Kind::PolicyException => &[],
    };
    let file =
        |(path, text): &(&str, &str)| SourceFile { path: (*path).to_owned(), text: (*text).to_owned() };
    embedded.iter().map(file).collect()
}
