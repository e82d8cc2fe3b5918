//! What an installation is set up by: webhook configurations, the scheduler's configuration, certificate
//! authorities.

use serde::Deserialize;
use serde_json::Value;

use super::{LabelSelector, Meta, nullable};

/// A ValidatingWebhookConfiguration or MutatingWebhookConfiguration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookConfiguration {
    /// Kind.
    #[serde(deserialize_with = "nullable")]
    pub kind: String,
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Entries.
    #[serde(deserialize_with = "nullable")]
    pub webhooks: Vec<Webhook>,
}

/// One entry.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Webhook {
    /// Name.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// `Fail` (the default of v1) or `Ignore`.
    pub failure_policy: Option<String>,
    /// 10 where absent.
    pub timeout_seconds: Option<i64>,
    /// `Never` (the default) or `IfNeeded`; mutating entries only.
    pub reinvocation_policy: Option<String>,
    /// Whom it asks.
    #[serde(deserialize_with = "nullable")]
    pub client_config: ClientConfig,
    /// Requests.
    #[serde(deserialize_with = "nullable")]
    pub rules: Vec<WebhookRule>,
    /// Namespaces; absent: all.
    pub namespace_selector: Option<LabelSelector>,
    /// Objects; absent: all.
    pub object_selector: Option<LabelSelector>,
    /// CEL; all have to hold.
    #[serde(deserialize_with = "nullable")]
    pub match_conditions: Vec<Value>,
}

/// `rules[]` of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WebhookRule {
    /// Groups.
    #[serde(deserialize_with = "nullable")]
    pub api_groups: Vec<String>,
    /// Operations.
    #[serde(deserialize_with = "nullable")]
    pub operations: Vec<String>,
    /// Plurals, with subresources.
    #[serde(deserialize_with = "nullable")]
    pub resources: Vec<String>,
    /// `Cluster`, `Namespaced` or `*`.
    #[serde(deserialize_with = "nullable")]
    pub scope: String,
}

/// `clientConfig`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClientConfig {
    /// A Service of the cluster.
    pub service: Option<ServiceReference>,
    /// base64 of PEM.
    #[serde(deserialize_with = "nullable")]
    pub ca_bundle: String,
}

/// The Service of a webhook.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceReference {
    /// Namespace.
    #[serde(deserialize_with = "nullable")]
    pub namespace: String,
}

/// A KubeSchedulerConfiguration, as far as extenders go.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulerConfiguration {
    /// Extenders, asked one after another.
    #[serde(deserialize_with = "nullable")]
    pub extenders: Vec<Extender>,
}

/// One extender.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Extender {
    /// Where it answers.
    #[serde(deserialize_with = "nullable")]
    pub url_prefix: String,
    /// Empty: it does not filter.
    #[serde(deserialize_with = "nullable")]
    pub filter_verb: String,
    /// Empty: it does not score.
    #[serde(deserialize_with = "nullable")]
    pub prioritize_verb: String,
    /// Empty: it does not bind.
    #[serde(deserialize_with = "nullable")]
    pub bind_verb: String,
    /// Factor of its scores.
    #[serde(deserialize_with = "nullable")]
    pub weight: i64,
    /// Of all it does: without a CA, nothing is verified.
    #[serde(rename = "enableHTTPS", deserialize_with = "nullable")]
    pub enable_https: bool,
    /// Whom it trusts.
    pub tls_config: Option<ExtenderTls>,
    /// A duration of Go; 5 s where absent.
    pub http_timeout: Option<String>,
    /// Names of nodes instead of Nodes.
    #[serde(deserialize_with = "nullable")]
    pub node_cache_capable: bool,
    /// Skipped where it does not answer.
    #[serde(deserialize_with = "nullable")]
    pub ignorable: bool,
    /// Pods that ask for one of these; empty: all Pods.
    #[serde(deserialize_with = "nullable")]
    pub managed_resources: Vec<ManagedResource>,
}

/// `tlsConfig` of an extender.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ExtenderTls {
    /// Verify nothing.
    #[serde(deserialize_with = "nullable")]
    pub insecure: bool,
    /// Path of the CA.
    #[serde(deserialize_with = "nullable")]
    pub ca_file: String,
    /// base64 of the CA.
    #[serde(deserialize_with = "nullable")]
    pub ca_data: String,
}

/// One of `managedResources`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ManagedResource {
    /// Extended resource.
    #[serde(deserialize_with = "nullable")]
    pub name: String,
    /// The scheduler does not count it.
    #[serde(deserialize_with = "nullable")]
    pub ignored_by_scheduler: bool,
}

/// A cert-manager Certificate, as far as its life goes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Certificate {
    /// Metadata.
    #[serde(deserialize_with = "nullable")]
    pub metadata: Meta,
    /// Desired state.
    #[serde(deserialize_with = "nullable")]
    pub spec: CertificateSpec,
}

/// `CertificateSpec`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CertificateSpec {
    /// An authority.
    #[serde(rename = "isCA", deserialize_with = "nullable")]
    pub is_ca: bool,
    /// A duration of Go; 90 days where absent.
    pub duration: Option<String>,
}

impl WebhookRule {
    /// Whether it is about such a request; `*` stands for every group, resource or operation, `*/*` for
    /// subresources too.
    #[must_use]
    pub fn matches(&self, group: &str, resource: &str, operations: &[&str]) -> bool {
        let is = |words: &[String], word: &str| words.iter().any(|own| own == "*" || own == word);
        let (name, sub) = resource.split_once('/').map_or((resource, None), |(name, sub)| (name, Some(sub)));
        let resource = self.resources.iter().any(|own| match (own.split_once('/'), sub) {
            (None, None) => own == "*" || own == name,
            (Some((own, own_sub)), Some(sub)) => {
                (own == "*" || own == name) && (own_sub == "*" || own_sub == sub)
            }
            (Some((own, "*")), None) => own == "*" || own == name,
            _ => false,
        });
        resource
            && is(&self.api_groups, group)
            && operations.iter().any(|operation| is(&self.operations, operation))
    }
}
