//! What a container sees: devices it did not ask for, and shared memory that its engine needs.

use serde_json::json;

use super::{Step, at_container, change, segments};
use crate::{
    gpu::resource,
    k8s::object::{Container, ResourceList},
    rules::{Change, Edit, SHM, SHM_VOLUME},
    subject::{
        demand,
        engine::Arguments,
        relevant::{self, VISIBLE_DEVICES},
    },
};

const VARIABLE: &str = VISIBLE_DEVICES[0];

/// Hides devices from containers that ask for none.
///
/// Zero units means no call to the device plugin, so the image's own `NVIDIA_VISIBLE_DEVICES=all` would win;
/// a zero entry is removed and the variable set to `void`. Other containers are hidden where the class says
/// so, and where the Pod as a whole asks for none but gets to nodes that have some; an explicit variable of
/// the container wins over the image's and over `envFrom`.
pub(super) fn hide(step: &Step<'_>, changes: &mut Vec<Change>) {
    let by_class = step.class.is_some_and(|class| class.hide_devices);
    for (place, container) in demand::containers(&step.pod.spec) {
        let zeros = zero_asks(container);
        for (side, name) in &zeros {
            let at = at_container(place, &["resources", side, name]);
            let why = "zero units are no request: the device plugin is not called";
            changes.push(change("zero-gpu-hardened", why, Edit::Remove(at)));
        }
        if demand::asks_for_devices(container) {
            continue;
        }
        if !step.watches {
            overrule(place, container, changes);
        }
        let hidden = !zeros.is_empty() || by_class || step.exposed;
        if !hidden || container.env(VARIABLE).is_some() {
            continue;
        }
        let rule = if zeros.is_empty() { "visible-devices-void-set" } else { "zero-gpu-hardened" };
        let why = "it asks for no GPU, and its image may make every card visible";
        let at = at_container(place, &["env"]);
        let variable = json!({"name": VARIABLE, "value": "void"});
        changes.push(change(rule, why, Edit::Append(at, variable)));
    }
}

/// Writes a value in place of one that comes from elsewhere: it may name every card, and nobody can see it here.
fn overrule(place: demand::ContainerPlace, container: &Container, changes: &mut Vec<Change>) {
    for (index, _) in relevant::shown_devices(container).into_iter().filter(|(_, value)| value.is_none()) {
        let name = &container.env[index].name;
        let at = at_container(place, &["env", &index.to_string()]);
        let why = "it asks for no GPU, and what its variable names cannot be seen here";
        let variable = json!({"name": name, "value": "void"});
        changes.push(change("visible-devices-void-set", why, Edit::Set(at, variable)));
    }
}

/// Gives an engine that works on several cards a larger `/dev/shm`: a container's default is 64 MiB, and
/// collectives fail to make their segments in it.
pub(super) fn share_memory(step: &Step<'_>, changes: &mut Vec<Change>) {
    let Some(size) = step.class.and_then(|class| class.shm_size.as_ref()) else { return };
    let spec = &step.pod.spec;
    let mut mounted = spec.volumes.iter().any(|volume| volume.name == SHM_VOLUME);
    for ask in demand::asks(spec) {
        let together = Arguments::of(ask.container).gpus_together().is_some_and(|gpus| gpus > 1);
        let several = together || ask.count().is_some_and(|count| count > 1);
        let own = |mount: &crate::k8s::object::VolumeMount| mount.mount_path.trim_end_matches('/') == SHM;
        if !several || ask.container.volume_mounts.iter().any(own) {
            continue;
        }
        let why = "an engine on several cards: collectives need more shared memory than 64 MiB";
        if !mounted {
            let volume = json!({"name": SHM_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": size}});
            changes.push(change("shm-added", why, Edit::Append(segments(["spec", "volumes"]), volume)));
            mounted = true;
        }
        let at = at_container(ask.place, &["volumeMounts"]);
        let mount = json!({"name": SHM_VOLUME, "mountPath": SHM});
        changes.push(change("shm-added", why, Edit::Append(at, mount)));
    }
}

/// Entries of which every side that is written says zero.
fn zero_asks(container: &Container) -> Vec<(&'static str, String)> {
    let sides = [("limits", &container.resources.limits), ("requests", &container.resources.requests)];
    let zero = |name: &str| {
        let mut written = sides.iter().filter_map(|(_, list)| list.get(name));
        resource::is_gpu_like(name) && written.all(|text| demand::whole(text) == Some(0))
    };
    let of_side = |(side, list): (&'static str, &ResourceList)| {
        let zeros = list.keys().filter(|name| zero(name));
        zeros.map(|name| (side, name.clone())).collect::<Vec<_>>()
    };
    sides.into_iter().flat_map(of_side).collect()
}
