//! Parts that several kinds use.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::k8s::object;

/// `metadata` of a policy.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Metadata {
    /// Unique among the policies of its kind. Lower-case letters, digits and `-`; at most 63 characters,
    /// because it is used as a label value and in metrics.
    #[schemars(extend("examples" = ["h100-whole"]))]
    pub name: String,
    /// Labels, for your own use.
    #[serde(default)]
    pub labels: BTreeMap<String, String>,
    /// Annotations, for your own use.
    #[serde(default)]
    pub annotations: BTreeMap<String, String>,
}

/// A Kubernetes quantity: text such as `16Gi`, or a whole number of bytes.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Quantity {
    /// With a unit.
    Text(String),
    /// In bytes.
    Bytes(u64),
}

impl Quantity {
    /// As written.
    #[must_use]
    pub fn text(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::Bytes(bytes) => bytes.to_string(),
        }
    }
}

/// A label selector, as in Kubernetes: all `matchLabels` and all `matchExpressions` must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// All of these labels.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// And all of these expressions.
    #[serde(default)]
    pub match_expressions: Vec<LabelExpression>,
}

/// An expression over one label.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LabelExpression {
    /// The label.
    #[schemars(extend("examples" = ["nvidia.com/gpu.product"]))]
    pub key: String,
    /// How the label's value is compared.
    pub operator: LabelOperator,
    /// Operands of `In` and `NotIn`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// Operators of label selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum LabelOperator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
}

/// A term that selects nodes: everything in one term must hold; several terms are alternatives.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeTerm {
    /// All of these labels; short for expressions with `In` and one value.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// And all of these expressions over labels.
    #[serde(default)]
    pub match_expressions: Vec<NodeExpression>,
    /// And all of these expressions over fields; Kubernetes knows `metadata.name` only.
    #[serde(default)]
    pub match_fields: Vec<NodeExpression>,
}

/// An expression over one node label or field.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct NodeExpression {
    /// The label or field.
    #[schemars(extend("examples" = ["nvidia.com/gpu.product"]))]
    pub key: String,
    /// How the value is compared.
    pub operator: NodeOperator,
    /// Operands of `In`, `NotIn`, `Gt` and `Lt`.
    #[serde(default)]
    pub values: Vec<String>,
}

/// Operators of node selectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
pub enum NodeOperator {
    /// The label has one of the values.
    In,
    /// The label has none of the values, or is absent.
    NotIn,
    /// The label is there.
    Exists,
    /// The label is absent.
    DoesNotExist,
    /// The label is a whole number greater than the one operand.
    Gt,
    /// The label is a whole number less than the one operand.
    Lt,
}

impl LabelOperator {
    /// The word in Kubernetes objects.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
        }
    }
}

impl NodeOperator {
    /// The word in Kubernetes objects.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::In => "In",
            Self::NotIn => "NotIn",
            Self::Exists => "Exists",
            Self::DoesNotExist => "DoesNotExist",
            Self::Gt => "Gt",
            Self::Lt => "Lt",
        }
    }
}

impl From<&Selector> for object::LabelSelector {
    fn from(raw: &Selector) -> Self {
        let expression = |raw: &LabelExpression| object::Expression {
            key: raw.key.clone(),
            operator: raw.operator.as_str().to_owned(),
            values: raw.values.clone(),
        };
        Self {
            match_labels: raw.match_labels.clone(),
            match_expressions: raw.match_expressions.iter().map(expression).collect(),
        }
    }
}

impl From<&NodeTerm> for object::NodeSelectorTerm {
    fn from(raw: &NodeTerm) -> Self {
        let expression = |raw: &NodeExpression| object::Expression {
            key: raw.key.clone(),
            operator: raw.operator.as_str().to_owned(),
            values: raw.values.clone(),
        };
        let labels = raw.match_labels.iter().map(|(key, value)| object::Expression {
            key: key.clone(),
            operator: NodeOperator::In.as_str().to_owned(),
            values: vec![value.clone()],
        });
        Self {
            match_expressions: labels.chain(raw.match_expressions.iter().map(expression)).collect(),
            match_fields: raw.match_fields.iter().map(expression).collect(),
        }
    }
}
