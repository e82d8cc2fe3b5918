//! Short ways to the objects that stories look at, blocking.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::NamespaceResourceScope;
use k8s_openapi::api::core::v1::{Event, Namespace, Node, Pod};
use kube::api::{Api, DeleteParams, ListParams, ObjectMeta, PostParams};
use serde::de::DeserializeOwned;

use super::command::Output;
use super::controlplane::ControlPlane;
use super::eventually::{SOON, eventually};
use super::http::block_on;

static NAMESPACES: AtomicUsize = AtomicUsize::new(1);

impl ControlPlane {
    /// Makes a namespace of its own for a story. Namespaces isolate little: see [`ControlPlane::clear`].
    pub fn namespace(&self, story: &str) -> String {
        let name = format!("{story}-{}", NAMESPACES.fetch_add(1, Ordering::Relaxed));
        let metadata = ObjectMeta { name: Some(name.clone()), ..Default::default() };
        let namespace = Namespace { metadata, ..Default::default() };
        block_on(Api::all(self.client()).create(&PostParams::default(), &namespace)).expect("a namespace");
        name
    }

    /// The API of a kind in a namespace, for calls with [`block_on`].
    pub fn api<K>(&self, namespace: &str) -> Api<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.client(), namespace)
    }

    /// All objects of a kind in a namespace.
    pub fn list<K>(&self, namespace: &str) -> Vec<K>
    where
        K: kube::Resource<Scope = NamespaceResourceScope> + Clone + DeserializeOwned + std::fmt::Debug,
        K::DynamicType: Default,
    {
        block_on(self.api::<K>(namespace).list(&ListParams::default())).expect("a list").items
    }

    /// A Pod that must exist.
    #[track_caller]
    pub fn pod(&self, namespace: &str, name: &str) -> Pod {
        block_on(self.api::<Pod>(namespace).get(name))
            .unwrap_or_else(|error| panic!("Pod {namespace}/{name}: {error}"))
    }

    /// Waits until the scheduler has bound a Pod; the name of its Node.
    #[track_caller]
    pub fn bound(&self, namespace: &str, name: &str) -> String {
        eventually(SOON, &format!("Pod {namespace}/{name} to be bound"), || {
            node_of(&self.pod(namespace, name)).ok_or_else(|| self.pending_because(namespace, name))
        })
    }

    /// The scheduler's words about a Pod that it could not place, from its condition; empty before it tried.
    pub fn pending_because(&self, namespace: &str, name: &str) -> String {
        let status = self.pod(namespace, name).status.unwrap_or_default();
        let scheduled =
            status.conditions.into_iter().flatten().find(|condition| condition.type_ == "PodScheduled");
        scheduled.and_then(|condition| condition.message).unwrap_or_default()
    }

    /// Messages of the events about an object, oldest first.
    pub fn events(&self, namespace: &str, name: &str) -> Vec<String> {
        let mut events = self.list::<Event>(namespace);
        events.sort_by(|one, other| one.metadata.creation_timestamp.cmp(&other.metadata.creation_timestamp));
        let about = events.into_iter().filter(|event| event.involved_object.name.as_deref() == Some(name));
        about
            .map(|event| {
                format!("{}: {}", event.reason.unwrap_or_default(), event.message.unwrap_or_default())
            })
            .collect()
    }

    /// Creates a manifest as a dry run again and again until admission answers as `expected`: changed webhook
    /// configurations and admission policies take effect a little later than they are stored.
    #[track_caller]
    pub fn until_admission(
        &self,
        what: &str,
        manifest: &str,
        mut expected: impl FnMut(&Output) -> bool,
    ) -> Output {
        eventually(SOON, what, || {
            let output = self.kubectl().dry_run(manifest);
            if expected(&output) { Ok(output) } else { Err(output.to_string()) }
        })
    }

    /// Removes what stories share whatever their namespace: Nodes, webhooks, admission policies, devices,
    /// PriorityClasses of our own; and every workload.
    pub fn clear(&self) {
        let kubectl = self.kubectl();
        let delete = |kinds: &str, more: &[&str]| {
            let mut arguments = vec!["delete", kinds, "--all", "--wait=false", "--ignore-not-found"];
            arguments.extend_from_slice(more);
            kubectl.run(&arguments).succeeded()
        };
        delete(
            "validatingwebhookconfigurations,mutatingwebhookconfigurations,\
             validatingadmissionpolicybindings,validatingadmissionpolicies,resourceslices,deviceclasses",
            &[],
        );
        delete("deployments,statefulsets,daemonsets,replicasets,cronjobs,jobs,poddisruptionbudgets", &["-A"]);
        delete("pods", &["-A", "--force", "--grace-period=0"]);
        block_on(
            Api::<Node>::all(self.client())
                .delete_collection(&DeleteParams::default(), &ListParams::default()),
        )
        .expect("Nodes are deleted");
        let classes = kubectl.run(&["get", "priorityclasses", "-o", "name"]).succeeded();
        for class in classes.lines().filter(|class| !class.contains("/system-")) {
            kubectl.run(&["delete", class]).succeeded();
        }
        eventually(Duration::from_secs(30), "no Pod to be left", || {
            let left = kubectl.run(&["get", "pods", "-A", "-o", "name"]).succeeded();
            if left.is_empty() { Ok(()) } else { Err(left) }
        });
    }
}

/// The Node to which a Pod is bound.
pub fn node_of(pod: &Pod) -> Option<String> {
    pod.spec.as_ref()?.node_name.clone()
}

/// Whether a condition such as `Ready` of a Pod is true.
pub fn is(pod: &Pod, condition: &str) -> bool {
    let conditions = pod.status.iter().flat_map(|status| status.conditions.iter().flatten());
    conditions.into_iter().any(|known| known.type_ == condition && known.status == "True")
}
