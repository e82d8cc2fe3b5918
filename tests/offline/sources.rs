//! The project's own files, as the checks read them.

use std::fs;
use std::path::{Path, PathBuf};

/// A text file of the project.
#[derive(Clone)]
pub struct Source {
    /// Relative to the project's root, with `/`.
    pub path: String,
    pub text: String,
}

/// The folder that holds Cargo.toml.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
}

/// One file of the project.
pub fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
}

/// Every file below `folder` whose name ends with `suffix`, in the order of their paths.
pub fn below(folder: &str, suffix: &str) -> Vec<Source> {
    let mut found = Vec::new();
    collect(&root().join(folder), suffix, &mut found);
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

fn collect(folder: &Path, suffix: &str, found: &mut Vec<Source>) {
    let entries = fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for entry in entries {
        let path = entry.expect("a readable folder lists its entries").path();
        if path.is_dir() {
            collect(&path, suffix, found);
        } else if path.to_string_lossy().ends_with(suffix) {
            let relative = path.strip_prefix(root()).expect("the folder is inside the project");
            let relative = relative.to_string_lossy().replace('\\', "/");
            found.push(Source { text: read(&relative), path: relative });
        }
    }
}
