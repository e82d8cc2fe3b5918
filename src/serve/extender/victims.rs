//! The wire types of preemption: `ExtenderPreemptionArgs` and `ExtenderPreemptionResult` (kube-scheduler
//! `extender/v1/types.go`). Victims come by UID where the extender keeps a picture of its own
//! (`nodeCacheCapable`), as whole Pods where it does not; they go back by UID in both cases.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{json, value::RawValue};

use crate::serve::gate::Failure;

/// `ExtenderPreemptionArgs`.
pub(super) struct Questions<'a> {
    pub(super) pod: &'a RawValue,
    /// The offered victims of each node, by its name.
    pub(super) nodes: BTreeMap<String, Victims>,
}

/// Victims on one node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Victims {
    pub(super) uids: Vec<String>,
    /// How many of them a PodDisruptionBudget would not let go.
    pub(super) violations: i64,
}

/// An object by its keys in lower case, as Go's decoder finds them whatever their casing.
type Keys<'a> = BTreeMap<String, &'a RawValue>;

impl<'a> Questions<'a> {
    pub(super) fn parse(body: &'a [u8]) -> Result<Self, Failure> {
        let text = std::str::from_utf8(body).map_err(|error| malformed(&error))?;
        let keys = keys(text)?;
        let pod = keys.get("pod").copied().filter(|pod| pod.get() != "null");
        let pod = pod.ok_or_else(|| malformed(&"Pod is missing"))?;
        let mut nodes = BTreeMap::new();
        for map in ["nodenametovictims", "nodenametometavictims"] {
            let Some(raw) = keys.get(map).filter(|raw| raw.get() != "null") else { continue };
            let by_node: BTreeMap<String, &RawValue> = read(raw)?;
            for (node, victims) in by_node {
                nodes.insert(node, Victims::read(victims)?);
            }
        }
        Ok(Self { pod, nodes })
    }
}

impl Victims {
    fn read(raw: &RawValue) -> Result<Self, Failure> {
        if raw.get() == "null" {
            return Ok(Self::default());
        }
        let fields = keys(raw.get())?;
        let violations = match fields.get("numpdbviolations") {
            Some(number) => read::<Option<i64>>(number)?.unwrap_or(0),
            None => 0,
        };
        let pods = match fields.get("pods") {
            Some(pods) => read::<Option<Vec<&RawValue>>>(pods)?.unwrap_or_default(),
            None => Vec::new(),
        };
        let uids = pods.into_iter().map(uid).collect::<Result<_, _>>()?;
        Ok(Self { uids, violations })
    }

    /// `ExtenderPreemptionResult`.
    pub(super) fn encode(nodes: &BTreeMap<&str, Self>) -> Vec<u8> {
        let victims = |victims: &Self| {
            let pods: Vec<_> = victims.uids.iter().map(|uid| json!({"UID": uid})).collect();
            json!({"Pods": pods, "NumPDBViolations": victims.violations})
        };
        let map: BTreeMap<&str, _> = nodes.iter().map(|(node, of)| (*node, victims(of))).collect();
        json!({ "NodeNameToMetaVictims": map }).to_string().into_bytes()
    }
}

/// Of a `MetaPod`, or of a Pod.
fn uid(raw: &RawValue) -> Result<String, Failure> {
    #[derive(Deserialize)]
    struct Pod {
        metadata: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        uid: String,
    }
    match keys(raw.get())?.get("uid") {
        Some(uid) => read(uid),
        None => read::<Pod>(raw).map(|pod| pod.metadata.uid),
    }
}

fn keys(text: &str) -> Result<Keys<'_>, Failure> {
    let keys: BTreeMap<String, &RawValue> = serde_json::from_str(text).map_err(|error| malformed(&error))?;
    Ok(keys.into_iter().map(|(key, value)| (key.to_ascii_lowercase(), value)).collect())
}

fn read<'a, T: Deserialize<'a>>(raw: &'a RawValue) -> Result<T, Failure> {
    serde_json::from_str(raw.get()).map_err(|error| malformed(&error))
}

fn malformed(problem: &dyn std::fmt::Display) -> Failure {
    Failure::Malformed(format!("not ExtenderPreemptionArgs: {problem}"))
}
