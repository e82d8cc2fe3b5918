//! References in `command`, `args` and `env`: `$(NAME)` (third_party/forked/golang/expansion, kubelet
//! `makeEnvironmentVariables`). What is not defined stays as it is written.

use super::object::EnvVar;

/// Most bytes of one expanded text: values may refer to each other and grow with every reference.
const MOST_BYTES: usize = 1 << 15;

/// The literal variables of a container, expanded, in the order of the spec; the last of a name wins. A variable
/// whose value comes from elsewhere is `None`.
#[must_use]
pub fn environment(env: &[EnvVar]) -> Vec<(String, Option<String>)> {
    let mut known: Vec<(String, Option<String>)> = Vec::with_capacity(env.len());
    for variable in env {
        let value = match (&variable.value, &variable.value_from) {
            (Some(value), None) => Some(expand(value, |name| value_of(&known, name))),
            (None, None) => Some(String::new()),
            (_, Some(_)) => None,
        };
        known.push((variable.name.clone(), value));
    }
    known
}

/// The value of a variable; `None` where it is not defined or cannot be seen.
#[must_use]
pub fn value_of<'a>(environment: &'a [(String, Option<String>)], name: &str) -> Option<&'a str> {
    environment.iter().rfind(|(own, _)| own == name)?.1.as_deref()
}

/// The text with every `$(NAME)` that is defined replaced; `$$` stands for `$`.
#[must_use]
pub fn expand<'a>(text: &str, value_of: impl Fn(&str) -> Option<&'a str>) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((name, after)) = rest.strip_prefix('(').and_then(|inner| inner.split_once(')')) {
            match value_of(name) {
                Some(value) => out.push_str(value),
                None => out.extend(["$(", name, ")"]),
            }
            rest = after;
        } else {
            out.push('$');
        }
        if out.len() > MOST_BYTES {
            break;
        }
    }
    out.push_str(rest);
    out.truncate(out.floor_char_boundary(MOST_BYTES));
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variable(name: &str, value: &str) -> EnvVar {
        EnvVar { name: name.into(), value: Some(value.into()), value_from: None }
    }

    #[test]
    fn a_reference_is_replaced_where_it_is_defined_before() {
        let hidden = EnvVar { value: None, value_from: Some(serde_json::json!({})), ..variable("D", "") };
        let env =
            environment(&[variable("A", "0.9"), variable("B", "$(A)"), variable("C", "$(LATER)"), hidden]);
        for (text, want) in [
            ("$(A)", "0.9"),
            ("--part=$(B)!", "--part=0.9!"),
            ("$(C)", "$(LATER)"),
            ("$(D)", "$(D)"),
            ("$$(A)", "$(A)"),
            ("$A ${A} $(", "$A ${A} $("),
            ("50$", "50$"),
        ] {
            assert_eq!(expand(text, |name| value_of(&env, name)), want, "{text}");
        }
    }

    #[test]
    fn the_last_of_a_name_wins() {
        let env = environment(&[variable("A", "1"), variable("A", "2")]);
        assert_eq!(value_of(&env, "A"), Some("2"));
    }

    #[test]
    fn values_that_double_with_every_reference_stay_bounded() {
        let mut env = vec![variable("V0", &"x".repeat(100))];
        for index in 1..40 {
            env.push(variable(&format!("V{index}"), &format!("$(V{0})$(V{0})", index - 1)));
        }
        let longest = environment(&env).into_iter().filter_map(|(_, value)| value).map(|v| v.len()).max();
        assert!(longest == Some(MOST_BYTES), "{longest:?}");
    }
}
