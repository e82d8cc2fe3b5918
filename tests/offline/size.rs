//! Files and functions stay short enough to be read at once, or say why not.
//!
//! A file counts without its test modules, a function by the lines of its body. Over the limit a comment that
//! begins with `Long because` is needed: in the file's header, or above or inside the function.

use proc_macro2::Span;
use syn::visit::{self, Visit};

use crate::sources;

const FILE_LINES: usize = 400;
const FUNCTION_LINES: usize = 40;
const EXCUSE: &str = "Long because ";

/// A function or a file that is too long and does not say why.
#[derive(Debug, PartialEq)]
struct TooLong {
    name: String,
    line: usize,
    lines: usize,
}

struct Sizes<'a> {
    text: Vec<&'a str>,
    test_lines: usize,
    found: Vec<TooLong>,
}

fn too_long(path: &str, text: &str) -> Vec<TooLong> {
    let file = syn::parse_file(text).unwrap_or_else(|e| panic!("{path}: {e}"));
    let mut sizes = Sizes { text: text.lines().collect(), test_lines: 0, found: Vec::new() };
    sizes.visit_file(&file);
    let lines = sizes.text.len() - sizes.test_lines;
    let header = sizes.text.iter().take_while(|line| line.is_empty() || line.starts_with("//"));
    if lines > FILE_LINES && !header.clone().any(|line| line.contains(EXCUSE)) {
        sizes.found.push(TooLong { name: path.to_owned(), line: 1, lines });
    }
    sizes.found
}

impl Sizes<'_> {
    fn function(&mut self, name: &syn::Ident, block: &syn::Block) {
        let open = block.brace_token.span.open().start().line;
        let close = block.brace_token.span.close().start().line;
        let lines = close.saturating_sub(open + 1);
        if lines > FUNCTION_LINES && !self.is_excused(name.span(), close) {
            self.found.push(TooLong { name: name.to_string(), line: name.span().start().line, lines });
        }
    }

    /// The comments and attributes right above the function, and all of its body.
    fn is_excused(&self, name: Span, close: usize) -> bool {
        let start = name.start().line - 1;
        let above = self.text[..start].iter().rev().take_while(|line| {
            let line = line.trim_start();
            line.starts_with("//") || line.starts_with('#')
        });
        let inside = self.text[start..close].iter();
        above.chain(inside).any(|line| line.contains("//") && line.contains(EXCUSE))
    }
}

fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|a| {
        let cfg = a.path().is_ident("cfg")
            && a.meta.require_list().is_ok_and(|list| list.tokens.to_string().starts_with("test"));
        cfg || a.path().segments.last().is_some_and(|s| s.ident == "test")
    })
}

impl<'ast> Visit<'ast> for Sizes<'_> {
    fn visit_item_mod(&mut self, item: &'ast syn::ItemMod) {
        match (&item.content, is_test(&item.attrs)) {
            (Some((brace, _)), true) => {
                let from = item.mod_token.span.start().line;
                self.test_lines += brace.span.close().end().line + 1 - from;
            }
            _ => visit::visit_item_mod(self, item),
        }
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        if !is_test(&item.attrs) {
            self.function(&item.sig.ident, &item.block);
            visit::visit_item_fn(self, item);
        }
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig.ident, &item.block);
        visit::visit_impl_item_fn(self, item);
    }
}

#[test]
fn files_and_functions_are_short_or_say_why_not() {
    let sources = [sources::below("src", ".rs"), sources::below("tests", ".rs")].concat();
    let is_test =
        |path: &str| path.starts_with("src/") && (path.ends_with("/tests.rs") || path.contains("/tests/"));
    let mut found = Vec::new();
    for source in sources.iter().filter(|s| !is_test(&s.path)) {
        for TooLong { name, line, lines } in too_long(&source.path, &source.text) {
            found.push(format!("{}:{line}: {name} has {lines} lines", source.path));
        }
    }
    assert!(found.is_empty(), "split, or write `// {EXCUSE}…` beside:\n{}", found.join("\n"));
}

#[test]
fn what_is_too_long_is_found_and_an_excuse_is_heard() {
    let body = "    let x = 1;\n".repeat(FUNCTION_LINES + 1);
    let long = format!("fn long() {{\n{body}}}\n");
    let lines = FUNCTION_LINES + 1;
    assert_eq!(too_long("a.rs", &long), [TooLong { name: "long".to_owned(), line: 1, lines }]);
    assert_eq!(too_long("a.rs", &format!("impl X {{\n{long}}}\n"))[0].line, 2);
    for excused in [
        format!("// Long because it is one table.\n#[inline]\n{long}"),
        long.replacen("    let", "    // Long because it is one table.\n    let", 1),
        format!("#[test]\n{long}"),
        format!("#[cfg(test)]\nmod tests {{\n{long}}}\n"),
    ] {
        assert_eq!(too_long("a.rs", &excused), []);
    }
    assert_eq!(too_long("a.rs", &format!("// Long because of another.\nfn a() {{}}\n{long}")).len(), 1);

    let file = "const X: u8 = 1;\n".repeat(FILE_LINES + 1);
    assert_eq!(
        too_long("a.rs", &file),
        [TooLong { name: "a.rs".to_owned(), line: 1, lines: FILE_LINES + 1 }]
    );
    assert_eq!(
        too_long("a.rs", &format!("//! A table.\n//!\n//! Long because it is one table.\n\n{file}")),
        []
    );
    let tests = format!("fn a() {{}}\n#[cfg(test)]\nmod tests {{\n{file}}}\n");
    assert_eq!(too_long("a.rs", &tests), []);
}
