//! Paths in bare tokens: the bodies of macros and the arguments of attributes, which syn leaves unparsed.

use proc_macro2::{Delimiter, Ident, TokenStream, TokenTree};
use syn::ext::IdentExt as _;

use super::paths::{Leaf, Reader, leaf};

/// Records every path among the tokens.
pub fn read(reader: &mut Reader, tokens: TokenStream) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            TokenTree::Group(group) => read(reader, group.stream()),
            TokenTree::Ident(ident) if starts_a_path(&tokens, at) => {
                at = path(reader, &tokens, at, ident);
                continue;
            }
            _ => {}
        }
        at += 1;
    }
}

/// The string literals among the tokens.
pub fn strings(tokens: TokenStream) -> Vec<syn::LitStr> {
    let found = tokens.into_iter().map(|token| match token {
        TokenTree::Group(group) => strings(group.stream()),
        TokenTree::Literal(literal) => syn::parse_str(&literal.to_string())
            .map(|mut string: syn::LitStr| {
                string.set_span(literal.span());
                vec![string]
            })
            .unwrap_or_default(),
        _ => Vec::new(),
    });
    found.flatten().collect()
}

/// A field, a method and a lifetime are no paths.
fn starts_a_path(tokens: &[TokenTree], at: usize) -> bool {
    at == 0 || !(is_punct(tokens, at - 1, '.') || is_punct(tokens, at - 1, '\''))
}

/// Whether `use`, `use ::` or `use $` stands before the path.
fn is_imported(before: &[TokenTree]) -> bool {
    let mark = |t: &TokenTree| matches!(t, TokenTree::Punct(p) if matches!(p.as_char(), ':' | '$'));
    let last = before.iter().rev().find(|t| !mark(t));
    matches!(last, Some(TokenTree::Ident(word)) if word == "use")
}

/// Reads the path that begins at `at` and gives the place after it.
fn path(reader: &mut Reader, tokens: &[TokenTree], at: usize, first: &Ident) -> usize {
    let imports = is_imported(&tokens[..at]);
    let from_macro = at > 0 && is_punct(tokens, at - 1, '$');
    let mut leaves = Vec::new();
    let next = tree(tokens, at, &[], &mut leaves);
    if let (TokenTree::Ident(last), true) = (&tokens[next - 1], is_punct(tokens, next, '!')) {
        reader.calls(last);
    }
    for found in leaves {
        let renamed = found.name.is_some() && is_word(tokens, next.saturating_sub(2), "as");
        if imports || renamed || found.open {
            reader.import(found);
        } else if from_macro && first == "crate" && found.segments.len() == 1 {
            // `$crate` handed to another macro: what comes after it is out of sight.
            reader.import(Leaf { open: true, ..found });
        } else if !from_macro || first == "crate" {
            reader.code(found.segments, found.open, found.span);
        }
    }
    next
}

/// Reads one import tree, or a plain path, which is a tree without branches.
fn tree(tokens: &[TokenTree], at: usize, prefix: &[String], leaves: &mut Vec<Leaf>) -> usize {
    let TokenTree::Ident(ident) = &tokens[at] else { return at + 1 };
    if !is_path_separator(tokens, at + 1) {
        return end(tokens, at, prefix, ident, leaves);
    }
    let grown = [prefix, &[ident.unraw().to_string()]].concat();
    match tokens.get(at + 3) {
        Some(TokenTree::Ident(_)) => tree(tokens, at + 3, &grown, leaves),
        Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
            branches(group.stream(), &grown, leaves);
            at + 4
        }
        // A turbofish ends the path; its types are read as paths of their own.
        Some(TokenTree::Punct(p)) if p.as_char() == '<' => {
            leaves.push(Leaf { segments: grown, open: false, name: None, span: ident.span() });
            at + 3
        }
        // `path::*`, or `path::$name`.
        _ => {
            leaves.push(Leaf { segments: grown, open: true, name: None, span: ident.span() });
            at + 3
        }
    }
}

fn end(tokens: &[TokenTree], at: usize, prefix: &[String], ident: &Ident, leaves: &mut Vec<Leaf>) -> usize {
    let rename = match (is_word(tokens, at + 1, "as"), tokens.get(at + 2)) {
        (true, Some(TokenTree::Ident(rename))) => Some(rename),
        _ => None,
    };
    leaves.push(leaf(prefix, ident, rename));
    if rename.is_some() { at + 3 } else { at + 1 }
}

fn branches(stream: TokenStream, prefix: &[String], leaves: &mut Vec<Leaf>) {
    let tokens: Vec<TokenTree> = stream.into_iter().collect();
    let mut at = 0;
    while at < tokens.len() {
        if is_punct(&tokens, at, '*') {
            leaves.push(Leaf { segments: prefix.to_vec(), open: true, name: None, span: tokens[at].span() });
        }
        at = tree(&tokens, at, prefix, leaves);
    }
}

fn is_path_separator(tokens: &[TokenTree], at: usize) -> bool {
    is_punct(tokens, at, ':') && is_punct(tokens, at + 1, ':')
}

fn is_punct(tokens: &[TokenTree], at: usize, wanted: char) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == wanted)
}

fn is_word(tokens: &[TokenTree], at: usize, wanted: &str) -> bool {
    matches!(tokens.get(at), Some(TokenTree::Ident(i)) if i == wanted)
}
