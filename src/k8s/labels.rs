//! Label selectors and the expressions that node affinity shares with them
//! (apimachinery `pkg/labels/selector.go`, `pkg/apis/meta/v1/helpers.go`).
//!
//! What is written ([`Expression`], [`LabelSelector`]) is compiled once and then asked often. A selector
//! that is absent (`null`) means something else in every API, so it is the caller's to decide; an empty one
//! selects everything.

use super::{
    names::{self, NameProblem},
    object::{Expression, LabelSelector, Labels},
};

/// A compiled label selector: all of its parts must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selector {
    labels: Labels,
    requirements: Vec<Requirement>,
}

/// One compiled expression on labels.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    key: String,
    test: Test,
}

/// A part of a selector that the API server would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct ExpressionError {
    /// Field path from the selector, term or expression that was compiled, such as
    /// `matchExpressions[1].values[0]`.
    pub path: String,
    /// What is wrong there.
    pub problem: ExpressionProblem,
}

/// What is wrong with an expression.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExpressionProblem {
    /// The operator does not exist here.
    #[error("{operator:?} is not an operator here: use {}", allowed.join(", "))]
    Operator {
        /// As written.
        operator: String,
        /// What may be written.
        allowed: &'static [&'static str],
    },
    /// `In` and `NotIn` without values.
    #[error("In and NotIn need at least one value")]
    NoValues,
    /// `Exists` and `DoesNotExist` with values.
    #[error("Exists and DoesNotExist take no values, {count} given")]
    UnexpectedValues {
        /// How many were given.
        count: usize,
    },
    /// An operator that takes exactly one value.
    #[error("exactly one value is needed, {count} given")]
    NotOneValue {
        /// How many were given.
        count: usize,
    },
    /// `Gt` and `Lt` with something else than a whole number.
    #[error("{value:?} is not a whole number, which Gt and Lt need")]
    NotAnInteger {
        /// As written.
        value: String,
    },
    /// A key or value that no label can have.
    #[error("{text:?} cannot be a label: {problem}")]
    Name {
        /// As written.
        text: String,
        /// Why not.
        problem: NameProblem,
    },
}

impl Selector {
    /// Compiles a selector (`LabelSelectorAsSelector`).
    ///
    /// # Errors
    /// Everything that the API server would refuse, not only the first.
    pub fn compile(selector: &LabelSelector) -> Result<Self, Vec<ExpressionError>> {
        let mut errors = Vec::new();
        for (key, value) in &selector.match_labels {
            let path = format!("matchLabels[{key}]");
            errors.extend(name_errors(&path, key, names::label_key_problems(key)));
            errors.extend(name_errors(&path, value, names::label_value_problems(value)));
        }
        let path = |index: usize| format!("matchExpressions[{index}].");
        let requirements = compile_all(&selector.match_expressions, SELECTOR_OPERATORS, path, &mut errors);
        if errors.is_empty() {
            Ok(Self { labels: selector.match_labels.clone(), requirements })
        } else {
            Err(errors)
        }
    }

    /// Whether an object with these labels is selected.
    pub fn matches(&self, labels: &Labels) -> bool {
        missing(labels, &self.labels).next().is_none() && self.requirements.iter().all(|r| r.matches(labels))
    }

    /// The labels that are asked about, in the order of the selector.
    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.labels.keys().map(String::as_str).chain(self.requirements.iter().map(Requirement::key))
    }

    /// True for `{}`, which selects everything.
    pub fn selects_everything(&self) -> bool {
        self.labels.is_empty() && self.requirements.is_empty()
    }
}

impl LabelSelector {
    /// Whether an object with these labels is selected: [`Selector::compile`] and [`Selector::matches`] for who
    /// asks once. A selector that cannot be compiled selects nothing. Simple labels are compared first, because
    /// of many selectors most fail there.
    #[must_use]
    pub fn selects(&self, labels: &Labels) -> bool {
        missing(labels, &self.match_labels).next().is_none()
            && Selector::compile(self).is_ok_and(|selector| selector.matches(labels))
    }
}

impl Requirement {
    /// Compiles a node affinity expression, where `Gt` and `Lt` exist (`NewRequirement`). Paths of errors
    /// start at the expression.
    ///
    /// # Errors
    /// Everything that is wrong with it.
    pub fn compile(expression: &Expression) -> Result<Self, Vec<ExpressionError>> {
        compile(expression, NODE_OPERATORS, "")
    }

    /// Whether these labels meet the requirement. `NotIn` also holds where the key is absent; `Gt` and `Lt`
    /// do not, nor where the label is no whole number.
    pub fn matches(&self, labels: &Labels) -> bool {
        let value = labels.get(&self.key);
        match &self.test {
            Test::In(values) => value.is_some_and(|v| values.contains(v)),
            Test::NotIn(values) => value.is_none_or(|v| !values.contains(v)),
            Test::Exists => value.is_some(),
            Test::DoesNotExist => value.is_none(),
            Test::Gt(bound) => number(value).is_some_and(|n| n > *bound),
            Test::Lt(bound) => number(value).is_some_and(|n| n < *bound),
        }
    }

    /// The values of an `In`, of which the label must have one.
    pub fn one_of(&self) -> Option<&[String]> {
        match &self.test {
            Test::In(values) => Some(values),
            _ => None,
        }
    }

    /// The label that is asked about.
    pub fn key(&self) -> &str {
        &self.key
    }
}

/// The entries of `wanted` that `labels` lack or have with another value, with the value they have.
pub fn missing<'a>(
    labels: &'a Labels,
    wanted: &'a Labels,
) -> impl Iterator<Item = (&'a str, &'a str, Option<&'a str>)> {
    wanted.iter().filter_map(|(key, value)| {
        let actual = labels.get(key);
        (actual != Some(value)).then_some((key.as_str(), value.as_str(), actual.map(String::as_str)))
    })
}

/// Compiles a list of node affinity expressions; `path` gives the prefix of each one's error paths.
pub(super) fn compile_node_expressions(
    expressions: &[Expression],
    path: impl Fn(usize) -> String,
    errors: &mut Vec<ExpressionError>,
) -> Vec<Requirement> {
    compile_all(expressions, NODE_OPERATORS, path, errors)
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Test {
    In(Vec<String>),
    NotIn(Vec<String>),
    Exists,
    DoesNotExist,
    Gt(i64),
    Lt(i64),
}

const SELECTOR_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist"];
const NODE_OPERATORS: &[&str] = &["In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"];

fn compile_all(
    expressions: &[Expression],
    operators: &'static [&'static str],
    path: impl Fn(usize) -> String,
    errors: &mut Vec<ExpressionError>,
) -> Vec<Requirement> {
    let mut requirements = Vec::with_capacity(expressions.len());
    for (index, expression) in expressions.iter().enumerate() {
        match compile(expression, operators, &path(index)) {
            Ok(requirement) => requirements.push(requirement),
            Err(found) => errors.extend(found),
        }
    }
    requirements
}

fn compile(
    expression: &Expression,
    operators: &'static [&'static str],
    prefix: &str,
) -> Result<Requirement, Vec<ExpressionError>> {
    let Expression { key, values, .. } = expression;
    let mut errors = name_errors(&format!("{prefix}key"), key, names::label_key_problems(key));
    let test = compile_test(expression, operators).map_err(|(field, problem)| {
        errors.push(ExpressionError { path: format!("{prefix}{field}"), problem })
    });
    for (index, value) in values.iter().enumerate() {
        errors.extend(name_errors(
            &format!("{prefix}values[{index}]"),
            value,
            names::label_value_problems(value),
        ));
    }
    match test {
        Ok(test) if errors.is_empty() => Ok(Requirement { key: key.clone(), test }),
        _ => Err(errors),
    }
}

fn compile_test(
    Expression { operator, values, .. }: &Expression,
    operators: &'static [&'static str],
) -> Result<Test, (&'static str, ExpressionProblem)> {
    let unknown =
        || ("operator", ExpressionProblem::Operator { operator: operator.clone(), allowed: operators });
    if !operators.contains(&operator.as_str()) {
        return Err(unknown());
    }
    match operator.as_str() {
        "In" | "NotIn" if values.is_empty() => Err(("values", ExpressionProblem::NoValues)),
        "In" => Ok(Test::In(values.clone())),
        "NotIn" => Ok(Test::NotIn(values.clone())),
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            Err(("values", ExpressionProblem::UnexpectedValues { count: values.len() }))
        }
        "Exists" => Ok(Test::Exists),
        "DoesNotExist" => Ok(Test::DoesNotExist),
        "Gt" => bound(values).map(Test::Gt),
        "Lt" => bound(values).map(Test::Lt),
        _ => Err(unknown()),
    }
}

fn bound(values: &[String]) -> Result<i64, (&'static str, ExpressionProblem)> {
    let [value] = values else {
        return Err(("values", ExpressionProblem::NotOneValue { count: values.len() }));
    };
    value.parse().map_err(|_| ("values[0]", ExpressionProblem::NotAnInteger { value: value.clone() }))
}

/// As Go's `strconv.ParseInt` reads a label: signs and leading zeros are fine.
fn number(value: Option<&String>) -> Option<i64> {
    value?.parse().ok()
}

fn name_errors(path: &str, text: &str, problems: Vec<NameProblem>) -> Vec<ExpressionError> {
    let error = |problem| ExpressionError {
        path: path.to_owned(),
        problem: ExpressionProblem::Name { text: text.to_owned(), problem },
    };
    problems.into_iter().map(error).collect()
}

#[cfg(test)]
mod tests;
