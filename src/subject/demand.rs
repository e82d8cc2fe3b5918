//! What a Pod asks of GPUs: every container's asks with their paths, and the Pod's sum by resource name.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    gpu::resource,
    k8s::{
        object::{Container, PodSpec, QuantityText},
        quantity::Quantity,
        resources::PodResources,
    },
};

/// One container's ask for one GPU resource.
#[derive(Clone, Debug)]
pub struct Ask<'a> {
    /// Path of the container: `spec.containers[0]`.
    pub path: String,
    /// The container.
    pub container: &'a Container,
    /// Which list it stands in, and where.
    pub place: ContainerPlace,
    /// Resource name.
    pub resource: &'a str,
    /// The request as written.
    pub request: Option<&'a QuantityText>,
    /// The limit as written.
    pub limit: Option<&'a QuantityText>,
}

/// Where a container stands in the spec.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContainerPlace {
    /// `containers`, `initContainers` or `ephemeralContainers`.
    pub list: &'static str,
    /// Index in it.
    pub index: usize,
}

/// Every ask of init and application containers, in the order of the spec.
#[must_use]
pub fn asks(spec: &PodSpec) -> Vec<Ask<'_>> {
    containers(spec)
        .flat_map(|(place, container)| {
            let names: BTreeSet<&str> = container
                .resources
                .limits
                .keys()
                .chain(container.resources.requests.keys())
                .map(String::as_str)
                .filter(|name| resource::is_gpu_like(name))
                .collect();
            names.into_iter().map(move |name| Ask {
                path: place.path(),
                container,
                place,
                resource: name,
                request: container.resources.requests.get(name),
                limit: container.resources.limits.get(name),
            })
        })
        .collect()
}

/// Init and application containers with their places.
pub fn containers(spec: &PodSpec) -> impl Iterator<Item = (ContainerPlace, &Container)> {
    let place = |list: &'static str| move |(index, c): (usize, _)| (ContainerPlace { list, index }, c);
    let init = spec.init_containers.iter().enumerate().map(place("initContainers"));
    init.chain(spec.containers.iter().enumerate().map(place("containers")))
}

/// Units of each GPU resource that the Pod needs at once on its node, as the scheduler counts: the sum over
/// containers and sidecars, or the peak of the init phase. Asks for zero and quantities that are not whole
/// are left out.
#[must_use]
pub fn units(spec: &PodSpec) -> BTreeMap<String, i64> {
    let requests = PodResources::written(spec).with_defaults().requests();
    let whole = |(name, amount): (String, Quantity)| {
        let counts = resource::is_gpu_like(&name) && amount.is_integer() && amount.is_positive();
        counts.then(|| (name, amount.value()))
    };
    requests.into_iter().filter_map(whole).collect()
}

/// Whether a container asks for any device: by claim, or for units of a GPU resource other than none. A quantity
/// that cannot be read is an ask.
#[must_use]
pub fn asks_for_devices(container: &Container) -> bool {
    let resources = &container.resources;
    let mut written = resources.limits.iter().chain(&resources.requests);
    !resources.claims.is_empty()
        || written.any(|(name, text)| resource::is_gpu_like(name) && whole(text) != Some(0))
}

/// A whole, non-negative quantity's value.
#[must_use]
pub fn whole(text: &QuantityText) -> Option<i64> {
    let quantity: Quantity = text.0.parse().ok()?;
    (quantity.is_integer() && !quantity.is_negative()).then(|| quantity.value())
}

impl Ask<'_> {
    /// Units asked for: the limit, or the request where no limit is written.
    #[must_use]
    pub fn count(&self) -> Option<i64> {
        whole(self.limit.or(self.request)?)
    }

    /// Asks for none: every side that is written says 0. A request beside a limit of 0 is a mistake, not none.
    #[must_use]
    pub fn is_zero(&self) -> bool {
        self.limit.into_iter().chain(self.request).all(|text| whole(text) == Some(0))
    }
}

impl ContainerPlace {
    /// Field path.
    #[must_use]
    pub fn path(self) -> String {
        format!("spec.{}[{}]", self.list, self.index)
    }

    /// Segments below the object with `spec`.
    #[must_use]
    pub fn segments(self) -> [String; 3] {
        ["spec".to_owned(), self.list.to_owned(), self.index.to_string()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(value: serde_json::Value) -> PodSpec {
        serde_json::from_value(value).expect("a spec")
    }

    fn gpus(count: i64) -> serde_json::Value {
        serde_json::json!({"name": "c", "resources": {"limits": {"nvidia.com/gpu": count}}})
    }

    #[test]
    fn an_init_container_and_an_app_container_do_not_add_up() {
        let both = spec(serde_json::json!({"initContainers": [gpus(1)], "containers": [gpus(1)]}));
        assert_eq!(units(&both).get("nvidia.com/gpu"), Some(&1));
    }

    #[test]
    fn a_sidecar_and_an_app_container_add_up() {
        let mut sidecar = gpus(1);
        sidecar["restartPolicy"] = "Always".into();
        let both = spec(serde_json::json!({"initContainers": [sidecar], "containers": [gpus(1)]}));
        assert_eq!(units(&both).get("nvidia.com/gpu"), Some(&2));
    }

    #[test]
    fn zero_is_an_ask_but_no_unit() {
        let none = spec(serde_json::json!({"containers": [gpus(0)]}));
        assert!(units(&none).is_empty());
        assert_eq!(asks(&none).len(), 1);
        assert!(asks(&none)[0].is_zero());
        let odd = spec(serde_json::json!({"containers": [{"resources": {
            "limits": {"nvidia.com/gpu": 0}, "requests": {"nvidia.com/gpu": 1}}}]}));
        assert!(!asks(&odd)[0].is_zero());
    }
}
