//! The backstop: ValidatingAdmissionPolicies that the API server evaluates by itself, so that a Pod which we
//! never saw is refused with our words and not with those of a broken connection.
//!
//! It acts only on Pods without a stamp: where we have answered, our answer holds, with the policy's action and
//! its exceptions. Pods that exist already are never looked at, but for their stamp.

use super::{
    ApiRule, Condition,
    conditions::{asks_for_gpu, container_asks_for_gpu, mounts_devices},
    webhooks::{CREATE, UPDATE, core, not_mirror},
    yaml,
};
use crate::subject::{relevant::VISIBLE_DEVICES, stamp};

/// Refuses a GPU Pod that we have not judged.
pub const STAMP_PRESENT: &str = "sluice-stamp-present";
/// Refuses ways around the request for a GPU that need no picture of the cluster to be seen.
pub const BYPASS: &str = "sluice-no-bypass";
/// Refuses a change of what we recorded.
pub const STAMP_UNCHANGED: &str = "sluice-stamp-unchanged";

/// One ValidatingAdmissionPolicy with its binding.
#[derive(Clone, Debug)]
pub struct Backstop {
    /// Name of policy and binding.
    pub name: &'static str,
    /// Why it is there.
    pub purpose: &'static str,
    /// Requests.
    pub rule: ApiRule,
    /// Conditions under which it looks at all.
    pub conditions: Vec<Condition>,
    /// Named expressions, each may use those before it.
    pub variables: Vec<(&'static str, String)>,
    /// What has to hold.
    pub validations: Vec<Validation>,
}

/// One thing that has to hold.
#[derive(Clone, Debug)]
pub struct Validation {
    /// CEL.
    pub expression: String,
    /// The refusal, on one line.
    pub message: String,
    /// CEL that words the refusal with what was found; `message` where it errs.
    pub message_expression: Option<String>,
}

/// The policies, in the order of the file; `namespace` is ours.
#[must_use]
pub fn policies(namespace: &str) -> Vec<Backstop> {
    vec![stamp_present(namespace), bypass(), stamp_unchanged()]
}

/// `webhook-config/backstop.yaml`.
#[must_use]
pub fn backstop(namespace: &str) -> String {
    let header =
        yaml::header("What holds while nobody of us answers. Why each choice: docs/installation.md.");
    let documents: Vec<String> =
        policies(namespace).iter().map(|policy| document(policy, namespace)).collect();
    format!("{header}{}", documents.join("---\n"))
}

fn stamp_present(namespace: &str) -> Backstop {
    Backstop {
        name: STAMP_PRESENT,
        purpose: "A GPU Pod that the mutating webhook did not see has neither pool nor tolerations nor priority.",
        rule: core(CREATE, &["pods"]),
        conditions: vec![
            not_mirror(),
            Condition { name: "asks-for-a-gpu", expression: asks_for_gpu("object") },
        ],
        variables: Vec::new(),
        validations: vec![Validation {
            expression: is_stamped(),
            message: format!(
                "sluice has not judged this GPU Pod: its webhook is down, so the Pod has no pool, \
                      tolerations and priority yet. Nothing is wrong with the Pod: create it again once \
                      `kubectl -n {namespace} get pods` shows sluice ready (controllers do so by themselves). \
                      If it cannot wait: docs/installation.md, \"When sluice is down\""
            ),
            message_expression: None,
        }],
    }
}

fn bypass() -> Backstop {
    let sees = format!(
        "variables.containers.filter(c, !({})\n  && c.?env.orValue([]).exists(e, e.name in [{}]\n    \
         && !(e.?value.orValue('').trim() in ['', 'void', 'none'])))",
        container_asks_for_gpu("c"),
        VISIBLE_DEVICES.map(|name| format!("'{name}'")).join(", "),
    );
    let containers = "object.spec.containers + object.spec.?initContainers.orValue([])";
    Backstop {
        name: BYPASS,
        purpose: "Ways to a GPU around the request for one, where no webhook was there to judge them.",
        rule: core(CREATE, &["pods"]),
        conditions: vec![
            not_mirror(),
            Condition { name: "was-not-judged", expression: format!("!({})", is_stamped()) },
        ],
        variables: vec![
            ("containers", containers.to_owned()),
            ("asksForGpu", asks_for_gpu("object")),
            ("sees", sees),
        ],
        validations: ways_around(),
    }
}

/// As the rules of the same names judge them, where these refuse.
fn ways_around() -> Vec<Validation> {
    let of_gpu_pods = |is_way: &str, message: &str| Validation {
        expression: format!("!variables.asksForGpu\n|| !({is_way})"),
        message: message.to_owned(),
        message_expression: None,
    };
    let visible = VISIBLE_DEVICES.join(" or ");
    vec![
        Validation {
            expression: "size(variables.sees) == 0".to_owned(),
            message: "gpu-bypass-env: a container makes GPUs visible to itself without asking for one"
                .to_owned(),
            message_expression: Some(format!(
                "'gpu-bypass-env: container ' + variables.sees[0].name + ' sets {visible} without a GPU request; \
                 ask for a GPU under resources.limits, or set it to void'",
            )),
        },
        of_gpu_pods(
            "object.spec.?nodeName.orValue('') != ''",
            "nodename-bypass: a GPU Pod with spec.nodeName goes around the scheduler; remove it, and require \
             kubernetes.io/hostname by node affinity if it must be that node",
        ),
        of_gpu_pods(
            "variables.containers.exists(c, c.?securityContext.?privileged.orValue(false))",
            "privileged-gpu-bypass: a privileged container in a GPU Pod sees every card of the node; drop \
             privileged, and ask for devices by resource name",
        ),
        of_gpu_pods(
            &mounts_devices("object"),
            "gpu-bypass-hostpath: a GPU Pod mounts device, driver or plugin paths of its node; remove the \
             hostPath volume, the device plugin brings what is needed",
        ),
    ]
}

fn stamp_unchanged() -> Backstop {
    let keys = stamp::KEYS.map(|key| format!("'{key}'")).join(", ");
    Backstop {
        name: STAMP_UNCHANGED,
        purpose: "The stamp is a record of what was decided. Nobody edits a record.",
        rule: core(UPDATE, &["pods"]),
        conditions: Vec::new(),
        variables: vec![(
            "changed",
            format!(
                "[{keys}].filter(key,\n  object.metadata.?annotations[?key] != oldObject.metadata.?annotations[?key])"
            ),
        )],
        validations: vec![Validation {
            expression: "size(variables.changed) == 0".to_owned(),
            message: "the record of a decision is not edited".to_owned(),
            message_expression: Some(
                "'annotation ' + variables.changed[0] + ' is the record of a decision and is never edited; delete \
                 the Pod and create it again to have it judged anew'"
                    .to_owned(),
            ),
        }],
    }
}

fn is_stamped() -> String {
    format!("'{}' in object.metadata.?annotations.orValue({{}})", stamp::DECISION)
}

fn document(policy: &Backstop, namespace: &str) -> String {
    let metadata =
        format!("metadata:\n  name: {}\n  labels:\n    app.kubernetes.io/name: sluice\n", policy.name);
    let spec = format!(
        "failurePolicy: Fail\nmatchConstraints:\n  matchPolicy: Equivalent\n{}  resourceRules:\n{}{}{}validations:\n{}",
        yaml::indent(&yaml::namespace_selector(namespace), 2),
        yaml::indent(&yaml::rule(&policy.rule), 2),
        list("matchConditions", policy.conditions.iter().map(yaml::condition)),
        list(
            "variables",
            policy.variables.iter().map(|(name, expression)| {
                format!("- name: {name}\n  expression: |-\n{}", yaml::indent(expression, 4))
            })
        ),
        policy.validations.iter().map(validation).collect::<String>(),
    );
    format!(
        "{}apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicy\n{metadata}spec:\n{}\
         ---\napiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingAdmissionPolicyBinding\n{metadata}spec:\n  \
         policyName: {}\n  validationActions: [Deny]\n",
        yaml::comment(policy.purpose),
        yaml::indent(&spec, 2),
        policy.name,
    )
}

fn list(key: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.collect();
    if items.is_empty() { String::new() } else { format!("{key}:\n{items}") }
}

fn validation(validation: &Validation) -> String {
    let block = |key: &str, text: &str| format!("  {key}: |-\n{}", yaml::indent(text, 4));
    let mut text = format!("- reason: Forbidden\n{}", block("expression", &validation.expression));
    text.push_str(&block("message", &validation.message));
    if let Some(expression) = &validation.message_expression {
        text.push_str(&block("messageExpression", expression));
    }
    text
}
