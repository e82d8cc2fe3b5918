//! What is known of a node's cards, from all objects that speak of it, put before [`crate::gpu::assess`].
//!
//! Slices, device classes and agents speak of nodes that they do not belong to; when one of them changes,
//! the nodes that it speaks of get their shapes anew.

use std::{collections::BTreeMap, sync::Arc};

use serde_json::Value;

use crate::{
    cluster::{
        Cluster, Key, Kind,
        node::NodeFacts,
        read::{self, ReadError},
        time::unix_seconds,
    },
    gpu::{
        AgentFacts, DraDevice, GpuDeviceClass, Observed, agent_facts::GpuNodeStatus,
        evidence::is_evidence_label,
    },
    k8s::{
        object::{self, Labels},
        quantity::Quantity,
        resources::Amounts,
    },
};

/// What the agent of a node published.
#[derive(Clone, Debug, PartialEq)]
pub struct Agent {
    /// What it published, and whether it may still be believed.
    pub facts: AgentFacts,
    /// Unix seconds of its last reading of the hardware.
    pub observed_at: Option<i64>,
}

/// Seconds between two readings of an agent that does not say.
const HEARTBEAT: u32 = 30;

/// Heartbeats that may be missed before an agent is no longer believed.
const HEARTBEATS: i64 = 3;

impl Agent {
    /// Reads a `GpuNode`, to be believed at `now` (Unix seconds) where a time is known.
    pub(super) fn read(object: &Value, now: Option<i64>) -> Result<Self, ReadError> {
        let status = match &object["status"] {
            Value::Null => GpuNodeStatus::default(),
            status => read::read_part(Kind::GpuNode, object, status, "status")?,
        };
        let observed_at = status.observed_at.as_deref().and_then(unix_seconds);
        let mut agent = Self { facts: AgentFacts { fresh: false, status }, observed_at };
        agent.facts.fresh = agent.is_fresh(now);
        Ok(agent)
    }

    /// Without a clock (a file that says no time), what is there is as fresh as the rest of the picture.
    pub(super) fn is_fresh(&self, now: Option<i64>) -> bool {
        let Some(now) = now else { return true };
        let heartbeat = i64::from(self.facts.status.heartbeat_seconds.unwrap_or(HEARTBEAT));
        self.observed_at.is_some_and(|at| now.saturating_sub(at) <= HEARTBEATS.saturating_mul(heartbeat))
    }
}

impl Cluster {
    /// All that is known of a node's cards.
    pub(super) fn observed(&self, name: &str, facts: &NodeFacts) -> Observed {
        let evidence =
            |(key, value): (&String, &String)| is_evidence_label(key).then(|| (key.clone(), value.clone()));
        let slices: Vec<DraDevice> = self.slices_of(name).flat_map(|slice| devices(slice)).collect();
        Observed {
            labels: facts.labels().iter().filter_map(evidence).collect::<Labels>(),
            allocatable: counts(facts.gpus()),
            capacity: counts(facts.gpu_capacity()),
            device_classes: if slices.is_empty() { Vec::new() } else { self.gpu_device_classes() },
            slices,
            agent: self.agents.get("", name).map(|agent| agent.facts.clone()),
        }
    }

    /// Finds the shape of a node anew, after something that speaks of it changed.
    pub(super) fn reshape(&mut self, name: &str) {
        let Some(node) = self.nodes.get("", name).cloned() else { return };
        let facts = NodeFacts::of(&node);
        let shape = facts.shape(&self.observed(name, &facts));
        if *node.shape == shape {
            return;
        }
        let shape = self.shapes.change(&node.shape, shape, &node.name);
        self.nodes.put(Key::new("", name), facts.into_node(Arc::clone(&node.name), shape));
    }

    /// The same for every node that has slices: what they mean depends on the device classes.
    pub(super) fn reshape_dra_nodes(&mut self) {
        let mut nodes: Vec<Arc<str>> = self.slices.keys().map(|key| Arc::clone(&key.namespace)).collect();
        nodes.dedup();
        for node in nodes {
            self.reshape(&node);
        }
    }

    /// Says what time it is: agents that have been silent for more than three heartbeats are no longer
    /// believed. `now` in Unix seconds. True if the picture changed by that.
    pub fn judge_freshness(&mut self, now: i64) -> bool {
        let stale = |agent: &&Arc<Agent>| agent.is_fresh(Some(now)) != agent.facts.fresh;
        if !self.agents.all().any(|agent| stale(&agent)) {
            return false;
        }
        let changed: Vec<(Key, Agent)> = self
            .agents
            .iter()
            .filter(|(_, agent)| stale(agent))
            .map(|(key, agent)| (key.clone(), Agent::clone(agent)))
            .collect();
        for (key, mut agent) in changed {
            agent.facts.fresh = !agent.facts.fresh;
            let name = Arc::clone(&key.name);
            self.agents.put(key, agent);
            self.reshape(&name);
        }
        true
    }

    fn gpu_device_classes(&self) -> Vec<GpuDeviceClass> {
        self.device_classes().map(|class| device_class(class)).collect()
    }
}

fn devices(slice: &object::ResourceSlice) -> impl Iterator<Item = DraDevice> {
    let bytes =
        |text: &str| text.parse::<Quantity>().ok().and_then(|amount| u64::try_from(amount.value()).ok());
    slice.spec.devices.iter().map(move |device| {
        let spec = &slice.spec;
        let read = DraDevice::read(&spec.driver, &device.name, &device.attributes, &device.capacity, bytes);
        DraDevice { shared: device.allow_multiple_allocations, ..read }
    })
}

fn device_class(class: &object::DeviceClass) -> GpuDeviceClass {
    let text = |selector: &Value| selector["cel"]["expression"].as_str().map(str::to_owned);
    GpuDeviceClass {
        name: class.metadata.name.clone(),
        extended_resource_name: class.spec.extended_resource_name.clone(),
        selectors: class.spec.selectors.iter().filter_map(text).collect(),
    }
}

/// Whole counts; a negative or broken amount is none.
fn counts(amounts: &Amounts) -> BTreeMap<String, u64> {
    amounts
        .iter()
        .map(|(name, amount)| (name.clone(), u64::try_from(amount.value()).unwrap_or_default()))
        .collect()
}
