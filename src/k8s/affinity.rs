//! Which nodes a Pod may and would rather run on: nodeSelector and node affinity
//! (component-helpers `scheduling/corev1/nodeaffinity/nodeaffinity.go`).
//!
//! Compiled once for a Pod, asked for each node or node shape. Node names matter only to `matchFields`;
//! without a name those are skipped, as upstream does for a node that has none.

use super::{
    labels::{self, ExpressionError, ExpressionProblem, Requirement},
    object::{Expression, Labels, NodeSelector, NodeSelectorTerm, PodSpec, PreferredTerm},
};

/// `nodeSelector` and the required node affinity of a Pod; both must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequiredNodeAffinity {
    node_selector: Labels,
    terms: Option<Vec<Term>>,
}

/// The preferred node affinity of a Pod.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PreferredNodeAffinity {
    terms: Vec<(i64, Term)>,
}

/// One compiled node selector term.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Term {
    /// Neither expressions nor fields: matches no node.
    Empty,
    /// Cannot be read: matches no node. The API server admits some of these in preferred terms, templates
    /// of other kinds hold any.
    Invalid(Vec<ExpressionError>),
    /// All expressions and all fields must hold.
    Valid {
        /// On labels.
        expressions: Vec<Requirement>,
        /// On fields.
        fields: Vec<FieldRequirement>,
    },
}

/// One compiled expression on a node's fields.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldRequirement {
    key: String,
    value: String,
    equal: bool,
}

/// Why a node does or does not satisfy a Pod's required affinity.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Explanation {
    /// The entries of `nodeSelector` that the node does not have.
    pub node_selector: Vec<MissingLabel>,
    /// One result for each term, in order; `None` if there is no required affinity.
    pub terms: Option<Vec<TermResult>>,
}

/// A label of `nodeSelector` that a node lacks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingLabel {
    /// Label key.
    pub key: String,
    /// What the Pod wants.
    pub wanted: String,
    /// What the node has; `None` if the label is absent.
    pub actual: Option<String>,
}

/// What one term says of a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TermResult {
    /// All of the term holds.
    Matches,
    /// The term is empty and matches no node.
    Empty,
    /// The term cannot be read.
    Invalid(Vec<ExpressionError>),
    /// These expressions do not hold.
    Fails(Vec<FailedExpression>),
}

/// An expression that does not hold on a node.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FailedExpression {
    /// Path from the term, such as `matchExpressions[0]`.
    pub path: String,
    /// The label or field that is asked about.
    pub key: String,
    /// What the node has; `None` if it has no such label.
    pub actual: Option<String>,
}

impl RequiredNodeAffinity {
    /// Compiles `nodeSelector` and the required terms. `None` restricts nothing, an empty list of terms
    /// matches no node. Mistakes are kept with their term: they only show if no other term matches.
    pub fn new(node_selector: &Labels, required: Option<&NodeSelector>) -> Self {
        let terms = required.map(|selector| selector.node_selector_terms.iter().map(Term::compile).collect());
        Self { node_selector: node_selector.clone(), terms }
    }

    /// That of a Pod.
    pub fn of(spec: &PodSpec) -> Self {
        Self::new(&spec.node_selector, spec.affinity.node_affinity.required.as_ref())
    }

    /// Whether the Pod may run on a node with this name and these labels (`RequiredNodeAffinity.Match`).
    pub fn matches(&self, name: Option<&str>, labels: &Labels) -> bool {
        labels::missing(labels, &self.node_selector).next().is_none()
            && self.terms.as_ref().is_none_or(|terms| terms.iter().any(|term| term.matches(name, labels)))
    }

    /// True if every node will do.
    pub fn is_unrestricted(&self) -> bool {
        self.node_selector.is_empty() && self.terms.is_none()
    }

    /// The labels that `nodeSelector` asks for.
    pub fn node_selector(&self) -> &Labels {
        &self.node_selector
    }

    /// The compiled terms, in order; `None` if there is no required affinity.
    pub fn terms(&self) -> Option<&[Term]> {
        self.terms.as_deref()
    }

    /// Says for each part whether it holds on that node, and what the node has instead.
    pub fn explain(&self, name: Option<&str>, labels: &Labels) -> Explanation {
        let missing = labels::missing(labels, &self.node_selector).map(|(key, wanted, actual)| {
            MissingLabel { key: key.to_owned(), wanted: wanted.to_owned(), actual: actual.map(str::to_owned) }
        });
        Explanation {
            node_selector: missing.collect(),
            terms: self.terms.as_ref().map(|terms| terms.iter().map(|t| t.explain(name, labels)).collect()),
        }
    }
}

impl Explanation {
    /// Whether the node satisfies all of it; agrees with [`RequiredNodeAffinity::matches`].
    pub fn matches(&self) -> bool {
        self.node_selector.is_empty()
            && self.terms.as_ref().is_none_or(|terms| terms.contains(&TermResult::Matches))
    }
}

impl PreferredNodeAffinity {
    /// Compiles preferred terms (`NewPreferredSchedulingTerms`). Terms of weight 0 and empty terms count
    /// nothing and are not read.
    ///
    /// # Errors
    /// All mistakes of all terms: one of them makes upstream drop the whole set. Paths start at the list.
    pub fn new(terms: &[PreferredTerm]) -> Result<Self, Vec<ExpressionError>> {
        let mut compiled = Vec::new();
        let mut errors = Vec::new();
        for (index, PreferredTerm { weight, preference }) in terms.iter().enumerate() {
            match Term::compile(preference) {
                _ if *weight == 0 => {}
                Term::Empty => {}
                Term::Invalid(found) => errors.extend(found.into_iter().map(|error| ExpressionError {
                    path: format!("[{index}].preference.{}", error.path),
                    ..error
                })),
                term @ Term::Valid { .. } => compiled.push((*weight, term)),
            }
        }
        if errors.is_empty() { Ok(Self { terms: compiled }) } else { Err(errors) }
    }

    /// The sum of the weights of the terms that match the node, before the scheduler normalises it.
    pub fn score(&self, name: Option<&str>, labels: &Labels) -> i64 {
        let matching = self.terms.iter().filter(|(_, term)| term.matches(name, labels));
        matching.fold(0, |sum, (weight, _)| sum.saturating_add(*weight))
    }
}

impl Term {
    /// Compiles one term; a mistake makes it [`Term::Invalid`], with paths from the term.
    pub fn compile(term: &NodeSelectorTerm) -> Self {
        if term.match_expressions.is_empty() && term.match_fields.is_empty() {
            return Self::Empty;
        }
        let mut errors = Vec::new();
        let path = |index: usize| format!("matchExpressions[{index}].");
        let expressions = labels::compile_node_expressions(&term.match_expressions, path, &mut errors);
        let mut fields = Vec::with_capacity(term.match_fields.len());
        for (index, expression) in term.match_fields.iter().enumerate() {
            match FieldRequirement::compile(expression) {
                Ok(requirement) => fields.push(requirement),
                Err((field, problem)) => {
                    errors.push(ExpressionError { path: format!("matchFields[{index}].{field}"), problem });
                }
            }
        }
        if errors.is_empty() { Self::Valid { expressions, fields } } else { Self::Invalid(errors) }
    }

    /// Whether a node with this name and these labels satisfies the term.
    pub fn matches(&self, name: Option<&str>, labels: &Labels) -> bool {
        let Self::Valid { expressions, fields } = self else { return false };
        expressions.iter().all(|e| e.matches(labels))
            && named(name).is_none_or(|name| fields.iter().all(|f| f.matches(name)))
    }

    /// What holds and what does not.
    pub fn explain(&self, name: Option<&str>, labels: &Labels) -> TermResult {
        let (expressions, fields) = match self {
            Self::Empty => return TermResult::Empty,
            Self::Invalid(errors) => return TermResult::Invalid(errors.clone()),
            Self::Valid { expressions, fields } => (expressions, fields),
        };
        let on_labels = expressions.iter().enumerate().filter(|(_, e)| !e.matches(labels));
        let on_labels = on_labels.map(|(index, expression)| FailedExpression {
            path: format!("matchExpressions[{index}]"),
            key: expression.key().to_owned(),
            actual: labels.get(expression.key()).cloned(),
        });
        let on_fields = named(name).into_iter().flat_map(|name| {
            fields.iter().enumerate().filter(move |(_, f)| !f.matches(name)).map(move |(index, field)| {
                let actual = (field.key == NAME_FIELD).then(|| name.to_owned());
                FailedExpression { path: format!("matchFields[{index}]"), key: field.key.clone(), actual }
            })
        });
        let failed: Vec<_> = on_labels.chain(on_fields).collect();
        if failed.is_empty() { TermResult::Matches } else { TermResult::Fails(failed) }
    }
}

impl FieldRequirement {
    /// Only `In` and `NotIn` with one value exist on fields.
    fn compile(
        Expression { key, operator, values }: &Expression,
    ) -> Result<Self, (&'static str, ExpressionProblem)> {
        let equal = match operator.as_str() {
            "In" => true,
            "NotIn" => false,
            _ => {
                let problem =
                    ExpressionProblem::Operator { operator: operator.clone(), allowed: &["In", "NotIn"] };
                return Err(("operator", problem));
            }
        };
        match values.as_slice() {
            [value] => Ok(Self { key: key.clone(), value: value.clone(), equal }),
            _ => Err(("values", ExpressionProblem::NotOneValue { count: values.len() })),
        }
    }

    /// The one node name that meets it, where it names one.
    pub fn only_name(&self) -> Option<&str> {
        (self.equal && self.key == NAME_FIELD).then_some(self.value.as_str())
    }

    /// A field other than the name reads as empty text.
    fn matches(&self, name: &str) -> bool {
        let actual = if self.key == NAME_FIELD { name } else { "" };
        (actual == self.value) == self.equal
    }
}

/// The one field that the scheduler fills in.
const NAME_FIELD: &str = "metadata.name";

fn named(name: Option<&str>) -> Option<&str> {
    name.filter(|name| !name.is_empty())
}

#[cfg(test)]
mod tests;
