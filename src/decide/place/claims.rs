//! Devices that a Pod asks for by DRA claims, resolved through the picture.

use std::collections::BTreeSet;

use crate::{
    gpu::resource,
    k8s::object::{ClaimSpec, Pod},
    world::World,
};

/// What the claims of a Pod ask for.
#[derive(Debug, Default)]
pub(super) struct Claims {
    classes: BTreeSet<String>,
    unknown: bool,
}

/// The DeviceClasses that a Pod's claims and claim templates name.
pub(super) fn of(world: &World, namespace: &str, pod: &Pod) -> Claims {
    let mut claims = Claims::default();
    for claim in &pod.spec.resource_claims {
        let by_name = claim.resource_claim_name.as_deref();
        let by_template = claim.resource_claim_template_name.as_deref();
        let claimed = by_name.and_then(|name| world.cluster.claim(namespace, name)).map(|claim| &claim.spec);
        let made = by_template
            .and_then(|name| world.cluster.claim_template(namespace, name))
            .map(|template| &template.spec.spec);
        match claimed.or(made) {
            Some(spec) => claims.classes.extend(device_classes(spec)),
            None => claims.unknown = true,
        }
    }
    claims
}

fn device_classes(spec: &ClaimSpec) -> impl Iterator<Item = String> {
    spec.devices
        .requests
        .iter()
        .flat_map(|request| request.exactly.iter().chain(&request.first_available))
        .map(|request| request.device_class_name.clone())
}

impl Claims {
    /// DeviceClasses by name.
    pub(super) fn device_classes(&self) -> &BTreeSet<String> {
        &self.classes
    }

    /// A claim or template is not in the picture.
    pub(super) fn are_unknown(&self) -> bool {
        self.unknown
    }

    /// Whether one of the classes hands out GPUs: by its name, by the extended resource that it backs, or by
    /// the driver that its selectors name.
    pub(super) fn ask_for_gpu(&self, world: &World) -> bool {
        self.classes.iter().any(|name| {
            let speaks = |text: &str| text.contains("gpu") || text.contains("mig.nvidia.com");
            let class = world.cluster.device_class(name);
            speaks(name)
                || class.is_some_and(|class| {
                    class.spec.extended_resource_name.as_deref().is_some_and(resource::is_gpu_like)
                        || class.spec.selectors.iter().any(|selector| speaks(&selector.to_string()))
                })
        })
    }
}
