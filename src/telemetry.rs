//! What the program tells about itself: metrics and log lines.
//!
//! Every metric stands in [`table::ALL`]; nothing else may register one. What is counted of a decision is
//! counted in one place, [`Telemetry::judged`], from the decision itself. No Pod, user or environment value
//! is ever a label, and none but names goes into a log line.

mod counted;
pub mod log;
mod markdown;
mod scheduling;
pub mod table;

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
};

use prometheus::{
    GaugeVec, HistogramVec, IntCounterVec, IntGaugeVec, Registry, TextEncoder, core::Collector,
};

pub use counted::{Judged, Outcome, Request, Shed};
pub use markdown::markdown;
pub use scheduling::Spared;

/// What is counted, where a user may choose.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Count refusals by namespace and rule (`sluice_refusals_total`).
    pub refusals_by_namespace: bool,
    /// Namespaces that get a series of their own; all later ones are counted as `other`.
    pub most_namespaces: usize,
}

/// The endpoints of the server, as metrics and log lines name them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Endpoint {
    /// `/mutate`
    Mutate,
    /// `/validate`
    Validate,
    /// `/scheduler/filter`
    Filter,
    /// `/scheduler/prioritize`
    Prioritize,
    /// `/scheduler/preempt`
    Preempt,
}

/// Every metric of this process.
#[derive(Debug)]
pub struct Telemetry {
    options: Options,
    registry: Registry,
    namespaces: Mutex<BTreeSet<String>>,
    requests: IntCounterVec,
    request_seconds: HistogramVec,
    decision_seconds: HistogramVec,
    in_flight: IntGaugeVec,
    shed: IntCounterVec,
    panics: IntCounterVec,
    decisions: IntCounterVec,
    fallbacks: IntCounterVec,
    findings: IntCounterVec,
    findings_spared: IntCounterVec,
    refusals: IntCounterVec,
    absence_waits: IntCounterVec,
    extender: scheduling::Scheduling,
    picture_age: GaugeVec,
    picture_objects: IntGaugeVec,
    policy_info: IntGaugeVec,
    policy_success: IntGaugeVec,
    policy_time: IntGaugeVec,
    certificate_end: IntGaugeVec,
    certificate_reloads: IntCounterVec,
    connections: IntCounterVec,
    connection_failures: IntCounterVec,
}

/// One request in flight; ends with the value.
#[derive(Debug)]
pub struct InFlight(prometheus::IntGauge);

impl Default for Options {
    fn default() -> Self {
        Self { refusals_by_namespace: true, most_namespaces: 200 }
    }
}

impl Endpoint {
    /// Every endpoint.
    pub const ALL: [Self; 5] = [Self::Mutate, Self::Validate, Self::Filter, Self::Prioritize, Self::Preempt];

    /// The label value.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Mutate => "mutate",
            Self::Validate => "validate",
            Self::Filter => "filter",
            Self::Prioritize => "prioritize",
            Self::Preempt => "preempt",
        }
    }
}

impl Telemetry {
    /// Registers every metric of the table.
    #[must_use]
    pub fn new(options: Options) -> Self {
        let registry = Registry::new();
        let at = Register(&registry);
        let build = at.gauges(&table::BUILD_INFO);
        build.with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Self {
            options,
            namespaces: Mutex::default(),
            requests: at.counters(&table::REQUESTS),
            request_seconds: at.histograms(&table::REQUEST_SECONDS),
            decision_seconds: at.histograms(&table::DECISION_SECONDS),
            in_flight: at.gauges(&table::IN_FLIGHT),
            shed: at.counters(&table::SHED),
            panics: at.counters(&table::PANICS),
            decisions: at.counters(&table::DECISIONS),
            fallbacks: at.counters(&table::FALLBACKS),
            findings: at.counters(&table::FINDINGS),
            findings_spared: at.counters(&table::FINDINGS_SPARED),
            refusals: at.counters(&table::REFUSALS),
            absence_waits: at.counters(&table::ABSENCE_WAITS),
            extender: scheduling::Scheduling::new(&at),
            picture_age: at.float_gauges(&table::PICTURE_AGE),
            picture_objects: at.gauges(&table::PICTURE_OBJECTS),
            policy_info: at.gauges(&table::POLICY_INFO),
            policy_success: at.gauges(&table::POLICY_RELOAD_SUCCESS),
            policy_time: at.gauges(&table::POLICY_RELOAD_TIME),
            certificate_end: at.gauges(&table::CERTIFICATE_END),
            certificate_reloads: at.counters(&table::CERTIFICATE_RELOADS),
            connections: at.counters(&table::CONNECTIONS),
            connection_failures: at.counters(&table::CONNECTION_FAILURES),
            registry,
        }
    }

    /// Everything in Prometheus' text format.
    #[must_use]
    pub fn text(&self) -> String {
        encode(&self.registry)
    }

    /// Counts a request as in flight until the answer is dropped.
    #[must_use]
    pub fn in_flight(&self, endpoint: Endpoint) -> InFlight {
        let gauge = self.in_flight.with_label_values(&[endpoint.as_str()]);
        gauge.inc();
        InFlight(gauge)
    }

    /// Policies of that revision are in force since `now` (Unix seconds).
    pub fn policy_loaded(&self, revision: &str, now: i64) {
        self.policy_info.reset();
        self.policy_info.with_label_values(&[revision]).set(1);
        self.policy_success.with_label_values::<&str>(&[]).set(1);
        self.policy_time.with_label_values::<&str>(&[]).set(now);
    }

    /// The last try to load policies failed; the ones before stay in force.
    pub fn policy_failed(&self) {
        self.policy_success.with_label_values::<&str>(&[]).set(0);
    }

    /// The serving certificate in use ends at `not_after` (Unix seconds).
    pub fn certificate_loaded(&self, not_after: i64) {
        self.certificate_end.with_label_values::<&str>(&[]).set(not_after);
        self.certificate_reloads.with_label_values(&["success"]).inc();
    }

    /// A changed certificate could not be used; the one before is kept.
    pub fn certificate_failed(&self) {
        self.certificate_reloads.with_label_values(&["failure"]).inc();
    }

    /// A connection came in on that port.
    pub fn connected(&self, port: &'static str) {
        self.connections.with_label_values(&[port]).inc();
    }

    /// A connection ended in its handshake, for that reason in a word.
    pub fn connection_failed(&self, reason: &'static str) {
        self.connection_failures.with_label_values(&[reason]).inc();
    }

    /// Age of the picture in seconds, where it is known, and how many objects of each kind it holds.
    pub fn picture<'a>(&self, age: Option<f64>, objects: impl IntoIterator<Item = (&'a str, usize)>) {
        match age {
            Some(age) => self.picture_age.with_label_values::<&str>(&[]).set(age),
            None => self.picture_age.reset(),
        }
        for (kind, count) in objects {
            let count = i64::try_from(count).unwrap_or(i64::MAX);
            self.picture_objects.with_label_values(&[kind]).set(count);
        }
    }

    /// The namespace as a label: itself for the first so many, then `other`.
    fn namespace_label<'a>(&self, namespace: &'a str) -> &'a str {
        let mut known = self.namespaces.lock().unwrap_or_else(PoisonError::into_inner);
        if known.contains(namespace) {
            return namespace;
        }
        if known.len() >= self.options.most_namespaces {
            return "other";
        }
        known.insert(namespace.to_owned());
        namespace
    }
}

/// A registry in Prometheus' text format.
pub(crate) fn encode(registry: &Registry) -> String {
    TextEncoder::new()
        .encode_to_string(&registry.gather())
        .unwrap_or_else(|error| format!("# metrics cannot be written: {error}\n"))
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Makes the metrics of the table. The table is constant, and the test below registers all of it, so that
/// neither a wrong name nor a double registration reaches a user.
pub(crate) struct Register<'a>(pub(crate) &'a Registry);

const SOUND: &str = "the table of metrics is constant and registered by a test";

impl Register<'_> {
    fn register<T: Collector + Clone + 'static>(&self, made: prometheus::Result<T>) -> T {
        let metric = made.expect(SOUND);
        self.0.register(Box::new(metric.clone())).expect(SOUND);
        metric
    }

    pub(crate) fn counters(&self, metric: &table::Metric) -> IntCounterVec {
        self.register(IntCounterVec::new(metric.opts(), metric.labels))
    }

    pub(crate) fn gauges(&self, metric: &table::Metric) -> IntGaugeVec {
        self.register(IntGaugeVec::new(metric.opts(), metric.labels))
    }

    pub(crate) fn float_gauges(&self, metric: &table::Metric) -> GaugeVec {
        self.register(GaugeVec::new(metric.opts(), metric.labels))
    }

    fn histograms(&self, metric: &table::Metric) -> HistogramVec {
        self.register(HistogramVec::new(metric.histogram_opts(), metric.labels))
    }
}

#[cfg(test)]
mod tests;
