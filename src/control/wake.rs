//! Wakes Pods that the extender turned away, once there is room that the scheduler cannot see.
//!
//! kube-scheduler tries an unschedulable Pod again when an object changes that it watches; of a Node that is a
//! label, a taint, allocatable, a condition or an annotation. What only we know (an agent's word, a policy
//! file, a promise that is settled, a picture that was behind when it asked) wakes nobody for 5 minutes. So one
//! annotation of one Node is changed: it reaches every Pod that an extender turned away.

use std::{
    collections::BTreeMap,
    sync::Arc,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use k8s_openapi::api::core::v1::Node;
use kube::{
    Api, Client,
    api::{Patch, PatchParams},
};
use serde_json::json;
use tokio::{
    task::JoinHandle,
    time::{sleep, timeout},
};

use super::{Lease, LeaseError};
use crate::{
    decide::{Ask, Promised, Reach, decide},
    live::{
        Picture,
        questions::{Questions, Rejected},
    },
    rules::Fit,
    telemetry::Telemetry,
    world::World,
};

/// The annotation that is changed.
pub const ANNOTATION: &str = "sluice.dev/wake-up";

/// Between two wake-ups at least: each makes the scheduler try every such Pod again.
const PACE: Duration = Duration::from_secs(1);

/// A scheduler that has seen the same change asks by itself within moments; whom it asks about is not woken.
const BY_ITSELF: Duration = Duration::from_millis(300);

/// Wakes Pods for as long as it runs.
pub struct WakeUp {
    nodes: Api<Node>,
    lease: Lease,
    /// The lease on its way of being taken or renewed: a slow API server must not delay who is to be woken.
    renewal: Option<JoinHandle<(Lease, Result<(), LeaseError>)>>,
    picture: Picture,
    questions: Arc<Questions>,
    telemetry: Arc<Telemetry>,
}

impl WakeUp {
    /// For the questions that one extender answers.
    #[must_use]
    pub fn new(
        client: Client,
        lease: Lease,
        picture: Picture,
        questions: Arc<Questions>,
        telemetry: Arc<Telemetry>,
    ) -> Self {
        Self { nodes: Api::all(client), lease, renewal: None, picture, questions, telemetry }
    }

    /// Runs until it is dropped.
    pub async fn run(mut self) {
        let mut told = self.picture.subscribe();
        loop {
            // A new World, or time: promises also end by running out.
            let _ = timeout(PACE, told.changed()).await;
            sleep(BY_ITSELF).await;
            self.prepare().await;
            if let Some((node, uids)) = self.look() {
                self.wake(&node, &uids).await;
                sleep(PACE).await;
            }
        }
    }

    /// Has the lease taken and renewed while Pods are asleep, so that waking one is a single call.
    async fn prepare(&mut self) {
        if self.renewal.as_ref().is_some_and(JoinHandle::is_finished) {
            self.end_renewal().await;
        }
        let now = SystemTime::now();
        if self.renewal.is_none() && self.questions.is_anybody_rejected() && self.lease.is_due(now) {
            let mut lease = self.lease.clone();
            self.renewal = Some(tokio::spawn(async move {
                let held = lease.hold(now).await;
                (lease, held)
            }));
        }
    }

    async fn end_renewal(&mut self) {
        let Some(renewal) = self.renewal.take() else { return };
        // A renewal that panicked leaves the lease as it was.
        if let Ok((lease, held)) = renewal.await {
            self.lease = lease;
            self.telemetry.lease(held.is_ok());
        }
    }

    /// A node that has room for Pods that are asleep, and their UIDs.
    fn look(&self) -> Option<(Arc<str>, Vec<Arc<str>>)> {
        let now = Instant::now();
        let sleeping = self.questions.sleeping(now);
        if sleeping.is_empty() {
            return None;
        }
        let world = self.picture.load();
        let (gone, waiting): (Vec<_>, Vec<_>) =
            sleeping.into_iter().partition(|(uid, rejected)| has_gone(&world, uid, rejected, now));
        gone.iter().for_each(|(uid, _)| self.questions.forget(uid));
        let promised = self.questions.ledger.open(&world, "", now).promised;
        room(&world, &promised, &waiting)
    }

    async fn wake(&mut self, node: &str, uids: &[Arc<str>]) {
        let written = self.write(node, SystemTime::now()).await;
        self.telemetry.woke(written.is_ok());
        // Whether it worked or not: nothing is gained by trying again at once.
        uids.iter().for_each(|uid| self.questions.woken(uid, Instant::now()));
        match written {
            Ok(()) => tracing::info!(node, pods = uids.len(), "woke Pods that were turned away"),
            Err(error) => tracing::warn!(node, pods = uids.len(), %error, "Pods not woken"),
        }
    }

    async fn write(&mut self, node: &str, now: SystemTime) -> Result<(), LeaseError> {
        if !self.lease.is_ours(now) {
            self.end_renewal().await;
            self.lease.hold(now).await?;
        }
        let since = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_millis().to_string();
        let patch = json!({"metadata": {"annotations": {ANNOTATION: since}}});
        self.nodes.patch(node, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(())
    }
}

/// Bound or deleted. A Pod that the picture does not show at all yet may be late for a while.
fn has_gone(world: &World, uid: &str, rejected: &Rejected, now: Instant) -> bool {
    const LATE: Duration = Duration::from_secs(30);
    match world.cluster.tenant(uid) {
        Some(tenant) => tenant.node.is_some(),
        None => now.saturating_duration_since(rejected.at) > LATE,
    }
}

/// A node with room for some of the Pods, and all those Pods that have room somewhere: equal Pods are asked
/// about once, and the change of one node wakes them all.
fn room(
    world: &World,
    promised: &Promised,
    sleeping: &[(Arc<str>, Rejected)],
) -> Option<(Arc<str>, Vec<Arc<str>>)> {
    let mut by_decision: BTreeMap<String, Option<Arc<str>>> = BTreeMap::new();
    let mut first = None;
    let mut uids = Vec::new();
    for (uid, rejected) in sleeping {
        let decision = decide(world, &rejected.subject);
        let node = by_decision.entry(decision.id.clone()).or_insert_with(|| {
            let beyond = Ask::new(world, &decision, Reach::BeyondScheduler).over(promised);
            let whole = Ask::new(world, &decision, Reach::Everything);
            let fits = |ask: &Ask<'_>, name: &str| matches!(ask.of(name), Fit::Yes(_));
            let mut nodes = world.cluster.nodes().map(|node| &node.name);
            nodes.find(|name| fits(&beyond, name) && fits(&whole, name)).cloned()
        });
        if let Some(node) = node {
            first.get_or_insert_with(|| Arc::clone(node));
            uids.push(Arc::clone(uid));
        }
    }
    first.map(|node| (node, uids))
}

#[cfg(test)]
mod tests;
