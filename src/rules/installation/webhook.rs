//! Webhooks that can lock a cluster, hold up its requests, or are asked too early.

use crate::{
    k8s::{
        labels::Selector,
        object::{Labels, Webhook, WebhookConfiguration, WebhookRule},
    },
    policy::Severity,
    rules::{Applies, Case, Check, Family, Findings, Rule},
    subject::{Body, Installation},
};

/// `webhook-locks-cluster`
pub static WEBHOOK_LOCKS_CLUSTER: Rule = Rule {
    id: "webhook-locks-cluster",
    family: Family::Installation,
    summary: "a webhook that fails closed leaves out what the cluster and the webhook itself stand on",
    why: "While its backend is away, every matching request is refused. If those are the Pods of kube-system or of the backend's own namespace, or the leases of nodes, nothing can start that would bring it back.",
    remedy: "Leave out kube-system and the webhook's own namespace by namespaceSelector, narrow the rest by matchConditions, or use failurePolicy: Ignore.",
    severity: Severity::Deny,
    severity_because: "the first outage keeps itself alive; about other people's webhooks, which may have another way out, it only warns",
    applies: Applies::Installation,
    needs: &[],
    sources: &[
        "Kubernetes: dynamic admission control, best practices",
        "k8s.io/api/admissionregistration/v1",
    ],
    check: Check::Case(locks),
};

/// `webhook-timeout-too-long`
pub static WEBHOOK_TIMEOUT_TOO_LONG: Rule = Rule {
    id: "webhook-timeout-too-long",
    family: Family::Installation,
    summary: "webhooks that are asked about Pods cost a request little while they do not answer",
    why: "A webhook that fails open still costs its whole timeout. Mutating ones are asked one after another, perhaps twice; together they outlast the request, and nothing can be created although each of them may be skipped.",
    remedy: "Set timeoutSeconds to 3 or less.",
    severity: Severity::Warn,
    severity_because: "it costs nothing while the backends answer",
    applies: Applies::Installation,
    needs: &[],
    sources: &["Kubernetes: dynamic admission control, timeouts", "kubernetes/kubernetes#71508"],
    check: Check::Case(timeouts),
};

/// `webhook-not-reinvoked`
pub static WEBHOOK_NOT_REINVOKED: Rule = Rule {
    id: "webhook-not-reinvoked",
    family: Family::Installation,
    summary: "the webhook that steers Pods is asked again after others have changed them",
    why: "A sidecar that another webhook adds may ask for a GPU or bring a variable of its own; with reinvocationPolicy Never nobody steers the Pod that it made.",
    remedy: "Set reinvocationPolicy: IfNeeded.",
    severity: Severity::Warn,
    severity_because: "validation sees the final Pod all the same",
    applies: Applies::Installation,
    needs: &[],
    sources: &["Kubernetes: reinvocation policy"],
    check: Check::Case(reinvoked),
};

/// The default of `admissionregistration.k8s.io/v1`.
const DEFAULT_TIMEOUT: i64 = 10;
/// What our own webhooks may take, and what all for one Pod may take together: clients give up after ten seconds
/// and more.
const OWN_TIMEOUT: i64 = 3;
const ALL_TIMEOUTS: i64 = 10;

const KUBE_SYSTEM: &str = "kube-system";
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Requests of the core and coordination groups by which nodes live, with the resource.
const LIFELINES: [(&str, &str); 6] = [
    ("coordination.k8s.io", "leases"),
    ("", "nodes"),
    ("", "nodes/status"),
    ("", "endpoints"),
    ("authentication.k8s.io", "tokenreviews"),
    ("authorization.k8s.io", "subjectaccessreviews"),
];

fn configuration<'a>(case: &'a Case<'_>) -> Option<&'a WebhookConfiguration> {
    match &case.subject.body {
        Body::Installation(installation) => match &**installation {
            Installation::Webhooks(configuration) => Some(configuration),
            _ => None,
        },
        _ => None,
    }
}

/// Entries with their paths.
fn entries<'a>(case: &'a Case<'_>) -> impl Iterator<Item = (String, &'a Webhook)> {
    let webhooks = configuration(case).map_or(&[][..], |configuration| &configuration.webhooks);
    webhooks.iter().enumerate().map(|(index, webhook)| (format!("webhooks[{index}]"), webhook))
}

fn locks(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    for (path, webhook) in entries(case) {
        let closed = webhook.failure_policy.as_deref().unwrap_or("Fail") == "Fail";
        // What answers outside the cluster does not depend on it.
        let Some(service) = webhook.client_config.service.as_ref().filter(|_| closed) else { continue };
        if is_narrow(webhook) {
            continue;
        }
        let mut reached: Vec<&str> = Vec::new();
        if webhook.rules.iter().any(makes_pods) {
            let namespaces = [KUBE_SYSTEM, service.namespace.as_str()];
            reached.extend(namespaces.into_iter().filter(|name| selects(case, webhook, name)));
            reached.dedup();
        }
        let lifeline = LIFELINES.iter().find(|(group, resource)| {
            let hit = webhook.rules.iter().any(|rule| rule.matches(group, resource, &["CREATE", "UPDATE"]));
            // A namespaceSelector says nothing about what has no namespace.
            hit && (!matches!(*resource, "leases" | "endpoints") || selects(case, webhook, "kube-node-lease"))
        });
        let what = match (&reached[..], lifeline) {
            ([], None) => continue,
            ([], Some((_, resource))) => format!("requests of {resource}, by which nodes live"),
            (names, _) => format!("the Pods of {}", names.join(" and ")),
        };
        let finding = findings.add(
            rule,
            format!("{path}.failurePolicy"),
            format!("Fail for {what}, while its backend runs in this cluster"),
            "closed for a narrow set that does not hold what brings the backend back",
            format!(
                "exclude {KUBE_SYSTEM} and {} by namespaceSelector ({NAMESPACE_NAME} NotIn), narrow it by matchConditions, or use failurePolicy: Ignore",
                service.namespace
            ),
        );
        if !is_ours(webhook) {
            finding.at_most(Severity::Warn);
        }
    }
}

fn timeouts(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let Some(configuration) = configuration(case) else { return };
    let mutating = configuration.kind == "MutatingWebhookConfiguration";
    let mut sum = 0_i64;
    let mut last = None;
    for (path, webhook) in entries(case).filter(|(_, webhook)| webhook.rules.iter().any(makes_pods)) {
        let seconds = webhook.timeout_seconds.unwrap_or(DEFAULT_TIMEOUT);
        let turns =
            if mutating && webhook.reinvocation_policy.as_deref() == Some("IfNeeded") { 2 } else { 1 };
        // Validating webhooks are asked side by side.
        sum = if mutating { sum.saturating_add(seconds.saturating_mul(turns)) } else { sum.max(seconds) };
        if is_ours(webhook) && seconds > OWN_TIMEOUT {
            findings.add(
                rule,
                format!("{path}.timeoutSeconds"),
                format!("{seconds}{}", if webhook.timeout_seconds.is_some() { "" } else { ", the default" }),
                format!("{OWN_TIMEOUT} at most: it answers within milliseconds, or not at all"),
                format!("set timeoutSeconds: {OWN_TIMEOUT}"),
            );
            return;
        }
        last = Some(path);
    }
    if let Some(path) = last.filter(|_| sum > ALL_TIMEOUTS) {
        findings.add(
            rule,
            format!("{path}.timeoutSeconds"),
            format!("{sum} s for each new Pod, all webhooks of this configuration together"),
            format!("{ALL_TIMEOUTS} s at most, in which a client has not given up"),
            "lower timeoutSeconds of each",
        );
    }
}

fn reinvoked(case: &Case<'_>, rule: &'static Rule, findings: &mut Findings) {
    let mutating =
        configuration(case).is_some_and(|configuration| configuration.kind == "MutatingWebhookConfiguration");
    for (path, webhook) in entries(case).filter(|(_, webhook)| mutating && is_ours(webhook)) {
        if webhook.reinvocation_policy.as_deref() != Some("IfNeeded") {
            let is = webhook.reinvocation_policy.as_deref().unwrap_or("Never, the default");
            findings.add(
                rule,
                format!("{path}.reinvocationPolicy"),
                is,
                "IfNeeded",
                "set reinvocationPolicy: IfNeeded",
            );
        }
    }
}

/// Our own entries end in our domain; those that others wrote for us have our name in theirs.
fn is_ours(webhook: &Webhook) -> bool {
    webhook.name.ends_with(".sluice.dev") || webhook.name.split('.').any(|part| part == "sluice")
}

/// Objects that opted in, or conditions: what they leave is not known here, and it is not everything.
fn is_narrow(webhook: &Webhook) -> bool {
    let opts_in = webhook.object_selector.as_ref().is_some_and(|selector| {
        Selector::compile(selector).is_ok_and(|selector| !selector.matches(&Labels::new()))
    });
    opts_in || !webhook.match_conditions.is_empty()
}

fn makes_pods(rule: &WebhookRule) -> bool {
    rule.matches("", "pods", &["CREATE"])
}

/// Whether its namespaceSelector lets that namespace in; its labels are the picture's, and the name's own.
fn selects(case: &Case<'_>, webhook: &Webhook, namespace: &str) -> bool {
    let Some(selector) = &webhook.namespace_selector else { return true };
    let known = case.world.cluster.namespace(namespace);
    let mut labels = known.map(|known| known.metadata.labels.clone()).unwrap_or_default();
    labels.insert(NAMESPACE_NAME.to_owned(), namespace.to_owned());
    Selector::compile(selector).is_ok_and(|selector| selector.matches(&labels))
}
