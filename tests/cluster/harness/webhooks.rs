//! Shipped webhook configurations, made to reach a process on loopback.
//!
//! `clientConfig.service` needs a kube-proxy that is not there. Only `clientConfig` is replaced: everything
//! else of a shipped file (rules, selectors, conditions, policies, timeouts) is what the story tests.

use serde_json::{Value, json};

/// One entry that is asked about every Pod, as a shipped file has it: behind a Service that nobody can reach here.
pub const SAMPLE: &str = "apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: { name: gate }
webhooks:
- name: gate.test.sluice.dev
  clientConfig: { service: { name: gate, namespace: gate, path: /validate } }
  rules: [{ apiGroups: [''], apiVersions: [v1], operations: [CREATE], resources: [pods] }]
  failurePolicy: Fail
  sideEffects: None
  admissionReviewVersions: [v1]
  timeoutSeconds: 2
";

/// The documents of `shipped` with each webhook's `clientConfig` pointing to `base` (such as
/// `https://127.0.0.1:21443`) and the path of its service. Other documents pass unchanged.
pub fn at_loopback(shipped: &str, base: &str, ca_bundle: &str) -> String {
    let mut documents: Vec<Value> =
        serde_saphyr::from_multiple(shipped).unwrap_or_else(|error| panic!("{error}\n{shipped}"));
    for document in &mut documents {
        let kind = document["kind"].as_str().unwrap_or_default();
        if !matches!(kind, "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration") {
            continue;
        }
        for webhook in document["webhooks"].as_array_mut().into_iter().flatten() {
            let path = webhook["clientConfig"]["service"]["path"].as_str();
            let path =
                path.unwrap_or_else(|| panic!("a shipped webhook names a service and a path: {webhook}"));
            webhook["clientConfig"] = json!({ "url": format!("{base}{path}"), "caBundle": ca_bundle });
        }
    }
    let texts: Vec<String> = documents.iter().map(Value::to_string).collect();
    texts.join("\n---\n")
}
