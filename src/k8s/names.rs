//! Label keys, label values and DNS subdomains: what the API server accepts as a name
//! (apimachinery `pkg/api/validate/content/kube.go`, `dns.go`). Resource names follow the rule of label
//! keys too.

/// One thing that is wrong with a name. The display is a clause: `must not be empty`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NameProblem {
    /// The part must have at least one character.
    #[error("{0} must not be empty")]
    Empty(NamePart),
    /// The part is too long.
    #[error("{part} must have at most {max} characters, it has {length}")]
    TooLong {
        /// Which part.
        part: NamePart,
        /// Most bytes allowed.
        max: usize,
        /// Bytes it has.
        length: usize,
    },
    /// The part has a character that is not allowed, or not at that place.
    #[error("{0} must consist of {allowed}", allowed = .0.allowed())]
    Characters(NamePart),
    /// More than one `/`.
    #[error("the key must have at most one '/': an optional DNS prefix, then a name (example.com/name)")]
    Slashes,
}

/// The part of a name that a [`NameProblem`] is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamePart {
    /// Before the `/` of a key.
    Prefix,
    /// After the `/`, or the whole key.
    Name,
    /// A label's value.
    Value,
}

/// Most bytes of a key's name and of a label's value.
pub const NAME_MAX: usize = 63;
/// Most bytes of a key's prefix.
pub const PREFIX_MAX: usize = 253;

/// Everything that is wrong with a label key or resource name (`IsLabelKey`, formerly `IsQualifiedName`);
/// empty if it is valid.
pub fn label_key_problems(key: &str) -> Vec<NameProblem> {
    let mut problems = Vec::new();
    let (prefix, name) = match key.split_once('/') {
        Some((_, name)) if name.contains('/') => return vec![NameProblem::Slashes],
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, key),
    };
    if let Some(prefix) = prefix {
        check(prefix, NamePart::Prefix, PREFIX_MAX, is_dns_subdomain, &mut problems);
    }
    check(name, NamePart::Name, NAME_MAX, is_name, &mut problems);
    problems
}

/// Everything that is wrong with a label value (`IsLabelValue`); empty if it is valid, as the empty value is.
pub fn label_value_problems(value: &str) -> Vec<NameProblem> {
    let mut problems = Vec::new();
    if !value.is_empty() {
        check(value, NamePart::Value, NAME_MAX, is_name, &mut problems);
    }
    problems
}

impl NamePart {
    fn allowed(self) -> &'static str {
        match self {
            Self::Prefix => {
                "lower case letters, digits, '-' and '.', each part between dots starting and ending with a \
                 letter or digit"
            }
            Self::Name | Self::Value => {
                "letters, digits, '-', '_' and '.', and start and end with a letter or digit"
            }
        }
    }
}

impl std::fmt::Display for NamePart {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Prefix => "the prefix",
            Self::Name => "the name",
            Self::Value => "the value",
        })
    }
}

fn check(text: &str, part: NamePart, max: usize, valid: fn(&str) -> bool, problems: &mut Vec<NameProblem>) {
    if text.is_empty() {
        problems.push(NameProblem::Empty(part));
        return;
    }
    if text.len() > max {
        problems.push(NameProblem::TooLong { part, max, length: text.len() });
    }
    if !valid(text) {
        problems.push(NameProblem::Characters(part));
    }
}

fn is_name(text: &str) -> bool {
    framed(text, |b| b.is_ascii_alphanumeric(), |b| matches!(b, b'-' | b'_' | b'.'))
}

fn is_dns_subdomain(text: &str) -> bool {
    text.split('.')
        .all(|label| framed(label, |b| b.is_ascii_lowercase() || b.is_ascii_digit(), |b| b == b'-'))
}

/// Starts and ends with `outer`, has `outer` or `inner` between.
fn framed(text: &str, outer: fn(u8) -> bool, inner: fn(u8) -> bool) -> bool {
    let bytes = text.as_bytes();
    bytes.first().is_some_and(|b| outer(*b))
        && bytes.last().is_some_and(|b| outer(*b))
        && bytes.iter().all(|b| outer(*b) || inner(*b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn valid_keys_have_an_optional_dns_prefix_and_a_name() {
        let long = format!("{}/{}", "a".repeat(253), "b".repeat(63));
        for key in ["app", "App_1.2-3", "1", "example.com/name", "a.b-c.9/X", "nvidia.com/gpu.product", &long]
        {
            assert_eq!(label_key_problems(key), [], "{key}");
        }
    }

    #[test]
    fn a_bad_key_says_which_part_is_wrong() {
        use NamePart::{Name, Prefix};
        use NameProblem::{Characters, Empty, Slashes};
        let rows = [
            ("", vec![Empty(Name)]),
            ("example.com/", vec![Empty(Name)]),
            ("/name", vec![Empty(Prefix)]),
            ("a/b/c", vec![Slashes]),
            ("-app", vec![Characters(Name)]),
            ("app-", vec![Characters(Name)]),
            ("a pp", vec![Characters(Name)]),
            ("größe", vec![Characters(Name)]),
            ("Example.com/name", vec![Characters(Prefix)]),
            ("a..b/name", vec![Characters(Prefix)]),
            ("a_b/na me", vec![Characters(Prefix), Characters(Name)]),
        ];
        for (key, problems) in rows {
            assert_eq!(label_key_problems(key), problems, "{key}");
        }
    }

    #[test]
    fn lengths_are_bounded() {
        let name = NameProblem::TooLong { part: NamePart::Name, max: 63, length: 64 };
        assert_eq!(label_key_problems(&"a".repeat(64)), [name]);
        let prefix = NameProblem::TooLong { part: NamePart::Prefix, max: 253, length: 254 };
        assert_eq!(label_key_problems(&format!("{}/a", "a".repeat(254))), [prefix]);
        let value = NameProblem::TooLong { part: NamePart::Value, max: 63, length: 64 };
        assert_eq!(label_value_problems(&"a".repeat(64)), [value]);
    }

    #[test]
    fn a_value_may_be_empty_but_has_no_slash_and_no_sign_in_front() {
        for value in ["", "a", "A100-SXM4-80GB", "0", "a.b_c"] {
            assert_eq!(label_value_problems(value), [], "{value}");
        }
        for value in ["a/b", "-5", "+5", "a ", "."] {
            assert_eq!(label_value_problems(value), [NameProblem::Characters(NamePart::Value)], "{value}");
        }
    }

    #[test]
    fn a_problem_reads_as_a_clause() {
        let problem = label_key_problems("a b").pop().expect("a space is no name character");
        assert_eq!(
            problem.to_string(),
            "the name must consist of letters, digits, '-', '_' and '.', and start and end with a letter or digit"
        );
    }
}
