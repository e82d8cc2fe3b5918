//! Kubernetes' own controllers against the arithmetic that the rules use: the same budgets and rollouts, and not one
//! number that differs.
//!
//! `SLUICE_CONTROLLERS=full` tries 1 000 budgets and 500 Deployments, otherwise few of each; the seed of a run is
//! printed at its beginning.

use std::collections::BTreeMap;
use std::time::Duration;

use fastrand::Rng;
use serde_json::{Value, json};
use sluice::k8s::{disruption, object, rollout};

use crate::harness::controlplane::ControlPlane;
use crate::harness::eventually::eventually;
use crate::harness::groups::{Fixture, Group};
use crate::harness::nodes::SEED;
use crate::stories;

/// Every group of this file.
pub fn group() -> Group {
    Group::new(
        "controllers",
        stories![
            budgets_expect_what_the_disruption_controller_expects,
            surges_are_rounded_as_the_deployment_controller_rounds,
        ],
    )
}

/// A control plane without nodes: Pods that wait are counted all the same.
pub struct Counting(ControlPlane);

impl Fixture for Counting {
    fn start() -> Counting {
        Counting(ControlPlane::builder().with_controller_manager().start())
    }

    fn clear(&mut self) {
        self.0.clear();
    }

    fn report(&self) -> String {
        self.0.report()
    }
}

/// Time for the controllers to have made and counted everything.
const PATIENCE: Duration = Duration::from_secs(240);
/// Objects in one request of kubectl.
const AT_ONCE: usize = 50;

fn size(full: usize, few: usize) -> usize {
    if std::env::var("SLUICE_CONTROLLERS").is_ok_and(|value| value == "full") { full } else { few }
}

fn budgets_expect_what_the_disruption_controller_expects(Counting(plane): &mut Counting) {
    let namespace = plane.namespace("budgets");
    let mut rng = Rng::with_seed(*SEED);
    let mut expected = BTreeMap::new();
    let mut objects = Vec::new();
    for index in 0..size(1000, 60) {
        let name = format!("b{index}");
        let replicas = i64::from(rng.u8(0..8));
        let spec = budget(&mut rng, &name);
        let read: object::PodDisruptionBudgetSpec = serde_json::from_value(spec.clone()).expect("a spec");
        let counted = disruption::expectation(&read, replicas, replicas).expect("a percentage");
        expected.insert(name.clone(), (counted.expected, counted.desired_healthy, spec.clone(), replicas));
        objects.push(workload(&mut rng, &name, replicas));
        objects.push(json!({"apiVersion": "policy/v1", "kind": "PodDisruptionBudget",
            "metadata": {"name": name}, "spec": spec}));
    }
    create(plane, &namespace, &objects);
    let differing = || -> Vec<String> {
        let all = plane.kubectl().get(&["pdb", "-n", &namespace])["items"].clone();
        let budgets = all.as_array().expect("a list");
        assert_eq!(budgets.len(), expected.len());
        let differs = |budget: &Value| {
            let name = budget["metadata"]["name"].as_str().expect("a name");
            let (pods, healthy, spec, replicas) = &expected[name];
            let is = (budget["status"]["expectedPods"].as_i64(), budget["status"]["desiredHealthy"].as_i64());
            let seen = budget["status"]["observedGeneration"] == budget["metadata"]["generation"];
            let same = seen && is == (Some(*pods), Some(*healthy));
            (!same).then(|| format!("{spec} over {replicas}: {is:?}, computed ({pods}, {healthy})"))
        };
        budgets.iter().filter_map(differs).collect()
    };
    settle(&differing);
}

fn surges_are_rounded_as_the_deployment_controller_rounds(Counting(plane): &mut Counting) {
    const MOST: &str = "deployment.kubernetes.io/max-replicas";
    let namespace = plane.namespace("surges");
    let mut rng = Rng::with_seed(*SEED + 1);
    let mut expected = BTreeMap::new();
    let mut objects = Vec::new();
    for index in 0..size(500, 60) {
        let name = format!("d{index}");
        let replicas = i64::from(rng.u8(1..8));
        let mut deployment = workload_of("Deployment", &name, replicas);
        if rng.u8(0..5) > 0 {
            deployment["spec"]["strategy"] =
                json!({"rollingUpdate": {"maxSurge": bound(&mut rng), "maxUnavailable": 1}});
        }
        let strategy: object::Strategy =
            serde_json::from_value(deployment["spec"]["strategy"].clone()).unwrap_or_default();
        let plan = rollout::deployment(&strategy, replicas).expect("a strategy");
        let strategy = deployment["spec"]["strategy"].clone();
        expected.insert(name, (plan.most_pods(replicas), strategy, replicas));
        objects.push(deployment);
    }
    create(plane, &namespace, &objects);
    let differing = || -> Vec<String> {
        let all = plane.kubectl().get(&["rs", "-n", &namespace])["items"].clone();
        let sets = all.as_array().expect("a list");
        let seen: BTreeMap<&str, &str> = sets
            .iter()
            .filter_map(|set| {
                let owner = set["metadata"]["ownerReferences"][0]["name"].as_str()?;
                Some((owner, set["metadata"]["annotations"][MOST].as_str()?))
            })
            .collect();
        let differs = |(name, (most, strategy, replicas)): (&String, &(i64, Value, i64))| {
            let is = seen.get(name.as_str());
            let same = is.is_some_and(|is| **is == most.to_string());
            (!same).then(|| format!("{strategy} of {replicas}: {is:?}, computed {most}"))
        };
        expected.iter().filter_map(differs).collect()
    };
    settle(&differing);
}

/// Waits until nothing differs; tells what still does.
fn settle(differing: &dyn Fn() -> Vec<String>) {
    eventually(PATIENCE, "the controllers to have counted as we do", || {
        let left = differing();
        if left.is_empty() {
            Ok(())
        } else {
            Err(format!("{} differ: {:#?}", left.len(), &left[..left.len().min(10)]))
        }
    });
}

fn create(plane: &ControlPlane, namespace: &str, objects: &[Value]) {
    for items in objects.chunks(AT_ONCE) {
        let list = json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
        plane.kubectl().run_with_input(&["create", "-n", namespace, "-f", "-"], &list).succeeded();
    }
}

fn workload(rng: &mut Rng, name: &str, replicas: i64) -> Value {
    let kind = ["Deployment", "ReplicaSet", "StatefulSet"][rng.usize(0..3)];
    workload_of(kind, name, replicas)
}

fn workload_of(kind: &str, name: &str, replicas: i64) -> Value {
    let mut workload = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": name}, "spec": {
        "replicas": replicas, "selector": {"matchLabels": {"app": name}},
        "template": {"metadata": {"labels": {"app": name}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}}});
    if kind == "StatefulSet" {
        // Ordered ones wait for the first to be Ready.
        workload["spec"]["podManagementPolicy"] = json!("Parallel");
        workload["spec"]["serviceName"] = json!(name);
    }
    workload
}

fn budget(rng: &mut Rng, name: &str) -> Value {
    let mut spec = json!({"selector": {"matchLabels": {"app": name}}});
    match rng.u8(0..9) {
        0..4 => spec["minAvailable"] = bound(rng),
        4..8 => spec["maxUnavailable"] = bound(rng),
        _ => {}
    }
    spec
}

/// A number or a percentage.
fn bound(rng: &mut Rng) -> Value {
    if rng.bool() { json!(rng.u8(0..8)) } else { json!(format!("{}%", rng.u8(0..101))) }
}
