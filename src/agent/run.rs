//! The agent's loop: look, publish, keep the taint, count; every few seconds, for as long as the node lives.
//!
//! Nothing here ends the agent: a driver, a kubelet or an API server that does not answer is told, and asked
//! again in the next round.

use std::{
    path::PathBuf,
    sync::Arc,
    time::{Duration, Instant},
};

use k8s_openapi::api::core::v1::Node;

use super::{
    card::{Cards, Inventory, Sample, Unreadable},
    deadline::Deadline,
    handed::Handed,
    kubelet::Kubelet,
    metrics::Metrics,
    mps,
    node::{self, NodeObjects},
    publish::Publication,
    ready::{NotReady, not_ready},
    status::{Seen, status},
};
use crate::gpu::GpuNodeStatus;

/// How the agent runs.
#[derive(Clone, Debug)]
pub struct Options {
    /// Time between two rounds.
    pub round: Duration,
    /// Time between two writes without a change.
    pub heartbeat: Duration,
    /// The host's process table.
    pub proc: PathBuf,
    /// Whether a DRA driver hands out the cards.
    pub dra: bool,
    /// Whether to keep the startup taint.
    pub taint: bool,
}

/// One node's agent.
pub struct Agent {
    cards: Deadline,
    kubelet: Kubelet,
    objects: NodeObjects,
    options: Options,
    metrics: Arc<Metrics>,
    publication: Publication,
    started: Instant,
    /// What was said last of why the node is not ready, so that a log line is written once.
    said: Option<String>,
}

/// What one round saw.
struct Round {
    inventory: Result<Inventory, Unreadable>,
    sample: Option<Sample>,
    handed: Result<Handed, String>,
    not_ready: Vec<NotReady>,
}

impl Agent {
    /// An agent that has not looked yet.
    #[must_use]
    pub fn new(
        cards: Deadline,
        kubelet: Kubelet,
        objects: NodeObjects,
        options: Options,
        metrics: Arc<Metrics>,
    ) -> Self {
        let publication = Publication::default();
        Self { cards, kubelet, objects, options, metrics, publication, started: Instant::now(), said: None }
    }

    /// Rounds for ever.
    pub async fn run(mut self) {
        let mut ticks = tokio::time::interval(self.options.round);
        ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            if let Err(error) = self.round().await {
                self.metrics.api_failed();
                tracing::warn!("the API server does not take what this node says: {error}");
            }
        }
    }

    async fn round(&mut self) -> Result<(), kube::Error> {
        // The API server may be away; what the hardware does is measured all the same.
        let node = self.objects.node().await;
        let says = node.as_ref().map(|node| node::says(node, self.options.dra)).unwrap_or_default();
        let inventory = tokio::task::block_in_place(|| self.cards.inventory());
        let sample = tokio::task::block_in_place(|| self.cards.sample()).ok();
        let handed = self.handed().await;
        let not_ready = not_ready(&inventory, handed.as_ref().map_err(String::as_str), &says);
        let round = Round { inventory, sample, handed, not_ready };
        self.metrics.round(&round.inventory, round.sample.as_ref(), round.not_ready.is_empty());
        let node = node?;
        self.tell(&round.not_ready);
        self.publish(&node, &round).await?;
        if self.options.taint && self.objects.keep_taint(&node, round.not_ready.is_empty()).await? {
            tracing::info!(ready = round.not_ready.is_empty(), "startup taint changed");
        }
        Ok(())
    }

    async fn handed(&self) -> Result<Handed, String> {
        let word = |status: tonic::Status| status.message().to_owned();
        let allocatable = self.kubelet.allocatable().await.map_err(word)?;
        let assigned = self.kubelet.assigned().await.map_err(word)?;
        Ok(Handed::new(allocatable, assigned))
    }

    async fn publish(&mut self, node: &Node, round: &Round) -> Result<(), kube::Error> {
        let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
        let mps_daemon = mps::daemon_runs(&self.options.proc);
        let seen = Seen {
            now: &now,
            heartbeat: u32::try_from(self.options.heartbeat.as_secs()).unwrap_or(u32::MAX),
            boot_id: node::boot_id(node),
            inventory: &round.inventory,
            sample: round.sample.as_ref(),
            handed: round.handed.as_ref().ok(),
            mps_daemon,
            not_ready: &round.not_ready,
        };
        let status: GpuNodeStatus = status(&seen, self.publication.last());
        let elapsed = self.started.elapsed().as_secs();
        if !self.publication.is_due(&status, elapsed) {
            return Ok(());
        }
        self.objects.publish(node, &status).await?;
        self.metrics.published();
        self.publication.written(status, elapsed);
        Ok(())
    }

    /// Says once why the node is not ready, and once that it is.
    fn tell(&mut self, not_ready: &[NotReady]) {
        let words = not_ready.iter().map(NotReady::word).collect::<Vec<_>>().join(",");
        if self.said.as_ref() == Some(&words) {
            return;
        }
        match not_ready {
            [] => tracing::info!("ready: the kubelet advertises what the hardware is"),
            reasons => {
                for reason in reasons {
                    tracing::warn!(reason = reason.word(), "not ready: {reason}");
                }
            }
        }
        self.said = Some(words);
    }
}
