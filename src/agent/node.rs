//! The agent's two objects in the API: its own `GpuNode`, which it writes with server-side apply, and the
//! startup taint of its own Node.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, Taint};
use kube::{
    Api, Client, Error,
    api::{DynamicObject, ObjectMeta, Patch, PatchParams},
    core::{ApiResource, GroupVersionKind},
};
use serde_json::json;

use super::ready::{NodeSays, STARTUP_TAINT};
use crate::gpu::{GpuNodeStatus, GpuResource};

/// Who owns the fields that the agent writes.
const MANAGER: &str = "sluice-agent";

/// The objects of one node.
#[derive(Clone)]
pub struct NodeObjects {
    name: String,
    nodes: Api<Node>,
    gpu_nodes: Api<DynamicObject>,
}

impl NodeObjects {
    /// The objects of the node of that name.
    #[must_use]
    pub fn new(client: Client, name: String) -> Self {
        let kind = GroupVersionKind::gvk("sluice.dev", "v1alpha1", "GpuNode");
        let resource = ApiResource::from_gvk_with_plural(&kind, "gpunodes");
        Self { name, nodes: Api::all(client.clone()), gpu_nodes: Api::all_with(client, &resource) }
    }

    /// The Node.
    ///
    /// # Errors
    /// If the API server does not show it.
    pub async fn node(&self) -> Result<Node, Error> {
        self.nodes.get(&self.name).await
    }

    /// Writes the status; makes the object first where there is none. `node` becomes its owner, so that it
    /// goes with the node.
    ///
    /// # Errors
    /// If the API server refuses it or does not answer.
    pub async fn publish(&self, node: &Node, status: &GpuNodeStatus) -> Result<(), Error> {
        let uid = node.metadata.uid.as_deref().unwrap_or_default();
        let object = json!({
            "apiVersion": "sluice.dev/v1alpha1", "kind": "GpuNode",
            "metadata": {"name": self.name, "ownerReferences": [
                {"apiVersion": "v1", "kind": "Node", "name": self.name, "uid": uid},
            ]},
        });
        // There is one agent a node: what another writer left in our fields is wrong by now.
        let force = PatchParams::apply(MANAGER).force();
        let known = self.gpu_nodes.get_metadata_opt(&self.name).await?;
        let owned = known.is_some_and(|known| owned_by(&known.metadata, uid));
        if !owned {
            self.gpu_nodes.patch(&self.name, &force, &Patch::Apply(&object)).await?;
        }
        let mut with_status = object;
        with_status["metadata"] = json!({"name": self.name});
        with_status["status"] = serde_json::to_value(status).map_err(Error::SerdeError)?;
        self.gpu_nodes.patch_status(&self.name, &force, &Patch::Apply(&with_status)).await?;
        Ok(())
    }

    /// Sets or removes the startup taint, where that changes anything. True if it did.
    ///
    /// # Errors
    /// If the API server refuses it; a conflict means that somebody else changed the taints meanwhile, and
    /// the next round tries again.
    pub async fn keep_taint(&self, node: &Node, ready: bool) -> Result<bool, Error> {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
        let Some(taints) = taints_of(taints, ready) else { return Ok(false) };
        // A list is replaced as a whole, so the version is named: nobody's taint is lost.
        let patch = json!({
            "metadata": {"resourceVersion": node.metadata.resource_version},
            "spec": {"taints": taints},
        });
        self.nodes.patch(&self.name, &PatchParams::default(), &Patch::Merge(&patch)).await?;
        Ok(true)
    }
}

fn owned_by(metadata: &ObjectMeta, uid: &str) -> bool {
    metadata.owner_references.iter().flatten().any(|owner| owner.kind == "Node" && owner.uid == uid)
}

/// The taints as they should be; `None` where they are so already. The taint is removed whatever its value
/// and effect: who joined the node may have set it with another one.
fn taints_of(mut taints: Vec<Taint>, ready: bool) -> Option<Vec<Taint>> {
    let has = taints.iter().any(|taint| taint.key == STARTUP_TAINT);
    match (ready, has) {
        (true, true) => taints.retain(|taint| taint.key != STARTUP_TAINT),
        (false, false) => taints.push(Taint {
            key: STARTUP_TAINT.to_owned(),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        }),
        _ => return None,
    }
    Some(taints)
}

/// What the API server says of the node's cards.
#[must_use]
pub fn says(node: &Node, dra: bool) -> NodeSays {
    let allocatable = node.status.as_ref().and_then(|status| status.allocatable.as_ref());
    let unit = |name: &str| GpuResource::parse(name).is_some_and(|resource| resource.is_unit());
    let counts: BTreeMap<String, u64> = allocatable
        .into_iter()
        .flatten()
        .filter(|(name, _)| unit(name))
        .filter_map(|(name, amount)| Some((name.clone(), amount.0.parse().ok()?)))
        .collect();
    let labels = node.metadata.labels.as_ref();
    let mig_state = labels.and_then(|labels| labels.get("nvidia.com/mig.config.state")).cloned();
    NodeSays { allocatable: counts, mig_state, dra }
}

/// `status.nodeInfo.bootID`.
#[must_use]
pub fn boot_id(node: &Node) -> Option<&str> {
    Some(node.status.as_ref()?.node_info.as_ref()?.boot_id.as_str()).filter(|id| !id.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taint(key: &str) -> Taint {
        Taint { key: key.to_owned(), effect: "NoSchedule".to_owned(), ..Taint::default() }
    }

    #[test]
    fn the_startup_taint_comes_and_goes_and_no_other_is_touched() {
        let others = vec![taint("nvidia.com/gpu")];
        assert_eq!(taints_of(others.clone(), true), None);
        let tainted = taints_of(others.clone(), false).unwrap();
        assert_eq!(tainted, [taint("nvidia.com/gpu"), taint(STARTUP_TAINT)]);
        assert_eq!(taints_of(tainted.clone(), false), None);
        assert_eq!(taints_of(tainted, true), Some(others));
    }
}
