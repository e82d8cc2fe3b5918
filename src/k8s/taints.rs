//! Taints and tolerations (api `core/v1/toleration.go`, component-helpers `scheduling/corev1/helpers.go`,
//! scheduler plugins `nodeunschedulable` and `tainttoleration`).
//!
//! `comparison_operators` is the feature gate `TaintTolerationComparisonOperators` (KEP-5471): alpha and off
//! by default up to 1.37. Where it is off, a toleration with `Gt` or `Lt` tolerates nothing.

use super::{
    decimal::canonical_i64,
    names::{self, NameProblem},
    object::{Taint, Toleration},
};

/// Keeps every Pod off that does not tolerate it.
pub const NO_SCHEDULE: &str = "NoSchedule";
/// Makes the scheduler look elsewhere first.
pub const PREFER_NO_SCHEDULE: &str = "PreferNoSchedule";
/// Keeps Pods off and evicts those that run.
pub const NO_EXECUTE: &str = "NoExecute";
/// The key of the taint that a cordoned node is treated as having.
pub const UNSCHEDULABLE: &str = "node.kubernetes.io/unschedulable";

/// What keeps a Pod off a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Untolerated<'a> {
    /// The node is cordoned (`spec.unschedulable`).
    Unschedulable,
    /// This taint.
    Taint(&'a Taint),
}

/// A toleration that the API server would refuse.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TolerationProblem {
    /// The key cannot be a taint's key.
    #[error("the key {key:?} cannot be a taint key: {problem}")]
    Key {
        /// As written.
        key: String,
        /// Why not.
        problem: NameProblem,
    },
    /// No key, but an operator that needs one.
    #[error("without a key the operator must be Exists, which tolerates every taint")]
    KeyMissing,
    /// `tolerationSeconds` beside an effect that evicts nobody.
    #[error("tolerationSeconds needs the effect NoExecute, not {effect:?}")]
    SecondsWithoutNoExecute {
        /// As written; empty means all effects.
        effect: String,
    },
    /// A value that no taint can have.
    #[error("the value {value:?} cannot be a taint value: {problem}")]
    Value {
        /// As written.
        value: String,
        /// Why not.
        problem: NameProblem,
    },
    /// `Exists` with a value.
    #[error("Exists takes no value, {value:?} given")]
    UnexpectedValue {
        /// As written.
        value: String,
    },
    /// `Gt` or `Lt` while the feature gate is off.
    #[error("{operator} needs the feature gate TaintTolerationComparisonOperators, which is off")]
    ComparisonDisabled {
        /// As written.
        operator: String,
    },
    /// `Gt` or `Lt` with something else than a whole number.
    #[error("{value:?} is not a whole number in plain notation, which Gt and Lt need")]
    NotAnInteger {
        /// As written.
        value: String,
    },
    /// No such operator.
    #[error("{operator:?} is not an operator: use Equal or Exists")]
    Operator {
        /// As written.
        operator: String,
    },
    /// No such effect.
    #[error("{effect:?} is not an effect: use NoSchedule, PreferNoSchedule, NoExecute, or none for all")]
    Effect {
        /// As written.
        effect: String,
    },
}

/// Whether one toleration tolerates one taint (`Toleration.ToleratesTaint`). An empty effect covers every
/// effect, an empty key every key; an empty operator means `Equal`.
pub fn tolerates(toleration: &Toleration, taint: &Taint, comparison_operators: bool) -> bool {
    if !toleration.effect.is_empty() && toleration.effect != taint.effect {
        return false;
    }
    if !toleration.key.is_empty() && toleration.key != taint.key {
        return false;
    }
    let compared = |holds: fn(i64, i64) -> bool| {
        let values = canonical_i64(&taint.value).zip(canonical_i64(&toleration.value));
        comparison_operators && values.is_some_and(|(taint, toleration)| holds(taint, toleration))
    };
    match toleration.operator.as_str() {
        "" | "Equal" => toleration.value == taint.value,
        "Exists" => true,
        "Lt" => compared(|taint, toleration| taint < toleration),
        "Gt" => compared(|taint, toleration| taint > toleration),
        _ => false,
    }
}

/// Whether any of the tolerations tolerates the taint.
pub fn covers(tolerations: &[Toleration], taint: &Taint, comparison_operators: bool) -> bool {
    tolerations.iter().any(|toleration| tolerates(toleration, taint, comparison_operators))
}

/// True for the effects that keep a Pod from being scheduled; `PreferNoSchedule` only lowers the score.
pub fn repels(taint: &Taint) -> bool {
    matches!(taint.effect.as_str(), NO_SCHEDULE | NO_EXECUTE)
}

/// The first thing that keeps a Pod with these tolerations off the node, in the scheduler's order: the
/// cordon, which counts as the taint `node.kubernetes.io/unschedulable:NoSchedule`, then the taints as
/// they stand on the node (`FindMatchingUntoleratedTaint`).
pub fn first_untolerated<'a>(
    taints: &'a [Taint],
    unschedulable: bool,
    tolerations: &[Toleration],
    comparison_operators: bool,
) -> Option<Untolerated<'a>> {
    let cordoned = unschedulable && !tolerates_cordon(tolerations, comparison_operators);
    cordoned.then_some(Untolerated::Unschedulable).or_else(|| {
        let repelled = |taint: &&Taint| repels(taint) && !covers(tolerations, taint, comparison_operators);
        taints.iter().find(repelled).map(Untolerated::Taint)
    })
}

/// For how many seconds a Pod may stay on a node with these taints: `None` for ever, `Some(0)` if a
/// `NoExecute` taint is not tolerated at all, else the least `tolerationSeconds` of all tolerations that
/// are in use (`getMinTolerationTime` of the taint eviction controller; negative seconds count as 0).
pub fn seconds_until_eviction(
    taints: &[Taint],
    tolerations: &[Toleration],
    comparison_operators: bool,
) -> Option<i64> {
    let evicting: Vec<_> = taints.iter().filter(|taint| taint.effect == NO_EXECUTE).collect();
    if evicting.iter().any(|taint| !covers(tolerations, taint, comparison_operators)) {
        return Some(0);
    }
    let first_match = |taint: &&Taint| tolerations.iter().find(|t| tolerates(t, taint, comparison_operators));
    let used = evicting.iter().filter_map(first_match);
    used.filter_map(|toleration| toleration.toleration_seconds).map(|seconds| seconds.max(0)).min()
}

/// The tolerations with those of `added` behind them that are not there already. Same means same key,
/// operator, value and effect (`MatchToleration`), an absent operator being `Equal`; the one that was there
/// first keeps its `tolerationSeconds`.
pub fn union(existing: &[Toleration], added: &[Toleration]) -> Vec<Toleration> {
    let mut all = existing.to_vec();
    for toleration in added {
        if !all.iter().any(|present| is_same(present, toleration)) {
            all.push(toleration.clone());
        }
    }
    all
}

/// Everything for which the API server would refuse the toleration (`ValidateTolerations`).
pub fn problems(toleration: &Toleration, comparison_operators: bool) -> Vec<TolerationProblem> {
    let Toleration { key, operator, effect, toleration_seconds, .. } = toleration;
    let mut problems = Vec::new();
    if key.is_empty() && operator != "Exists" {
        problems.push(TolerationProblem::KeyMissing);
    }
    if !key.is_empty() {
        let bad = names::label_key_problems(key).into_iter();
        problems.extend(bad.map(|problem| TolerationProblem::Key { key: key.clone(), problem }));
    }
    if toleration_seconds.is_some() && effect != NO_EXECUTE {
        problems.push(TolerationProblem::SecondsWithoutNoExecute { effect: effect.clone() });
    }
    problems.extend(value_problems(toleration, comparison_operators));
    if !matches!(effect.as_str(), "" | NO_SCHEDULE | PREFER_NO_SCHEDULE | NO_EXECUTE) {
        problems.push(TolerationProblem::Effect { effect: effect.clone() });
    }
    problems
}

fn value_problems(
    Toleration { operator, value, .. }: &Toleration,
    comparison_operators: bool,
) -> Vec<TolerationProblem> {
    match operator.as_str() {
        "" | "Equal" => {
            let bad = names::label_value_problems(value).into_iter();
            bad.map(|problem| TolerationProblem::Value { value: value.clone(), problem }).collect()
        }
        "Exists" if value.is_empty() => vec![],
        "Exists" => vec![TolerationProblem::UnexpectedValue { value: value.clone() }],
        "Lt" | "Gt" if !comparison_operators => {
            vec![TolerationProblem::ComparisonDisabled { operator: operator.clone() }]
        }
        "Lt" | "Gt" if canonical_i64(value).is_some() => vec![],
        "Lt" | "Gt" => vec![TolerationProblem::NotAnInteger { value: value.clone() }],
        _ => vec![TolerationProblem::Operator { operator: operator.clone() }],
    }
}

fn tolerates_cordon(tolerations: &[Toleration], comparison_operators: bool) -> bool {
    let cordon =
        Taint { key: UNSCHEDULABLE.to_owned(), value: String::new(), effect: NO_SCHEDULE.to_owned() };
    covers(tolerations, &cordon, comparison_operators)
}

fn is_same(a: &Toleration, b: &Toleration) -> bool {
    let operator = |toleration: &Toleration| match toleration.operator.as_str() {
        "" => "Equal".to_owned(),
        operator => operator.to_owned(),
    };
    a.key == b.key && a.value == b.value && a.effect == b.effect && operator(a) == operator(b)
}

#[cfg(test)]
mod tests;
