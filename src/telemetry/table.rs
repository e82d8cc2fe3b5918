//! The one table of metrics: names, help, labels and buckets. `docs/metrics.md` is made from it; alerts and
//! dashboards are checked against it.
//!
//! Names follow Prometheus: `_total` for counters, base units (seconds), `_info` for constant facts.

use prometheus::{HistogramOpts, Opts};

/// One metric.
#[derive(Debug)]
pub struct Metric {
    /// Full name.
    pub name: &'static str,
    /// What it counts or measures.
    pub help: &'static str,
    /// Label names.
    pub labels: &'static [&'static str],
    /// Its type.
    pub shape: Shape,
}

/// Type of a metric.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Shape {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution with these upper bounds.
    Histogram(&'static [f64]),
}

/// Upper bounds in seconds. The API server's own histogram of webhook calls begins at 5 ms, which is more
/// than our answers take: we begin at 50 µs.
pub const SECONDS: &[f64] = &[
    0.000_05, 0.000_1, 0.000_2, 0.000_5, 0.001, 0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5,
    5.0,
];

/// Requests.
pub const REQUESTS: Metric = counter(
    "sluice_requests_total",
    "Requests by endpoint, kind of object, operation and what became of them: allowed, patched, warned, \
     refused, answered (extender), malformed, shed, late, panicked, unready.",
    &["endpoint", "kind", "operation", "result"],
);

/// Time from head to answer.
pub const REQUEST_SECONDS: Metric = histogram(
    "sluice_request_duration_seconds",
    "Time from the head of a request to its answer, reading the body included.",
    &["endpoint"],
);

/// Time of decisions.
pub const DECISION_SECONDS: Metric = histogram(
    "sluice_decision_duration_seconds",
    "Time of one decision, without reading the request and writing the answer.",
    &["endpoint"],
);

/// Requests in flight.
pub const IN_FLIGHT: Metric =
    gauge("sluice_requests_in_flight", "Requests that are being answered now.", &["endpoint"]);

/// Requests shed.
pub const SHED: Metric = counter(
    "sluice_requests_shed_total",
    "Requests turned away at once because too many (requests) or too large ones (bytes) were in flight.",
    &["endpoint", "reason"],
);

/// Panics.
pub const PANICS: Metric = counter(
    "sluice_panics_total",
    "Requests whose handling panicked; admission answered 503, the extender an Error. Always a defect.",
    &["endpoint"],
);

/// Decisions on Pods.
pub const DECISIONS: Metric = counter(
    "sluice_decisions_total",
    "Pods judged by the mutating webhook, by class, best candidate pool with its mode, and the action in \
     force. Dry runs are not counted.",
    &["class", "pool", "mode", "action"],
);

/// Fallbacks.
pub const FALLBACKS: Metric = counter(
    "sluice_fallbacks_total",
    "Terms of a class passed over for a later one when a Pod was placed, by the rule that ruled them out. \
     Dry runs are not counted.",
    &["reason"],
);

/// Findings.
pub const FINDINGS: Metric = counter(
    "sluice_findings_total",
    "Findings of the validating webhook by rule, class and effective severity, also those that nobody is \
     shown (audit). Dry runs are not counted.",
    &["rule", "class", "severity"],
);

/// Pods past admission.
pub const ADMISSION_SKIPPED: Metric = counter(
    "sluice_admission_skipped_total",
    "Pods that the scheduler asked about and that no webhook of ours had seen, each once: admission failed \
     open or was gone round. Should not grow.",
    &["class"],
);

/// Waits for promised room.
pub const PROMISE_WAITS: Metric = counter(
    "sluice_promise_waits_total",
    "Questions of the scheduler for which nothing but promised room was left, by what came of waiting: \
     settled (there is room), busy (there is none).",
    &["result"],
);

/// Open promises.
pub const PROMISES: Metric = gauge(
    "sluice_promises",
    "Pods that were offered room of which only we keep the account, and whose binding is not seen yet.",
    &[],
);

/// Victims.
pub const VICTIMS: Metric = counter(
    "sluice_preemption_victims_total",
    "Pods on the nodes that preemption was let have, by class.",
    &["class"],
);

/// Spared Pods.
pub const SPARED: Metric = counter(
    "sluice_preemption_spared_total",
    "Pods that preemption was kept from, by class and why: protected (the class), loading (its model), \
     outranks (the class of the Pod that asks).",
    &["class", "reason"],
);

/// Wake-ups.
pub const WAKE_UPS: Metric = counter(
    "sluice_wake_ups_total",
    "Nodes whose annotation was changed so that rejected Pods are tried again, by what came of it: written, \
     failed.",
    &["result"],
);

/// Whether we hold the lease.
pub const LEASE_HELD: Metric =
    gauge("sluice_lease_held", "1 while this process may write to the API server, else 0.", &[]);

/// Findings that somebody is spared.
pub const FINDINGS_SPARED: Metric = counter(
    "sluice_findings_spared_total",
    "Findings of the validating webhook that a PolicyException (exception) or the manifest's own suppression \
     (suppression) lowers to audit, by rule. Dry runs are not counted.",
    &["rule", "by"],
);

/// Refusals by namespace.
pub const REFUSALS: Metric = counter(
    "sluice_refusals_total",
    "Refusals in force by namespace and refusing rule, without dry runs; the first 200 namespaces by name, \
     the rest as other. Can be switched off.",
    &["namespace", "rule"],
);

/// Waits for the picture.
pub const ABSENCE_WAITS: Metric = counter(
    "sluice_absence_waits_total",
    "Requests that waited for something missing to show up in the picture: appeared, or missing still.",
    &["endpoint", "result"],
);

/// Age of the picture.
pub const PICTURE_AGE: Metric = gauge(
    "sluice_picture_age_seconds",
    "Seconds since the picture of the cluster was last known to be current.",
    &[],
);

/// Size of the picture.
pub const PICTURE_OBJECTS: Metric = gauge(
    "sluice_picture_objects",
    "What the picture of the cluster holds: Node, NodeShape (kinds of equal nodes), Pod (bound), GpuPod, Pool.",
    &["kind"],
);

/// Revision of the policies.
pub const POLICY_INFO: Metric =
    gauge("sluice_policy_info", "Always 1; the revision of the policies in force.", &["revision"]);

/// Whether the last load worked.
pub const POLICY_RELOAD_SUCCESS: Metric = gauge(
    "sluice_policy_reload_success",
    "1 if the last try to load policies succeeded, 0 if the ones before had to be kept.",
    &[],
);

/// When the last good load was.
pub const POLICY_RELOAD_TIME: Metric = gauge(
    "sluice_policy_reload_timestamp_seconds",
    "When policies were last loaded with success (Unix time).",
    &[],
);

/// End of the certificate.
pub const CERTIFICATE_END: Metric = gauge(
    "sluice_tls_cert_not_after_seconds",
    "When the serving certificate in use ends (Unix time); of its chain, what ends first.",
    &[],
);

/// Reloads of the certificate.
pub const CERTIFICATE_RELOADS: Metric = counter(
    "sluice_tls_cert_reloads_total",
    "Serving certificates taken into use, or (failure) turned down with the one before kept.",
    &["result"],
);

/// Connections.
pub const CONNECTIONS: Metric = counter(
    "sluice_connections_total",
    "Connections by port (main, extender, status). Far fewer than requests, as callers keep theirs.",
    &["port"],
);

/// Failed connections.
pub const CONNECTION_FAILURES: Metric = counter(
    "sluice_connection_failures_total",
    "Connections that ended in their TLS handshake: tls (such as a client that does not trust the certificate, \
     or that we do not trust), timeout, closed (a probe of the port), other.",
    &["reason"],
);

/// The build.
pub const BUILD_INFO: Metric = gauge("sluice_build_info", "Always 1; the version that runs.", &["version"]);

/// Whether NVML answers.
pub const AGENT_READABLE: Metric =
    gauge("sluice_agent_hardware_readable", "1 while NVML answers on this node, else 0.", &[]);

/// Whether the node may take GPU Pods.
pub const AGENT_READY: Metric = gauge(
    "sluice_agent_node_ready",
    "1 while the kubelet advertises what the hardware is; at 0 the node has the startup taint.",
    &[],
);

/// Writes of the `GpuNode`.
pub const AGENT_PUBLISHED: Metric =
    counter("sluice_agent_published_total", "Writes of this node's GpuNode.", &[]);

/// Failed rounds.
pub const AGENT_API_FAILURES: Metric = counter(
    "sluice_agent_api_failures_total",
    "Rounds in which the API server did not answer or refused what the agent wrote.",
    &[],
);

/// A card.
pub const GPU_INFO: Metric = gauge(
    "sluice_gpu_info",
    "Always 1; a card with its name and compute capability, and what MIG is on it and why.",
    &["UUID", "modelName", "compute_capability", "mig"],
);

/// Installed memory.
pub const GPU_MEMORY_TOTAL: Metric =
    gauge("sluice_gpu_memory_total_bytes", "Installed memory of a card.", &["UUID"]);

/// Usable memory.
pub const GPU_MEMORY_USABLE: Metric = gauge(
    "sluice_gpu_memory_usable_bytes",
    "Memory that programs can have: installed without what driver and firmware keep.",
    &["UUID"],
);

/// Used memory.
pub const GPU_MEMORY_USED: Metric =
    gauge("sluice_gpu_memory_used_bytes", "Memory of a card in use.", &["UUID"]);

/// Time in use.
pub const GPU_BUSY: Metric = gauge(
    "sluice_gpu_busy_ratio",
    "Part of the time in which any kernel ran on a card: not how much of the card it used.",
    &["UUID"],
);

/// Processes.
pub const GPU_PROCESSES: Metric =
    gauge("sluice_gpu_processes", "Processes with a context on a card.", &["UUID"]);

/// Throttling.
pub const GPU_THROTTLED: Metric = gauge(
    "sluice_gpu_throttled",
    "1 for each reason for which the clocks of a card are held down now.",
    &["UUID", "reason"],
);

/// What has no value.
pub const GPU_NOT_MEASURABLE: Metric = gauge(
    "sluice_gpu_not_measurable",
    "1 for what cannot be measured on a card as it is used now (memory, busy, processes, process-share), such \
     as utilisation under MIG. The metric itself then has no series, which is not 0.",
    &["UUID", "what"],
);

/// Every metric of the node agent, in the order of `docs/metrics.md`.
pub const AGENT: &[&Metric] = &[
    &AGENT_READABLE,
    &AGENT_READY,
    &AGENT_PUBLISHED,
    &AGENT_API_FAILURES,
    &GPU_INFO,
    &GPU_MEMORY_TOTAL,
    &GPU_MEMORY_USABLE,
    &GPU_MEMORY_USED,
    &GPU_BUSY,
    &GPU_PROCESSES,
    &GPU_THROTTLED,
    &GPU_NOT_MEASURABLE,
];

/// Every metric of the server, in the order of `docs/metrics.md`.
pub const ALL: &[&Metric] = &[
    &REQUESTS,
    &REQUEST_SECONDS,
    &IN_FLIGHT,
    &SHED,
    &PANICS,
    &DECISION_SECONDS,
    &DECISIONS,
    &FALLBACKS,
    &FINDINGS,
    &FINDINGS_SPARED,
    &REFUSALS,
    &ADMISSION_SKIPPED,
    &PROMISE_WAITS,
    &PROMISES,
    &VICTIMS,
    &SPARED,
    &WAKE_UPS,
    &LEASE_HELD,
    &ABSENCE_WAITS,
    &PICTURE_AGE,
    &PICTURE_OBJECTS,
    &POLICY_INFO,
    &POLICY_RELOAD_SUCCESS,
    &POLICY_RELOAD_TIME,
    &CERTIFICATE_END,
    &CERTIFICATE_RELOADS,
    &CONNECTIONS,
    &CONNECTION_FAILURES,
    &BUILD_INFO,
];

impl Metric {
    pub(super) fn opts(&self) -> Opts {
        Opts::new(self.name, self.help)
    }

    pub(super) fn histogram_opts(&self) -> HistogramOpts {
        let buckets = match self.shape {
            Shape::Histogram(bounds) => bounds.to_vec(),
            Shape::Counter | Shape::Gauge => Vec::new(),
        };
        HistogramOpts::from(self.opts()).buckets(buckets)
    }
}

impl Shape {
    /// The word of the text format's `# TYPE`.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
            Self::Histogram(_) => "histogram",
        }
    }
}

const fn counter(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Metric {
    Metric { name, help, labels, shape: Shape::Counter }
}

const fn gauge(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Metric {
    Metric { name, help, labels, shape: Shape::Gauge }
}

const fn histogram(name: &'static str, help: &'static str, labels: &'static [&'static str]) -> Metric {
    Metric { name, help, labels, shape: Shape::Histogram(SECONDS) }
}
