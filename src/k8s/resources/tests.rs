use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;

fn pod(spec: Value) -> PodResources {
    let spec: PodSpec = serde_json::from_value(spec).expect("a Pod spec");
    PodResources::written(&spec)
}

fn amounts_of(pairs: &[(&str, &str)]) -> Amounts {
    pairs.iter().map(|(name, text)| ((*name).to_owned(), text.parse().expect("a quantity"))).collect()
}

fn asks(gpus: u32) -> Value {
    json!({"resources": {"requests": {"nvidia.com/gpu": gpus}, "limits": {"nvidia.com/gpu": gpus}}})
}

fn sidecar(gpus: u32) -> Value {
    let mut container = asks(gpus);
    container["restartPolicy"] = json!("Always");
    container
}

fn gpus(init: &[Value], containers: &[Value]) -> i64 {
    let requests = pod(json!({"initContainers": init, "containers": containers})).requests();
    requests.get("nvidia.com/gpu").copied().unwrap_or_default().value()
}

#[test]
fn containers_add_up_and_init_containers_count_one_at_a_time() {
    assert_eq!(gpus(&[], &[asks(1)]), 1);
    assert_eq!(gpus(&[], &[asks(1), asks(2)]), 3);
    assert_eq!(gpus(&[asks(1)], &[asks(1)]), 1, "an init container reuses what the main one will hold");
    assert_eq!(gpus(&[asks(4), asks(2)], &[asks(1)]), 4);
    assert_eq!(gpus(&[asks(2)], &[asks(1), asks(1)]), 2);
    assert_eq!(gpus(&[], &[json!({}), asks(1)]), 1);
    assert_eq!(gpus(&[asks(1)], &[]), 1);
}

#[test]
fn sidecars_run_beside_what_starts_after_them() {
    assert_eq!(gpus(&[sidecar(1)], &[asks(1)]), 2);
    assert_eq!(
        gpus(&[sidecar(1), asks(3)], &[asks(1)]),
        4,
        "the sidecar is up while the init container runs"
    );
    assert_eq!(
        gpus(&[asks(3), sidecar(1)], &[asks(1)]),
        3,
        "the init container is gone before the sidecar starts"
    );
    assert_eq!(gpus(&[sidecar(1), sidecar(2), asks(1)], &[]), 4);
    assert_eq!(gpus(&[sidecar(1), asks(1), sidecar(1), asks(1)], &[asks(2)]), 4);
}

#[test]
fn each_resource_has_its_own_maximum() {
    let resources = pod(json!({
        "initContainers": [{"resources": {"requests": {"cpu": "4", "memory": "1Gi"}}}],
        "containers": [{"resources": {"requests": {"cpu": "500m", "memory": "8Gi", "nvidia.com/gpu": 1}}}],
    }));
    assert_eq!(resources.requests(), amounts_of(&[("cpu", "4"), ("memory", "8Gi"), ("nvidia.com/gpu", "1")]));
}

#[test]
fn the_init_phase_is_told_step_by_step() {
    let resources = pod(json!({"initContainers": [asks(2), sidecar(1), asks(3)], "containers": [asks(1)]}));
    let phases: Vec<i64> =
        resources.init_phases(Side::Limits).iter().map(|phase| phase["nvidia.com/gpu"].value()).collect();
    assert_eq!(phases, [2, 1, 4]);
    assert_eq!(resources.running(Side::Limits), amounts_of(&[("nvidia.com/gpu", "2")]));
}

#[test]
fn ephemeral_containers_never_count() {
    let resources = pod(json!({"containers": [asks(1)], "ephemeralContainers": [asks(5)]}));
    assert_eq!(resources.requests(), amounts_of(&[("nvidia.com/gpu", "1")]));
}

#[test]
fn pod_level_values_replace_sums_of_cpu_memory_and_hugepages_only() {
    let resources = pod(json!({
        "resources": {
            "requests": {"cpu": "2", "hugepages-2Mi": "8Mi", "nvidia.com/gpu": 8, "ephemeral-storage": "1Gi"},
            "limits": {"cpu": "3", "nvidia.com/gpu": 8},
        },
        "containers": [{"resources": {
            "requests": {"cpu": "4", "memory": "1Gi", "hugepages-2Mi": "2Mi", "nvidia.com/gpu": 1},
            "limits": {"cpu": "5", "nvidia.com/gpu": 1},
        }}],
    }));
    let requests =
        amounts_of(&[("cpu", "2"), ("memory", "1Gi"), ("hugepages-2Mi", "8Mi"), ("nvidia.com/gpu", "1")]);
    assert_eq!(resources.requests(), requests);
    assert_eq!(resources.limits(), amounts_of(&[("cpu", "3"), ("nvidia.com/gpu", "1")]));
}

#[test]
fn overhead_comes_on_top_and_raises_only_limits_that_exist() {
    let resources = pod(json!({
        "overhead": {"cpu": "250m", "memory": "100Mi", "example.com/token": "1"},
        "resources": {"requests": {"cpu": "2"}},
        "containers": [{"resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "1", "memory": "0"}}}],
    }));
    assert_eq!(
        resources.requests(),
        amounts_of(&[("cpu", "2250m"), ("memory", "100Mi"), ("example.com/token", "1")])
    );
    assert_eq!(resources.limits(), amounts_of(&[("cpu", "1250m"), ("memory", "0")]));
}

#[test]
fn a_missing_request_is_the_limit() {
    let written = pod(json!({
        "initContainers": [{"resources": {"limits": {"nvidia.com/gpu": 2}}}],
        "containers": [{"resources": {"limits": {"nvidia.com/gpu": 1, "cpu": "2"}, "requests": {"cpu": "0"}}}],
    }));
    assert_eq!(written.requests(), amounts_of(&[("cpu", "0")]));
    assert_eq!(written.with_defaults().requests(), amounts_of(&[("cpu", "0"), ("nvidia.com/gpu", "2")]));
}

#[test]
fn pod_level_gaps_are_filled_from_the_containers_then_from_the_limits() {
    let container = json!({"resources": {
        "requests": {"cpu": "1", "hugepages-2Mi": "4Mi"}, "limits": {"cpu": "2", "hugepages-2Mi": "4Mi"},
    }});
    let pod_level = |resources: Value| {
        pod(json!({"resources": resources, "containers": [container, container]})).with_defaults().pod_level
    };
    let demand = |requests: &[(&str, &str)], limits: &[(&str, &str)]| Demand {
        requests: amounts_of(requests),
        limits: amounts_of(limits),
    };
    assert_eq!(pod_level(json!({})), Demand::default(), "nothing is filled in where nothing is set");
    assert_eq!(
        pod_level(json!({"limits": {"cpu": "5", "memory": "1Gi"}})),
        demand(
            &[("cpu", "2"), ("memory", "1Gi"), ("hugepages-2Mi", "8Mi")],
            &[("cpu", "5"), ("memory", "1Gi"), ("hugepages-2Mi", "8Mi")],
        ),
    );
    assert_eq!(
        pod_level(json!({"requests": {"cpu": "6"}})).limits,
        amounts_of(&[("cpu", "6"), ("hugepages-2Mi", "8Mi")]),
        "every container has a cpu limit, but their sum is below the request",
    );
    assert_eq!(
        pod_level(json!({"requests": {"memory": "1Gi"}})),
        demand(
            &[("memory", "1Gi"), ("cpu", "2"), ("hugepages-2Mi", "8Mi")],
            &[("cpu", "4"), ("hugepages-2Mi", "8Mi")],
        ),
        "no container limits memory, so the Pod gets no limit either",
    );
}

#[test]
fn what_is_no_quantity_counts_nothing_and_is_told_with_its_path() {
    let resources = pod(json!({
        "containers": [{}, {"resources": {"limits": {"memory": "16GB", "cpu": "1"}}}],
        "initContainers": [{"resources": {"requests": {"cpu": "one"}}}],
        "overhead": {"cpu": ""},
    }));
    let paths: Vec<_> = resources.unreadable.iter().map(|u| u.path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "spec.containers[1].resources.limits[memory]",
            "spec.initContainers[0].resources.requests[cpu]",
            "spec.overhead[cpu]",
        ],
    );
    assert_eq!(resources.limits(), amounts_of(&[("cpu", "1")]));
}

#[test]
fn a_resource_with_nothing_behind_it_is_zero() {
    let resources =
        pod(json!({"containers": [{"resources": {"limits": {"nvidia.com/gpu": null, "cpu": 2}}}]}));
    assert_eq!(resources.limits(), amounts_of(&[("cpu", "2"), ("nvidia.com/gpu", "0")]));
    assert_eq!(resources.unreadable, []);
}

fn any_container() -> impl Strategy<Value = ContainerDemand> {
    (any::<bool>(), prop::collection::btree_map("[abc]", 0i64..5, 0..3)).prop_map(|(sidecar, requests)| {
        let requests: Amounts = requests.into_iter().map(|(name, n)| (name, Quantity::whole(n))).collect();
        let demand = Demand { limits: requests.clone(), requests };
        ContainerDemand { name: String::new(), sidecar, demand }
    })
}

proptest! {
    #[test]
    fn a_pod_never_asks_for_less_than_any_moment_of_its_life(
        containers in prop::collection::vec(any_container(), 0..4),
        init_containers in prop::collection::vec(any_container(), 0..4),
    ) {
        let resources = PodResources { containers, init_containers, ..Default::default() };
        let total = resources.requests();
        let mut moments = resources.init_phases(Side::Requests);
        moments.push(resources.running(Side::Requests));
        for moment in &moments {
            for (name, amount) in moment {
                prop_assert!(total[name] >= *amount, "{} in {:?}", name, moment);
            }
        }
        for (name, amount) in &total {
            prop_assert!(moments.iter().any(|m| m.get(name) == Some(amount)), "{} is never held", name);
        }
        prop_assert_eq!(&total, &resources.limits());
        prop_assert_eq!(&total, &resources.clone().with_defaults().requests());
    }
}
