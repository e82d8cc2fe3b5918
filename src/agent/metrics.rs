//! Metrics of the node agent. Labels join with dcgm-exporter's: `UUID` is the card's. What cannot be measured
//! is a series of `sluice_gpu_not_measurable`, and never a 0 of another.

use prometheus::{GaugeVec, IntCounterVec, IntGaugeVec, Registry};

use super::{
    card::{Answer, Card, CardSample, Inventory, Sample, Unreadable},
    mig,
};
use crate::{
    gpu::Mebibytes,
    telemetry::{Register, encode, table},
};

/// Every metric of an agent.
#[derive(Debug)]
pub struct Metrics {
    registry: Registry,
    readable: IntGaugeVec,
    ready: IntGaugeVec,
    published: IntCounterVec,
    api_failures: IntCounterVec,
    info: IntGaugeVec,
    memory_total: IntGaugeVec,
    memory_usable: IntGaugeVec,
    memory_used: IntGaugeVec,
    busy: GaugeVec,
    processes: IntGaugeVec,
    throttled: IntGaugeVec,
    not_measurable: IntGaugeVec,
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl Metrics {
    /// Registers every metric of the agent's table.
    #[must_use]
    pub fn new() -> Self {
        let registry = Registry::new();
        let at = Register(&registry);
        at.gauges(&table::BUILD_INFO).with_label_values(&[env!("CARGO_PKG_VERSION")]).set(1);
        Self {
            readable: at.gauges(&table::AGENT_READABLE),
            ready: at.gauges(&table::AGENT_READY),
            published: at.counters(&table::AGENT_PUBLISHED),
            api_failures: at.counters(&table::AGENT_API_FAILURES),
            info: at.gauges(&table::GPU_INFO),
            memory_total: at.gauges(&table::GPU_MEMORY_TOTAL),
            memory_usable: at.gauges(&table::GPU_MEMORY_USABLE),
            memory_used: at.gauges(&table::GPU_MEMORY_USED),
            busy: at.float_gauges(&table::GPU_BUSY),
            processes: at.gauges(&table::GPU_PROCESSES),
            throttled: at.gauges(&table::GPU_THROTTLED),
            not_measurable: at.gauges(&table::GPU_NOT_MEASURABLE),
            registry,
        }
    }

    /// Everything in Prometheus' text format.
    #[must_use]
    pub fn text(&self) -> String {
        encode(&self.registry)
    }

    /// The `GpuNode` was written.
    pub fn published(&self) {
        self.published.with_label_values::<&str>(&[]).inc();
    }

    /// The API server did not answer, or refused.
    pub fn api_failed(&self) {
        self.api_failures.with_label_values::<&str>(&[]).inc();
    }

    /// What one round saw. Series of cards that are gone go with them.
    pub fn round(&self, inventory: &Result<Inventory, Unreadable>, sample: Option<&Sample>, ready: bool) {
        self.readable.with_label_values::<&str>(&[]).set(inventory.is_ok().into());
        self.ready.with_label_values::<&str>(&[]).set(ready.into());
        for cards in [&self.info, &self.memory_total, &self.memory_usable, &self.memory_used] {
            cards.reset();
        }
        for cards in [&self.processes, &self.throttled, &self.not_measurable] {
            cards.reset();
        }
        self.busy.reset();
        for card in inventory.iter().flat_map(|inventory| &inventory.cards) {
            self.card(card);
        }
        for card in sample.into_iter().flat_map(|sample| &sample.cards) {
            self.sampled(card);
        }
    }

    fn card(&self, card: &Card) {
        let Some(uuid) = card.uuid.value() else { return };
        let product = card.product.value().map_or("", String::as_str);
        let capability = card.compute_capability.value().map_or("", String::as_str);
        self.info.with_label_values(&[uuid, product, capability, &mig::reason(card)]).set(1);
        if let Some(memory) = card.memory.value() {
            self.memory_total.with_label_values(&[uuid]).set(bytes(memory.total));
            self.memory_usable.with_label_values(&[uuid]).set(bytes(memory.usable));
        }
    }

    fn sampled(&self, card: &CardSample) {
        let uuid = card.uuid.as_str();
        let missing = |what: &str| self.not_measurable.with_label_values(&[uuid, what]).set(1);
        match &card.memory_used {
            Answer::Value(used) => self.memory_used.with_label_values(&[uuid]).set(bytes(*used)),
            _ => missing("memory"),
        }
        match &card.busy_percent {
            Answer::Value(percent) => self.busy.with_label_values(&[uuid]).set(f64::from(*percent) / 100.0),
            _ => missing("busy"),
        }
        match &card.processes {
            Answer::Value(processes) => {
                let count = i64::try_from(processes.len()).unwrap_or(i64::MAX);
                self.processes.with_label_values(&[uuid]).set(count);
                if processes.iter().any(|process| process.sm_percent.is_none()) {
                    missing("process-share");
                }
            }
            _ => missing("processes"),
        }
        for reason in card.throttled_by.value().into_iter().flatten() {
            self.throttled.with_label_values(&[uuid, reason]).set(1);
        }
    }
}

fn bytes(Mebibytes(mebibytes): Mebibytes) -> i64 {
    i64::try_from(mebibytes << 20).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::agent::card::Process;

    fn sample(processes: Vec<Process>) -> Sample {
        let card = CardSample {
            uuid: "GPU-1".to_owned(),
            memory_used: Answer::Value(Mebibytes(2)),
            busy_percent: Answer::NotSupported,
            encoder_percent: Answer::NotSupported,
            decoder_percent: Answer::NotSupported,
            throttled_by: Answer::Value(vec!["sw-power-cap".to_owned()]),
            processes: Answer::Value(processes),
        };
        Sample { cards: vec![card] }
    }

    fn nobody() -> Result<Inventory, Unreadable> {
        Err(Unreadable::NoDriver)
    }

    #[test]
    fn what_cannot_be_measured_is_said_and_is_no_zero() {
        let telemetry = Metrics::new();
        let process = Process { pid: 1, memory: None, sm_percent: None, gpu_instance: Some(3) };
        telemetry.round(&nobody(), Some(&sample(vec![process])), false);
        let text = telemetry.text();
        assert!(text.contains("sluice_gpu_not_measurable{UUID=\"GPU-1\",what=\"busy\"} 1\n"), "{text}");
        assert!(text.contains("what=\"process-share\"} 1\n"), "{text}");
        assert!(!text.contains("sluice_gpu_busy_ratio{"), "{text}");
        assert!(text.contains("sluice_gpu_memory_used_bytes{UUID=\"GPU-1\"} 2097152\n"), "{text}");
        assert!(text.contains("sluice_agent_hardware_readable 0\n"), "{text}");
    }

    #[test]
    fn a_card_that_is_gone_leaves_no_series_behind() {
        let telemetry = Metrics::new();
        telemetry.round(&nobody(), Some(&sample(Vec::new())), false);
        assert!(telemetry.text().contains("GPU-1"));
        telemetry.round(&nobody(), None, false);
        assert!(!telemetry.text().contains("GPU-1"));
    }

    #[test]
    fn every_metric_of_the_agents_table_is_registered_and_none_else() {
        let telemetry = Metrics::new();
        telemetry.published();
        telemetry.api_failed();
        let registered: BTreeSet<&str> =
            table::AGENT.iter().map(|metric| metric.name).chain([table::BUILD_INFO.name]).collect();
        let text = telemetry.text();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split(['{', ' ']).next().unwrap();
            assert!(registered.contains(name), "{name} is in no table");
        }
        assert_eq!(table::AGENT.len(), 12);
    }
}
