//! Source text → the paths that it names, each made absolute where it begins inside this crate.

use std::collections::BTreeMap;

use proc_macro2::{Ident, Span};
use syn::ext::IdentExt as _;
use syn::visit::{self, Visit};

use super::tokens;

/// Macros of the prelude that need no path.
const PRINTING: &[&str] = &["dbg", "eprint", "eprintln", "print", "println"];

/// A path that the source names. Paths into this crate begin with `crate`.
#[derive(Clone, Debug, PartialEq)]
pub struct Named {
    pub line: usize,
    pub segments: Vec<String>,
    /// `path::*`, or a path that goes on where no reader can follow (`crate::$room`).
    pub open: bool,
}

/// All that a file names.
#[derive(Debug, Default)]
pub struct Names {
    pub named: Vec<Named>,
    /// Imported name → what it may stand for. One map a file: scopes are merged, which can only find more.
    pub aliases: BTreeMap<String, Vec<Vec<String>>>,
    /// Constructions that hide a path from any reader, with the reason.
    pub hidden: Vec<(usize, &'static str)>,
}

/// One end of an import tree.
pub struct Leaf {
    pub segments: Vec<String>,
    pub open: bool,
    /// The name that the import brings into scope.
    pub name: Option<String>,
    pub span: Span,
}

/// Reads the names of a file whose module path inside the crate is `module`.
///
/// # Errors
/// The text is no Rust file.
pub fn names(text: &str, module: &[String]) -> syn::Result<Names> {
    let file = syn::parse_file(text)?;
    let mut reader = Reader { module: module.to_vec(), names: Names::default(), in_definition: false };
    reader.visit_file(&file);
    Ok(reader.names)
}

/// Walks the syntax tree and, in macros and attributes, the bare tokens.
pub struct Reader {
    module: Vec<String>,
    names: Names,
    in_definition: bool,
}

impl Reader {
    /// Records a path of the code: a lone word is a variable or a type in scope and says nothing.
    pub fn code(&mut self, segments: Vec<String>, open: bool, span: Span) {
        if segments.len() > 1 || open {
            self.record(segments, open, span);
        }
    }

    /// Records one end of an import.
    pub fn import(&mut self, leaf: Leaf) {
        let Leaf { segments, open, name, span } = leaf;
        let absolute = self.record(segments, open, span);
        if let Some(name) = name {
            self.names.aliases.entry(name).or_default().push(absolute);
        }
    }

    /// Looks at the name of a called macro.
    pub fn calls(&mut self, name: &Ident) {
        if name == "include" {
            self.hides(name.span(), "`include!` brings a file in that belongs to no room");
        }
        if PRINTING.iter().any(|printing| name == printing) {
            self.record(vec!["std".to_owned(), name.to_string()], false, name.span());
        }
    }

    /// Notes something that no reader of paths can see through.
    pub fn hides(&mut self, span: Span, why: &'static str) {
        self.names.hidden.push((span.start().line, why));
    }

    fn record(&mut self, segments: Vec<String>, open: bool, span: Span) -> Vec<String> {
        let relative = matches!(segments[0].as_str(), "super" | "self");
        if relative && self.in_definition {
            self.hides(
                span,
                "in a macro's definition `super` and `self` mean the caller's module: write $crate",
            );
        }
        let segments = self.absolute(segments);
        self.names.named.push(Named { line: span.start().line, segments: segments.clone(), open });
        segments
    }

    fn absolute(&self, segments: Vec<String>) -> Vec<String> {
        let mut base = self.module.clone();
        let mut rest = segments.as_slice();
        match segments[0].as_str() {
            "self" | "super" => {}
            // The library by its own name is the library.
            "crate" | "sluice" => return [vec!["crate".to_owned()], segments[1..].to_vec()].concat(),
            _ => return segments,
        }
        while let Some((first, more)) = rest.split_first() {
            match first.as_str() {
                "self" => {}
                "super" => drop(base.pop()),
                _ => break,
            }
            rest = more;
        }
        [vec!["crate".to_owned()], base, rest.to_vec()].concat()
    }

    fn attribute_strings(&mut self, tokens: proc_macro2::TokenStream) {
        for literal in tokens::strings(tokens) {
            // serde and schemars take functions and types as strings: `with = "crate::live::time"`.
            if let Ok(path) = literal.parse::<syn::Path>() {
                self.code(segments(&path), false, literal.span());
            }
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        self.visit_attributes(&item.attrs);
        let mut leaves = Vec::new();
        tree(&item.tree, &mut Vec::new(), &mut leaves);
        leaves.into_iter().for_each(|leaf| self.import(leaf));
    }

    fn visit_item_extern_crate(&mut self, item: &'ast syn::ItemExternCrate) {
        if item.ident == "self" {
            self.hides(item.ident.span(), "the crate under another name");
            return;
        }
        let name = item.rename.as_ref().map_or(&item.ident, |(_, name)| name);
        let segments = vec![item.ident.unraw().to_string()];
        self.import(Leaf {
            segments,
            open: false,
            name: Some(name.unraw().to_string()),
            span: item.ident.span(),
        });
    }

    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        self.module.push(item.ident.unraw().to_string());
        visit::visit_item_mod(self, item);
        self.module.pop();
    }

    fn visit_item_macro(&mut self, item: &'ast syn::ItemMacro) {
        self.in_definition = item.ident.is_some();
        visit::visit_item_macro(self, item);
        self.in_definition = false;
    }

    fn visit_macro(&mut self, call: &'ast syn::Macro) {
        if let Some(last) = call.path.segments.last() {
            self.calls(&last.ident);
        }
        self.visit_path(&call.path);
        tokens::read(self, call.tokens.clone());
    }

    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        if attribute.path().is_ident("path") {
            self.hides(attribute.pound_token.span, "`#[path]` puts a file into a room where it does not lie");
        }
        self.visit_path(attribute.path());
        match &attribute.meta {
            syn::Meta::List(list) => {
                tokens::read(self, list.tokens.clone());
                self.attribute_strings(list.tokens.clone());
            }
            syn::Meta::NameValue(pair) => self.visit_expr(&pair.value),
            syn::Meta::Path(_) => {}
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.code(segments(path), false, path.segments[0].ident.span());
        visit::visit_path(self, path);
    }

    /// `pub(crate)` and `pub(in path)` name nothing: they can only narrow.
    fn visit_vis_restricted(&mut self, _: &'ast syn::VisRestricted) {}
}

impl Reader {
    fn visit_attributes(&mut self, attributes: &[syn::Attribute]) {
        attributes.iter().for_each(|a| self.visit_attribute(a));
    }
}

fn segments(path: &syn::Path) -> Vec<String> {
    path.segments.iter().map(|s| s.ident.unraw().to_string()).collect()
}

fn tree(node: &syn::UseTree, prefix: &mut Vec<String>, leaves: &mut Vec<Leaf>) {
    match node {
        syn::UseTree::Path(path) => {
            prefix.push(path.ident.unraw().to_string());
            tree(&path.tree, prefix, leaves);
            prefix.pop();
        }
        syn::UseTree::Group(group) => group.items.iter().for_each(|item| tree(item, prefix, leaves)),
        syn::UseTree::Glob(glob) => {
            leaves.push(Leaf {
                segments: prefix.clone(),
                open: true,
                name: None,
                span: glob.star_token.span,
            });
        }
        syn::UseTree::Name(name) => leaves.push(leaf(prefix, &name.ident, None)),
        syn::UseTree::Rename(rename) => leaves.push(leaf(prefix, &rename.ident, Some(&rename.rename))),
    }
}

/// The end of an import; `{self}` stands for the path before it.
pub fn leaf(prefix: &[String], ident: &Ident, rename: Option<&Ident>) -> Leaf {
    let mut segments = prefix.to_vec();
    if prefix.is_empty() || ident != "self" {
        segments.push(ident.unraw().to_string());
    }
    let name = rename.map(|r| r.unraw().to_string()).or_else(|| segments.last().cloned());
    Leaf { segments, open: false, name, span: ident.span() }
}
