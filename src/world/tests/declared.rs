//! Declared pools against what nodes prove.

use serde_json::json;

use super::{names, nodes, pool, world};
use crate::{
    gpu::Mebibytes,
    k8s::{
        affinity::RequiredNodeAffinity,
        object::{NodeAffinity, PodSpec},
    },
    world::{ShapeStanding, Standing},
};

pub(super) const H100: &str = "
apiVersion: sluice.dev/v1alpha1
kind: GpuPool
metadata: {name: h100}
spec:
  nodes: [{matchLabels: {nvidia.com/gpu.product: NVIDIA-H100-80GB-HBM3}}]
  mode: exclusive
";

fn declared(name: &str, spec: &str) -> String {
    format!(
        "apiVersion: sluice.dev/v1alpha1\nkind: GpuPool\nmetadata: {{name: {name}}}\nspec:\n{spec}\n---\n"
    )
}

fn reasons(standing: &Standing) -> String {
    match standing {
        Standing::Unproven(reasons) | Standing::Contradicted(reasons) | Standing::Unmet(reasons) => {
            reasons.join("; ")
        }
        other => panic!("{other:?} gives no reason"),
    }
}

#[test]
fn a_pool_whose_nodes_prove_its_mode_is_proven() {
    let world = world(H100, &[nodes::h100("a"), nodes::h100("b")]);
    let live = pool(&world, "h100");
    assert_eq!(live.standing, Standing::Proven);
    assert_eq!(live.resources.iter().collect::<Vec<_>>(), ["nvidia.com/gpu"]);
    assert_eq!(live.memory, Some(Mebibytes(81559)));
    assert!(live.is_model("H100") && !live.is_model("H200"));
    assert_eq!(live.conflicts, Vec::<String>::new());
}

#[test]
fn mig_that_is_declared_on_cards_without_mig_is_not_proven_and_says_why() {
    let spec = "  nodes: [{matchLabels: {nvidia.com/gpu.sharing-strategy: time-slicing}}]\n  mode: mig\n  mig: {strategy: mixed, profiles: [1g.10gb]}";
    let world = world(&declared("p", spec), &[nodes::l4("a")]);
    let Standing::Unproven(reasons) = &pool(&world, "p").standing else {
        panic!("{:?}", pool(&world, "p").standing)
    };
    assert!(reasons[0].starts_with("declared mig, the nodes show time-slicing: "), "{reasons:?}");
    assert!(reasons[0].contains("L4"), "{reasons:?}");
}

#[test]
fn a_pool_has_good_and_bad_shapes() {
    let world = world(H100, &[nodes::h100("good"), nodes::h100_mig("bad")]);
    let live = pool(&world, "h100");
    assert_eq!(live.standing, Standing::Proven, "one good shape is enough");
    assert_eq!(live.shapes.len(), 2);
    let usable: Vec<_> = live.usable_shapes().collect();
    assert_eq!(usable.len(), 1);
    assert!(world.cluster.members(usable[0]).is_some_and(|names| names.contains("good")));
    let bad = world.cluster.node("bad").expect("it is there");
    assert!(matches!(live.shape_standing(&bad.shape), Some(ShapeStanding::Unproven(_))));
    assert_eq!(live.resources.iter().collect::<Vec<_>>(), ["nvidia.com/gpu"], "bad shapes add nothing");
    let elsewhere = super::picture(&[nodes::l4("x")]);
    let shape = elsewhere.shapes().next().expect("there is one");
    assert_eq!(live.shape_standing(shape), None);
}

#[test]
fn each_condition_of_use_that_does_not_hold_is_named_with_what_there_is() {
    for (requires, expected) in [
        ("models: [H200]", "needs model H200; the nodes have NVIDIA-H100-80GB-HBM3"),
        ("computeCapability: \"9.1\"", "needs compute capability 9.1 or higher; the nodes have 9.0"),
        ("memory: 100Gi", "needs memory 100Gi or more; the nodes have 81559Mi"),
        ("driver: \"580\"", "needs driver 580 or newer; the nodes have an unknown one"),
        ("kubernetes: \"1.38\"", "needs kubelet 1.38 or newer; the nodes have 1.37"),
        ("dra: true", "needs DRA; no GPU driver publishes ResourceSlices for these nodes"),
    ] {
        let policy =
            H100.replace("  mode: exclusive", &format!("  mode: exclusive\n  requires: {{{requires}}}"));
        let world = world(&policy, &[nodes::h100("a")]);
        assert_eq!(reasons(&pool(&world, "h100").standing), expected);
    }
    let fulfilled = "  mode: exclusive\n  requires: {models: [H200, H100], memory: 70Gi, kubernetes: \"1.37\", computeCapability: \"9.0\"}";
    let world = world(&H100.replace("  mode: exclusive", fulfilled), &[nodes::h100("a")]);
    assert_eq!(pool(&world, "h100").standing, Standing::Proven);
}

#[test]
fn a_pool_without_nodes_offers_what_it_declares() {
    let spec = |rest: &str| format!("  nodes: [{{matchLabels: {{pool: p}}}}]\n{rest}");
    for (rest, autoscaled, resources) in [
        ("  mode: exclusive\n  autoscaling: {min: 0, max: 3}", true, "nvidia.com/gpu"),
        ("  mode: exclusive", false, "nvidia.com/gpu"),
        ("  mode: mig\n  mig: {strategy: single, profiles: [1g.10gb]}", false, "nvidia.com/gpu"),
        (
            "  mode: mig\n  mig: {strategy: mixed, profiles: [1g.10gb, 3g.40gb]}",
            false,
            "nvidia.com/mig-1g.10gb nvidia.com/mig-3g.40gb",
        ),
        (
            "  mode: time-slicing\n  resource: nvidia.com/gpu.shared\n  timeSlicing: {replicas: 4}",
            false,
            "nvidia.com/gpu.shared",
        ),
    ] {
        let world = world(&declared("p", &spec(rest)), &[]);
        let live = pool(&world, "p");
        assert_eq!(live.standing, Standing::Empty { autoscaled }, "{rest}");
        assert_eq!(live.resources.iter().cloned().collect::<Vec<_>>().join(" "), resources, "{rest}");
        assert!(live.is_empty());
    }
}

#[test]
fn a_declared_resource_that_nobody_advertises_proves_nothing() {
    let policy = H100.replace("  mode: exclusive", "  mode: exclusive\n  resource: nvidia.com/gpu.shared");
    let world = world(&policy, &[nodes::h100("a")]);
    let text = reasons(&pool(&world, "h100").standing);
    assert_eq!(text, "nvidia.com/gpu.shared is declared, and no node advertises it");
}

#[test]
fn two_pools_that_claim_the_same_nodes_are_in_conflict_and_both_say_so() {
    let other =
        H100.replace("name: h100", "name: other").replace("mode: exclusive", "mode: exclusive\n  cost: 2");
    let both = format!("{H100}---{other}");
    // The loader refuses pools that overlap for certain, so the picture is asked with sets made by hand.
    let mut set = super::policy_set(H100);
    let second = super::policy_set(&other);
    set.pools.extend(second.pools.iter().cloned());
    drop(both);
    let world = super::World::new(std::sync::Arc::new(set), super::picture(&[nodes::h100("a")]));
    assert_eq!(pool(&world, "h100").conflicts, ["pool other claims the same nodes, such as a"]);
    assert_eq!(pool(&world, "other").conflicts, ["pool h100 claims the same nodes, such as a"]);
    let node = world.cluster.node("a").expect("it is there");
    assert_eq!(world.pools.of_shape(&node.shape).len(), 2);
}

#[test]
fn what_is_declared_otherwise_than_it_is_is_a_conflict() {
    let spec = "  nodes: [{matchLabels: {nvidia.com/gpu.product: NVIDIA-L4}}]\n  mode: time-slicing\n  timeSlicing: {replicas: 8}";
    let world = world(&declared("p", spec), &[nodes::l4("a")]);
    assert_eq!(pool(&world, "p").conflicts, ["8 replicas are declared, the nodes show 4"]);
    assert_eq!(pool(&world, "p").standing, Standing::Proven);
}

#[test]
fn sources_that_disagree_contradict_the_pool() {
    let mut liar = nodes::h100("a");
    liar["metadata"]["labels"]["nvidia.com/gpu.sharing-strategy"] = json!("time-slicing");
    liar["metadata"]["labels"]["cloud.google.com/gke-gpu-sharing-strategy"] = json!("mps");
    liar["metadata"]["labels"]["cloud.google.com/gke-accelerator"] = json!("nvidia-h100-80gb");
    let world = world(H100, &[liar]);
    let live = pool(&world, "h100");
    assert!(live.usable_shapes().next().is_none());
    assert_ne!(live.standing, Standing::Proven);
}

#[test]
fn nodes_of_a_declared_pool_are_in_no_discovered_one() {
    let world = world(H100, &[nodes::h100("a"), nodes::l4("b")]);
    let all: Vec<_> =
        world.pools.iter().map(|live| (live.pool.name.to_string(), names(&world, live))).collect();
    assert_eq!(
        all,
        [("h100".to_owned(), vec!["a".to_owned()]), ("l4-time-slicing".to_owned(), vec!["b".to_owned()])]
    );
}

#[test]
fn a_constraint_can_meet_a_pool_to_come_unless_its_terms_rule_it_out() {
    let spec = "  nodes: [{matchLabels: {pool: p}, matchExpressions: [{key: spot, operator: DoesNotExist}]}]\n  mode: exclusive\n  autoscaling: {min: 0, max: 3}";
    let world = world(&declared("p", spec), &[]);
    let live = pool(&world, "p");
    for (spec, meets) in [
        (json!({}), true),
        (json!({"nodeSelector": {"pool": "p"}}), true),
        (json!({"nodeSelector": {"pool": "other"}}), false),
        (json!({"nodeSelector": {"zone": "a"}}), true),
        (json!({"nodeSelector": {"spot": "true"}}), false),
        (
            required(
                json!([{"matchExpressions": [{"key": "pool", "operator": "In", "values": ["x", "p"]}]}]),
            ),
            true,
        ),
        (
            required(json!([{"matchExpressions": [{"key": "pool", "operator": "NotIn", "values": ["p"]}]}])),
            false,
        ),
        (
            required(json!([{"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}])),
            false,
        ),
        (required(json!([{}])), false),
        (required(json!([])), false),
    ] {
        let spec: PodSpec = serde_json::from_value(spec).expect("a Pod spec");
        let NodeAffinity { required, .. } = &spec.affinity.node_affinity;
        let affinity = RequiredNodeAffinity::new(&spec.node_selector, required.as_ref());
        assert_eq!(live.declared_labels_match(&affinity), meets, "{spec:?}");
    }
}

fn required(terms: serde_json::Value) -> serde_json::Value {
    json!({"affinity": {"nodeAffinity":
        {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}})
}
