//! Manifests from files, folders and standard input, each object with the place where it stands.

use std::{
    collections::BTreeSet,
    fs,
    io::{self, IsTerminal, Read},
    path::{Path, PathBuf},
    sync::Arc,
};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::{
    cluster::{Kind, unfold},
    k8s::yaml::{self, Places},
    report::json::SourcePlace,
    subject::templates,
};

/// An object of the input.
#[derive(Debug)]
pub(super) struct Object {
    /// The object; its namespace is filled in where it names none.
    pub value: Arc<Value>,
    /// Where it stands.
    pub source: SourcePlace,
    /// The document that holds it: its text, and the line at which that begins.
    text: (Arc<str>, usize),
    /// Position among the items of a List.
    item: Option<usize>,
}

/// Everything that was read.
#[derive(Debug, Default)]
pub(super) struct Input {
    /// Objects in the order of the input.
    pub objects: Vec<Object>,
    /// Documents that are no Kubernetes objects.
    pub others: usize,
    /// Documents and files that cannot be read, as `file:line:column: what`.
    pub faults: Vec<String>,
}

/// Reads files, folders (with all that lies below them) and `-` for standard input. Objects without a
/// namespace get `namespace`, as `kubectl apply -n` would do.
///
/// # Errors
/// Where nothing was named and standard input is a terminal.
pub(super) fn read(paths: &[PathBuf], namespace: &str) -> anyhow::Result<Input> {
    let mut input = Input::default();
    let standard = [PathBuf::from("-")];
    let paths = match paths {
        [] if io::stdin().is_terminal() => {
            bail!(
                "nothing to read: name files or folders, or pipe manifests in (`helm template … | sluice check`)"
            )
        }
        [] => &standard,
        paths => paths,
    };
    for path in paths {
        if let Err(error) = input.read_path(path, namespace) {
            input.faults.push(format!("{error:#}"));
        }
    }
    Ok(input)
}

/// The objects of one file, without places and as they are written.
///
/// # Errors
/// Where the file or a document of it cannot be read.
pub(super) fn objects_of(path: &Path) -> anyhow::Result<Vec<Value>> {
    let (name, text) = text_of(path)?;
    let mut objects = Vec::new();
    for document in yaml::documents(&text) {
        let document = document.map_err(|fault| anyhow::anyhow!("{name}:{fault}"))?;
        objects.extend(unfold(document.value));
    }
    Ok(objects)
}

/// The kinds of the documents of a text, as far as they can be read.
pub(super) fn kinds(text: &str) -> impl Iterator<Item = String> {
    yaml::documents(text).filter_map(|document| document.ok()?.value["kind"].as_str().map(str::to_owned))
}

impl Object {
    /// An object that stands in no document of its own.
    pub fn of_value(mut value: Value, file: &str, namespace: &str) -> Self {
        give_namespace(&mut value, namespace);
        let source = SourcePlace { file: file.to_owned(), document: 1, line: 1, template: None };
        Self { value: Arc::new(value), source, text: (Arc::from(""), 1), item: None }
    }

    /// Where its fields stand; reads its document once more.
    pub fn places(&self) -> ObjectPlaces {
        let (text, first_line) = &self.text;
        ObjectPlaces { places: Places::read(text, *first_line), item: self.item }
    }
}

/// The lines of an object's fields.
pub(super) struct ObjectPlaces {
    places: Places,
    item: Option<usize>,
}

impl ObjectPlaces {
    /// Line of a field path such as `spec.containers[0].resources.limits["nvidia.com/gpu"]`.
    pub fn line(&self, path: &str) -> usize {
        let item = self.item.map(|index| index.to_string());
        let within = item.iter().flat_map(|index| ["items", index.as_str()]);
        let keys = templates::keys(path);
        self.places.line(within.chain(keys.iter().map(String::as_str)))
    }
}

impl Input {
    fn read_path(&mut self, path: &Path, namespace: &str) -> anyhow::Result<()> {
        if path.is_dir() {
            let mut files = BTreeSet::new();
            files_below(path, &mut files)?;
            for file in files {
                if let Err(error) = self.read_file(&file, namespace) {
                    self.faults.push(format!("{error:#}"));
                }
            }
            return Ok(());
        }
        self.read_file(path, namespace)
    }

    fn read_file(&mut self, path: &Path, namespace: &str) -> anyhow::Result<()> {
        let (name, text) = text_of(path)?;
        for document in yaml::documents(&text) {
            match document {
                Ok(document) => self.add(&name, document, namespace),
                Err(fault) => self.faults.push(format!("{name}:{fault}{}", hint(&text))),
            }
        }
        Ok(())
    }

    fn add(&mut self, file: &str, document: yaml::Document<'_>, namespace: &str) {
        let (text, first_line) = document.source();
        let text = (Arc::from(text), first_line);
        let template = template_of(&text.0);
        let place = |line| SourcePlace {
            file: file.to_owned(),
            document: document.index,
            line,
            template: template.clone(),
        };
        let is_list = document.value["kind"].as_str().is_some_and(|kind| kind.ends_with("List"))
            && document.value["items"].is_array();
        let lines: Vec<usize> =
            if is_list { document.places().item_lines(["items"]).collect() } else { Vec::new() };
        let objects = unfold(document.value);
        // Lists in Lists lose the count; their objects then stand where the outer List does.
        let exact = is_list && lines.len() == objects.len();
        for (index, mut value) in objects.into_iter().enumerate() {
            if !is_object(&value) {
                self.others += 1;
                continue;
            }
            give_namespace(&mut value, namespace);
            let line = if exact { lines[index] } else { document.line };
            let item = exact.then_some(index);
            self.objects.push(Object {
                value: Arc::new(value),
                source: place(line),
                text: text.clone(),
                item,
            });
        }
    }
}

/// `helm template` writes above each document which file of the chart made it.
fn template_of(text: &str) -> Option<String> {
    let mut comments = text.lines().take_while(|line| line.is_empty() || line.starts_with(['#', '-']));
    let template = comments.find_map(|line| line.strip_prefix("# Source: "))?;
    Some(template.trim().to_owned())
}

fn text_of(path: &Path) -> anyhow::Result<(String, String)> {
    let name = path.to_string_lossy().into_owned();
    let bytes = if name == "-" {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).context("standard input cannot be read")?;
        bytes
    } else {
        fs::read(path).with_context(|| format!("{name} cannot be read"))?
    };
    let text = String::from_utf8(bytes).map_err(|_| anyhow::anyhow!("{name}: is not text in UTF-8"))?;
    Ok((name, text))
}

/// Hidden folders are no manifests: `.git`, and `..data` of a mounted ConfigMap, whose files show beside it.
pub(super) fn files_below(folder: &Path, files: &mut BTreeSet<PathBuf>) -> anyhow::Result<()> {
    let cannot = || format!("{} cannot be read", folder.display());
    for entry in fs::read_dir(folder).with_context(cannot)? {
        let path = entry.with_context(cannot)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with('.') {
            continue;
        }
        let is_manifest = path.extension().is_some_and(|end| end == "yaml" || end == "yml" || end == "json");
        if path.is_dir() {
            files_below(&path, files)?;
        } else if is_manifest {
            files.insert(path);
        }
    }
    Ok(())
}

/// A template of Helm is no YAML yet.
fn hint(text: &str) -> &'static str {
    if text.contains("{{") { "; a Helm template? pipe `helm template` into `sluice check -`" } else { "" }
}

fn is_object(value: &Value) -> bool {
    value["apiVersion"].is_string() && value["kind"].is_string()
}

fn give_namespace(value: &mut Value, namespace: &str) {
    let (api_version, kind) =
        (value["apiVersion"].as_str().unwrap_or_default(), value["kind"].as_str().unwrap_or_default());
    let of_table = templates::find(api_version, kind).is_some_and(|row| row.namespaced);
    let namespaced = of_table || Kind::of(api_version, kind).is_some_and(|kind| kind.row().namespaced);
    let named = value.pointer("/metadata/namespace").and_then(Value::as_str).is_some_and(|n| !n.is_empty());
    if let (true, false, Some(object)) = (namespaced, named, value.as_object_mut()) {
        let metadata = object.entry("metadata").or_insert_with(|| Value::Object(serde_json::Map::new()));
        if let Some(metadata) = metadata.as_object_mut() {
            metadata.insert("namespace".to_owned(), namespace.into());
        }
    }
}

/// The keys of a field path: `a.b[0]["c.d/e"]` is a, b, 0, c.d/e.
pub(super) fn keys(path: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = path;
    while !rest.is_empty() {
        rest = if let Some(inner) = rest.strip_prefix("[\"") {
            let (key, after) = inner.split_once("\"]").unwrap_or((inner, ""));
            keys.push(key.to_owned());
            after
        } else if let Some(inner) = rest.strip_prefix('[') {
            let (key, after) = inner.split_once(']').unwrap_or((inner, ""));
            keys.push(key.trim_matches('\'').to_owned());
            after
        } else {
            let inner = rest.strip_prefix('.').unwrap_or(rest);
            let end = inner.find(['.', '[']).unwrap_or(inner.len());
            keys.push(inner[..end].to_owned());
            &inner[end..]
        };
    }
    keys
}

#[cfg(test)]
mod tests;
