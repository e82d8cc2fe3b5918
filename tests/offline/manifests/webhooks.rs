//! A webhook that matches too much, waits too long or fails closed for others keeps an outage alive. What is
//! shipped is held to the habits that prevent it, and the habits to configurations that took clusters down.

use std::collections::BTreeSet;

use serde_json::{Value, json};
use sluice::cli::manifests::EXCLUDED_NAMESPACES;

use super::{documents, items, name, parse, words};
use crate::sources;

const MUTATING: &str = "webhook-config/mutating.yaml";
const VALIDATING: &str = "webhook-config/validating.yaml";
const BACKSTOP: &str = "webhook-config/backstop.yaml";

/// Requests that no webhook of ours may ever see: those by which nodes live, workloads report and things end.
const NEVER: [&str; 9] = [
    "leases",
    "certificatesigningrequests",
    "tokenreviews",
    "subjectaccessreviews",
    "events",
    "namespaces",
    "secrets",
    "bindings",
    "validatingwebhookconfigurations",
];

/// What is wrong with the entries of a webhook configuration, one line each.
fn complaints(configuration: &Value) -> Vec<String> {
    let mut found = Vec::new();
    for webhook in items(&configuration["webhooks"]) {
        let name = webhook["name"].as_str().unwrap_or_default();
        let mut say = |what: &str| found.push(format!("{name}: {what}"));
        complain_of_scope(webhook, &mut say);
        let conditions = items(&webhook["matchConditions"]).count();
        if conditions == 0 || conditions > 64 {
            say("between 1 and 64 match conditions");
        }
        if webhook["timeoutSeconds"].as_i64().is_none_or(|seconds| !(1..=3).contains(&seconds)) {
            say("a timeout of 1 to 3 seconds");
        }
        if webhook["failurePolicy"] != "Ignore" && !is_about_gpu_requests(webhook) {
            say("fails closed for Pods that ask for no GPU");
        }
        for (field, want) in [
            ("sideEffects", json!("None")),
            ("admissionReviewVersions", json!(["v1"])),
            ("matchPolicy", json!("Equivalent")),
        ] {
            if webhook[field] != want {
                say(&format!("{field} {want}"));
            }
        }
        if !webhook["objectSelector"].is_null() {
            say("a selector of objects: whoever writes a label could opt out");
        }
    }
    found
}

fn complain_of_scope(webhook: &Value, say: &mut impl FnMut(&str)) {
    let mut namespaced = false;
    for rule in items(&webhook["rules"]) {
        for field in ["apiGroups", "apiVersions", "operations", "resources"] {
            if words(&rule[field]).is_empty() || words(&rule[field]).iter().any(|word| word.contains('*')) {
                say(&format!("{field} by name"));
            }
        }
        for operation in words(&rule["operations"]) {
            if !["CREATE", "UPDATE"].contains(&operation) {
                say(&format!("never {operation}"));
            }
        }
        for resource in words(&rule["resources"]) {
            let known = ["pods/ephemeralcontainers", "pods/resize"];
            if NEVER.contains(&resource) || (resource.contains('/') && !known.contains(&resource)) {
                say(&format!("never {resource}"));
            }
            if resource == "pods" && words(&rule["operations"]) != ["CREATE"] {
                say("Pods at their creation only: finalizers have to go");
            }
            namespaced |= resource != "nodes";
        }
    }
    let excluded: BTreeSet<&str> = items(&webhook["namespaceSelector"]["matchExpressions"])
        .filter(|term| term["key"] == "kubernetes.io/metadata.name" && term["operator"] == "NotIn")
        .flat_map(|term| words(&term["values"]))
        .collect();
    let needed = EXCLUDED_NAMESPACES.into_iter().chain(["sluice-system"]);
    if namespaced && !needed.into_iter().all(|namespace| excluded.contains(namespace)) {
        say("leaves out what the cluster and we stand on");
    }
}

fn is_about_gpu_requests(webhook: &Value) -> bool {
    items(&webhook["matchConditions"]).any(|condition| condition["name"] == "asks-for-a-gpu")
}

#[test]
fn shipped_webhooks_have_a_narrow_scope_and_short_timeouts() {
    for file in [MUTATING, VALIDATING] {
        let documents = documents(file);
        assert_eq!(documents.len(), 1);
        assert!(items(&documents[0]["webhooks"]).count() > 0, "{file} has no webhook");
        assert_eq!(complaints(&documents[0]), [""; 0], "{file}");
    }
}

#[test]
fn a_webhook_that_locks_a_cluster_is_complained_of() {
    let locking = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: gpu-policy}
webhooks:
- name: pods.sluice
  admissionReviewVersions: [v1]
  sideEffects: None
  failurePolicy: Fail
  timeoutSeconds: 10
  objectSelector: {matchLabels: {gpu: "yes"}}
  rules:
  - {apiGroups: [""], apiVersions: ["*"], operations: [CREATE, DELETE], resources: [pods, pods/status, leases]}
  clientConfig: {service: {name: gpu-policy, namespace: gpu-policy-system, path: /mutate}}
"#;
    let found = complaints(&parse("a sample", locking)[0]);
    let wanted = [
        "apiVersions by name",
        "never DELETE",
        "Pods at their creation only: finalizers have to go",
        "never pods/status",
        "never leases",
        "leaves out what the cluster and we stand on",
        "between 1 and 64 match conditions",
        "a timeout of 1 to 3 seconds",
        "fails closed for Pods that ask for no GPU",
        "matchPolicy \"Equivalent\"",
        "a selector of objects: whoever writes a label could opt out",
    ];
    assert_eq!(found, wanted.map(|what| format!("pods.sluice: {what}")));
}

#[test]
fn one_entry_fails_closed_and_mutation_never_does() {
    let closed = |file: &str| -> Vec<String> {
        let documents = documents(file);
        let webhooks = items(&documents[0]["webhooks"]).filter(|webhook| webhook["failurePolicy"] == "Fail");
        webhooks.filter_map(|webhook| webhook["name"].as_str().map(str::to_owned)).collect()
    };
    assert_eq!(closed(MUTATING), [""; 0]);
    assert_eq!(closed(VALIDATING), ["gpu-pods.sluice.dev"]);
    for webhook in items(&documents(MUTATING)[0]["webhooks"]) {
        assert_eq!(webhook["reinvocationPolicy"], "IfNeeded", "a sidecar may be injected after us");
    }
}

#[test]
fn timeouts_that_add_up_stay_far_below_what_a_request_may_take() {
    let seconds = |file: &str| -> Vec<i64> {
        let documents = documents(file);
        items(&documents[0]["webhooks"]).filter_map(|webhook| webhook["timeoutSeconds"].as_i64()).collect()
    };
    // Mutating webhooks run one after another and once more after others; validating ones side by side.
    let mutating: i64 = seconds(MUTATING).iter().sum();
    let validating = seconds(VALIDATING).into_iter().max().unwrap_or(0);
    assert!(2 * mutating + validating <= 10, "{mutating} s twice, then {validating} s");
    let nodes = documents(VALIDATING)[0]["webhooks"].clone();
    let nodes = items(&nodes).find(|webhook| webhook["rules"][0]["resources"] == json!(["nodes"]));
    assert_eq!(nodes.expect("an entry for Nodes")["timeoutSeconds"], 1, "kubelets wait behind it");
}

#[test]
fn every_service_that_a_webhook_names_is_shipped() {
    let services = super::shipped("Service");
    for file in [MUTATING, VALIDATING] {
        for webhook in items(&documents(file)[0]["webhooks"]) {
            let client = &webhook["clientConfig"];
            let service =
                services.iter().find(|service| service["metadata"]["name"] == client["service"]["name"]);
            let service = service.unwrap_or_else(|| panic!("no Service {client}"));
            assert_eq!(service["spec"]["ports"][0]["port"], client["service"]["port"]);
            assert_eq!(client["service"]["namespace"], "sluice-system");
            assert!(client["caBundle"].is_null(), "a CA belongs to one installation");
        }
    }
}

#[test]
fn the_backstop_looks_at_pods_at_their_creation_and_at_the_stamp() {
    let documents = documents(BACKSTOP);
    let policies = documents.iter().filter(|document| document["kind"] == "ValidatingAdmissionPolicy");
    let seen: Vec<(String, Vec<&str>, Vec<&str>)> = policies
        .map(|policy| {
            let constraints = &policy["spec"]["matchConstraints"];
            let rule = &constraints["resourceRules"][0];
            assert_eq!(items(&constraints["resourceRules"]).count(), 1);
            let values = words(&constraints["namespaceSelector"]["matchExpressions"][0]["values"]);
            assert!(values.contains(&"kube-system") && values.contains(&"sluice-system"), "{values:?}");
            for validation in items(&policy["spec"]["validations"]) {
                let message = validation["message"].as_str().unwrap_or_default();
                assert!(!message.is_empty() && !message.contains('\n'), "{message:?}");
            }
            (name(policy).to_owned(), words(&rule["operations"]), words(&rule["resources"]))
        })
        .collect();
    let row = |name: &str, operation| (name.to_owned(), vec![operation], vec!["pods"]);
    assert_eq!(
        seen,
        [
            row("sluice-stamp-present", "CREATE"),
            row("sluice-no-bypass", "CREATE"),
            row("sluice-stamp-unchanged", "UPDATE"),
        ]
    );
    let bound: Vec<&Value> =
        documents.iter().filter(|document| document["kind"] == "ValidatingAdmissionPolicyBinding").collect();
    assert_eq!(bound.len(), seen.len());
    for binding in bound {
        assert_eq!(binding["spec"]["policyName"], binding["metadata"]["name"]);
        assert_eq!(binding["spec"]["validationActions"], json!(["Deny"]));
    }
}

#[test]
fn kustomizations_list_every_file_beside_them() {
    for kustomization in sources::below("webhook-config", "kustomization.yaml") {
        let named = words(&parse(&kustomization.path, &kustomization.text)[0]["resources"]).join(" ");
        for file in sources::below("webhook-config", ".yaml") {
            let file = file.path.rsplit('/').next().expect("a path has a last part").to_owned();
            assert!(file == "kustomization.yaml" || named.contains(&file), "{file} is in no kustomization");
        }
    }
}
