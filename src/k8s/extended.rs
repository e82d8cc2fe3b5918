//! Resource names and the rules that hang on them: which are extended resources, what the API server
//! accepts for them, and which quota keys count them (`pkg/apis/core/helper/helpers.go`,
//! `pkg/apis/core/validation/validation.go`, `pkg/quota/v1/evaluator/core/`).

use super::{
    names,
    quantity::Quantity,
    resources::{Amounts, Demand, Side},
};

/// Prefix of the implicit extended resource of a DeviceClass (KEP-5004). It lies in the `kubernetes.io`
/// domain, so [`is_extended`] is false for it.
pub const DEVICE_CLASS_PREFIX: &str = "deviceclass.resource.kubernetes.io/";

/// Something that the API server would refuse in requests or limits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceProblem {
    /// Where.
    pub side: Side,
    /// Which resource.
    pub resource: String,
    /// What is wrong.
    pub kind: ResourceProblemKind,
}

/// What is wrong with one resource of a container.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ResourceProblemKind {
    /// A name that no resource can have.
    #[error("the name cannot be a resource name: {0}")]
    Name(names::NameProblem),
    /// A name without domain that Kubernetes does not define.
    #[error("is neither a standard resource nor a name with a domain, such as nvidia.com/gpu")]
    NotStandard,
    /// A name with a domain that cannot be an extended resource.
    #[error("cannot be an extended resource: its prefix starts with requests. or is too long")]
    NotExtended,
    /// Below zero.
    #[error("must not be negative")]
    Negative,
    /// A fraction of something that is counted.
    #[error("must be a whole number")]
    NotInteger,
    /// A request without a limit, for a resource that cannot be overcommitted.
    #[error("must have a limit: the resource cannot be overcommitted")]
    LimitMissing,
    /// A request that differs from its limit, for a resource that cannot be overcommitted.
    #[error("must be equal to its limit of {limit}: the resource cannot be overcommitted")]
    UnequalToLimit {
        /// The limit.
        limit: Quantity,
    },
    /// A request above its limit.
    #[error("must not exceed its limit of {limit}")]
    AboveLimit {
        /// The limit.
        limit: Quantity,
    },
}

/// What a key of a ResourceQuota counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum QuotaKey<'a> {
    /// Number of objects: `pods`, `count/deployments.apps`, `services.loadbalancers`…
    Objects,
    /// cpu, memory, ephemeral storage, hugepages or storage.
    Native,
    /// Requests of this extended resource.
    Extended(&'a str),
    /// Devices of this DeviceClass in claims.
    DeviceClass(&'a str),
    /// Nothing: the API server accepts the key and no usage is ever charged to it, such as
    /// `nvidia.com/gpu` or `limits.nvidia.com/gpu`.
    Nothing,
}

/// True for names without a domain and names in a `kubernetes.io` domain (`IsNativeResource`).
pub fn is_native(name: &str) -> bool {
    !name.contains('/') || name.contains("kubernetes.io/")
}

/// True for names such as `nvidia.com/gpu` that some device plugin or DRA driver provides
/// (`IsExtendedResourceName`).
pub fn is_extended(name: &str) -> bool {
    // The name must also be valid as a quota key, which makes its prefix nine bytes longer.
    !is_native(name) && !name.starts_with(REQUESTS) && names::label_key_problems(&quota_key(name)).is_empty()
}

/// True for extended resources and for the implicit ones of a DeviceClass (`IsDRAExtendedResourceName`).
pub fn is_extended_or_device_class(name: &str) -> bool {
    is_extended(name) || name.starts_with(DEVICE_CLASS_PREFIX)
}

/// True for `hugepages-…` (`IsHugePageResourceName`).
pub fn is_hugepages(name: &str) -> bool {
    name.starts_with("hugepages-")
}

/// True for `attachable-volumes-…` (`IsAttachableVolumeResourceName`).
pub fn is_attachable_volume(name: &str) -> bool {
    name.starts_with("attachable-volumes-")
}

/// True where a limit above the request is allowed (`IsOvercommitAllowed`).
pub fn is_overcommit_allowed(name: &str) -> bool {
    is_native(name) && !is_hugepages(name)
}

/// The whole number that the API server reads where one is needed: it rounds up to thousandths first, so
/// `0.9999999` passes as 1 (`ValidateResourceQuantityValue`). `None` for a fraction.
pub fn whole_number(quantity: Quantity) -> Option<i64> {
    let thousandths = quantity.milli_value();
    let whole = quantity.is_integer() || thousandths % 1000 == 0;
    whole.then(|| quantity.value())
}

/// Everything for which the API server would refuse a container's requests and limits
/// (`ValidateContainerResourceRequirements`), limits first, each by name.
pub fn container_problems(demand: &Demand) -> Vec<ResourceProblem> {
    let limits = demand.limits.iter().flat_map(|(name, amount)| {
        value_problems(name, *amount).into_iter().map(move |kind| problem(Side::Limits, name, kind))
    });
    let requests = demand.requests.iter().flat_map(|(name, amount)| {
        let pair = pair_problem(name, *amount, &demand.limits);
        value_problems(name, *amount)
            .into_iter()
            .chain(pair)
            .map(move |kind| problem(Side::Requests, name, kind))
    });
    limits.chain(requests).collect()
}

/// The quota key that counts an extended resource: only requests can be limited, because extended resources
/// have no overcommit.
pub fn quota_key(resource: &str) -> String {
    format!("{REQUESTS}{resource}")
}

/// What a quota key counts (`podEvaluator.MatchingResources`, `claimEvaluator.MatchingResources`,
/// `pvcEvaluator`, object counts).
pub fn quota_key_counts(key: &str) -> QuotaKey<'_> {
    if let Some(class) = key.strip_suffix(CLAIMS_PER_CLASS) {
        return QuotaKey::DeviceClass(class);
    }
    let requested = key.strip_prefix(REQUESTS);
    if let Some(class) = requested.and_then(|name| name.strip_prefix(DEVICE_CLASS_PREFIX)) {
        return QuotaKey::DeviceClass(class);
    }
    match requested {
        Some(resource) if !is_native(key) => QuotaKey::Extended(resource),
        _ if key.starts_with("count/") || OBJECT_KEYS.contains(&key) => QuotaKey::Objects,
        _ if is_native_key(key) => QuotaKey::Native,
        _ => QuotaKey::Nothing,
    }
}

const REQUESTS: &str = "requests.";
const CLAIMS_PER_CLASS: &str = ".deviceclass.resource.k8s.io/devices";
const STANDARD: [&str; 3] = ["cpu", "memory", "ephemeral-storage"];
const OBJECT_KEYS: [&str; 9] = [
    "pods",
    "services",
    "replicationcontrollers",
    "resourcequotas",
    "secrets",
    "configmaps",
    "persistentvolumeclaims",
    "services.nodeports",
    "services.loadbalancers",
];

fn is_native_key(key: &str) -> bool {
    let limited = key.strip_prefix("limits.");
    let bare = key.strip_prefix(REQUESTS).or(limited).unwrap_or(key);
    STANDARD.contains(&bare)
        || (limited.is_none() && is_hugepages(bare))
        || key == "requests.storage"
        || key.ends_with(".storageclass.storage.k8s.io/requests.storage")
        || key.ends_with(".storageclass.storage.k8s.io/persistentvolumeclaims")
}

fn problem(side: Side, resource: &str, kind: ResourceProblemKind) -> ResourceProblem {
    ResourceProblem { side, resource: resource.to_owned(), kind }
}

fn value_problems(name: &str, amount: Quantity) -> Vec<ResourceProblemKind> {
    let mut problems: Vec<_> =
        names::label_key_problems(name).into_iter().map(ResourceProblemKind::Name).collect();
    if problems.is_empty() && !name.contains('/') && !STANDARD.contains(&name) && !is_hugepages(name) {
        problems.push(ResourceProblemKind::NotStandard);
    } else if problems.is_empty() && !is_native(name) && !is_extended(name) {
        problems.push(ResourceProblemKind::NotExtended);
    }
    if amount.is_negative() {
        problems.push(ResourceProblemKind::Negative);
    }
    if is_extended(name) && whole_number(amount).is_none() {
        problems.push(ResourceProblemKind::NotInteger);
    }
    problems
}

fn pair_problem(name: &str, request: Quantity, limits: &Amounts) -> Option<ResourceProblemKind> {
    let overcommit = is_overcommit_allowed(name);
    match limits.get(name) {
        None if !overcommit => Some(ResourceProblemKind::LimitMissing),
        Some(limit) if !overcommit && request != *limit => {
            Some(ResourceProblemKind::UnequalToLimit { limit: *limit })
        }
        Some(limit) if request > *limit => Some(ResourceProblemKind::AboveLimit { limit: *limit }),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
