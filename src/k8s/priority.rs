//! Priority of a Pod: what the admission plugin fills in and refuses
//! (`plugin/pkg/admission/priority/admission.go`), and which PriorityClasses may exist
//! (`pkg/apis/scheduling/validation/validation.go`, `pkg/apis/scheduling/v1/helpers.go`).
//!
//! Name, value and preemption policy of a Pod belong together: the plugin runs again after every webhook
//! that changed something, and refuses a Pod whose value or policy is not the one of its class.

use super::object::{PodSpec, PriorityClass};

/// The three fields that a class decides.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Priority {
    /// `priorityClassName`; empty if there is neither a class nor a global default.
    pub class: String,
    /// `priority`.
    pub value: i64,
    /// `preemptionPolicy`.
    pub preemption_policy: String,
}

/// No class of that name exists, so the API server refuses the Pod.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no PriorityClass with the name {name:?} exists")]
pub struct UnknownClass {
    /// As written.
    pub name: String,
}

/// A field of the Pod that is not what its class says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Mismatch {
    /// `spec.priority`.
    Value {
        /// As written.
        is: i64,
        /// The class's.
        should: i64,
    },
    /// `spec.preemptionPolicy`.
    PreemptionPolicy {
        /// As written.
        is: String,
        /// The class's.
        should: String,
    },
}

/// Why the API server would refuse a PriorityClass.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ClassProblem {
    /// A name with `system-` that Kubernetes does not define.
    #[error("names that start with system- are reserved for Kubernetes")]
    ReservedName,
    /// One of Kubernetes' own classes with another value.
    #[error("the value of this class must be {should}")]
    SystemValue {
        /// What it must be.
        should: i64,
    },
    /// One of Kubernetes' own classes as global default.
    #[error("a system class cannot be the global default")]
    SystemDefault,
    /// More than a user may give.
    #[error("the value must not be above {HIGHEST_USER_VALUE}")]
    AboveUserMaximum,
    /// Not within int32.
    #[error("the value must be a 32-bit number")]
    NotInt32,
    /// No such policy.
    #[error("{policy:?} is not a preemption policy: use {PREEMPT_LOWER_PRIORITY} or {NEVER}")]
    PreemptionPolicy {
        /// As written.
        policy: String,
    },
}

/// Pods with this policy, the default, may displace Pods of lower priority.
pub const PREEMPT_LOWER_PRIORITY: &str = "PreemptLowerPriority";
/// Pods with this policy wait, in front of Pods of lower priority.
pub const NEVER: &str = "Never";
/// The highest value of a class that a user makes.
pub const HIGHEST_USER_VALUE: i64 = 1_000_000_000;
/// The classes that every cluster has, with their values.
pub const SYSTEM_CLASSES: [(&str, i64); 2] =
    [("system-cluster-critical", 2_000_000_000), ("system-node-critical", 2_000_001_000)];

/// What the API server fills in for a Pod that names this class; an empty name takes the global default, if
/// several the lowest (of equal ones the first by name), and without one the value 0. Kubernetes' own
/// classes are known without being listed.
///
/// # Errors
/// The name is not among `classes`.
pub fn resolve<'a>(
    name: &str,
    classes: impl IntoIterator<Item = &'a PriorityClass>,
) -> Result<Priority, UnknownClass> {
    let mut classes = classes.into_iter();
    if name.is_empty() {
        let lowest = classes
            .filter(|class| class.global_default)
            .min_by_key(|class| (class.value, &class.metadata.name));
        return Ok(lowest.map_or_else(|| priority("", 0, None), of_class));
    }
    let listed = classes.find(|class| class.metadata.name == name).map(of_class);
    let system = || SYSTEM_CLASSES.iter().find(|(class, _)| *class == name);
    listed
        .or_else(|| system().map(|(class, value)| priority(class, *value, None)))
        .ok_or_else(|| UnknownClass { name: name.to_owned() })
}

/// The fields of a Pod that contradict what its class says; the API server refuses each on creation. Absent
/// fields are filled in and contradict nothing.
pub fn mismatches(spec: &PodSpec, resolved: &Priority) -> Vec<Mismatch> {
    let value = spec.priority.filter(|is| *is != resolved.value);
    let policy = spec.preemption_policy.as_ref().filter(|is| **is != resolved.preemption_policy);
    let value = value.map(|is| Mismatch::Value { is, should: resolved.value });
    let policy = policy
        .map(|is| Mismatch::PreemptionPolicy { is: is.clone(), should: resolved.preemption_policy.clone() });
    value.into_iter().chain(policy).collect()
}

/// Everything for which the API server would refuse the class (`ValidatePriorityClass`). That only one
/// class may be made global default is not seen here.
pub fn class_problems(class: &PriorityClass) -> Vec<ClassProblem> {
    let mut problems = Vec::new();
    let name = class.metadata.name.as_str();
    match SYSTEM_CLASSES.iter().find(|(system, _)| *system == name) {
        Some((_, value)) => {
            if class.value != *value {
                problems.push(ClassProblem::SystemValue { should: *value });
            }
            if class.global_default {
                problems.push(ClassProblem::SystemDefault);
            }
        }
        None if i32::try_from(class.value).is_err() => problems.push(ClassProblem::NotInt32),
        None if name.starts_with("system-") => problems.push(ClassProblem::ReservedName),
        None if class.value > HIGHEST_USER_VALUE => problems.push(ClassProblem::AboveUserMaximum),
        None => {}
    }
    let policy = class.preemption_policy.iter();
    let unknown = policy.filter(|policy| ![PREEMPT_LOWER_PRIORITY, NEVER].contains(&policy.as_str()));
    problems.extend(unknown.map(|policy| ClassProblem::PreemptionPolicy { policy: policy.clone() }));
    problems
}

fn of_class(class: &PriorityClass) -> Priority {
    priority(&class.metadata.name, class.value, class.preemption_policy.as_deref())
}

fn priority(class: &str, value: i64, policy: Option<&str>) -> Priority {
    let preemption_policy = policy.unwrap_or(PREEMPT_LOWER_PRIORITY).to_owned();
    Priority { class: class.to_owned(), value, preemption_policy }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn class(name: &str, value: i64, more: Value) -> PriorityClass {
        let mut object = json!({"metadata": {"name": name}, "value": value});
        for (key, value) in more.as_object().into_iter().flatten() {
            object[key] = value.clone();
        }
        serde_json::from_value(object).expect("a PriorityClass")
    }

    fn resolved(name: &str, value: i64, policy: &str) -> Priority {
        Priority { class: name.to_owned(), value, preemption_policy: policy.to_owned() }
    }

    #[test]
    fn a_named_class_gives_value_and_policy() {
        let classes = [
            class("llm", 1000, json!({})),
            class("batch", -10, json!({"preemptionPolicy": "Never"})),
            class("other", 5, json!({"globalDefault": true})),
        ];
        assert_eq!(resolve("llm", &classes), Ok(resolved("llm", 1000, PREEMPT_LOWER_PRIORITY)));
        assert_eq!(resolve("batch", &classes), Ok(resolved("batch", -10, NEVER)));
        assert_eq!(resolve("LLM", &classes), Err(UnknownClass { name: "LLM".to_owned() }));
    }

    #[test]
    fn without_a_name_the_lowest_global_default_counts() {
        let default = |name, value| class(name, value, json!({"globalDefault": true}));
        let classes = [default("b", 20), default("c", 10), default("a", 10), class("low", 1, json!({}))];
        assert_eq!(resolve("", &classes), Ok(resolved("a", 10, PREEMPT_LOWER_PRIORITY)));
        let never = [class("d", 3, json!({"globalDefault": true, "preemptionPolicy": "Never"}))];
        assert_eq!(resolve("", &never), Ok(resolved("d", 3, NEVER)));
        assert_eq!(resolve("", &[class("low", 1, json!({}))]), Ok(resolved("", 0, PREEMPT_LOWER_PRIORITY)));
        assert_eq!(resolve("", &[]), Ok(resolved("", 0, PREEMPT_LOWER_PRIORITY)));
    }

    #[test]
    fn kubernetes_own_classes_always_exist() {
        let node = resolve("system-node-critical", &[]).expect("built in");
        assert_eq!(node.value, 2_000_001_000);
        assert_eq!(resolve("system-cluster-critical", &[]).map(|p| p.value), Ok(2_000_000_000));
        assert!(resolve("system-gpu-critical", &[]).is_err());
    }

    #[test]
    fn a_value_or_policy_beside_the_class_is_refused() {
        let llm = resolved("llm", 1000, PREEMPT_LOWER_PRIORITY);
        let pod = |spec: Value| mismatches(&serde_json::from_value(spec).expect("a spec"), &llm);
        assert_eq!(pod(json!({})), []);
        assert_eq!(pod(json!({"priority": 1000, "preemptionPolicy": "PreemptLowerPriority"})), []);
        assert_eq!(pod(json!({"priority": 0})), [Mismatch::Value { is: 0, should: 1000 }]);
        let policy =
            Mismatch::PreemptionPolicy { is: NEVER.to_owned(), should: PREEMPT_LOWER_PRIORITY.to_owned() };
        let both = pod(json!({"priority": 999, "preemptionPolicy": "Never"}));
        assert_eq!(both, [Mismatch::Value { is: 999, should: 1000 }, policy]);
    }

    #[test]
    fn classes_have_bounds_and_reserved_names() {
        let problems = |name, value, more| class_problems(&class(name, value, more));
        assert_eq!(problems("llm", HIGHEST_USER_VALUE, json!({})), []);
        assert_eq!(problems("low", -2_147_483_648, json!({"preemptionPolicy": "Never"})), []);
        assert_eq!(problems("llm", HIGHEST_USER_VALUE + 1, json!({})), [ClassProblem::AboveUserMaximum]);
        assert_eq!(problems("llm", 3_000_000_000, json!({})), [ClassProblem::NotInt32]);
        assert_eq!(problems("system-llm", 5, json!({})), [ClassProblem::ReservedName]);
        assert_eq!(problems("system-node-critical", 2_000_001_000, json!({})), []);
        assert_eq!(
            problems("system-node-critical", 5, json!({"globalDefault": true})),
            [ClassProblem::SystemValue { should: 2_000_001_000 }, ClassProblem::SystemDefault],
        );
        let odd = ClassProblem::PreemptionPolicy { policy: "Always".to_owned() };
        assert_eq!(problems("llm", 5, json!({"preemptionPolicy": "Always"})), [odd]);
    }
}
