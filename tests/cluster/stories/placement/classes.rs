//! The four shipped classes on a cluster without MIG.

use serde_json::{Value, json};
use sluice::subject::stamp;

use crate::harness::nodes::Fleet;
use crate::stories::fleet::{GUARD, a10, h100, sliced_l4, sliced_t4};
use crate::stories::gate::Gate;
use crate::stories::samples::{image, job, pod};

/// Every wrong node is open to everybody, every right one has the guard's taint: without sluice nobody reaches it.
fn fleet(gate: &Gate) -> Fleet {
    gate.fleet(vec![
        h100("whole", 8).guarded(),
        sliced_l4("sliced", 4).guarded(),
        // Too little CPU for anything but the LLM Pod, and units enough for its four cards.
        sliced_t4("open-sliced", 1).allocatable("cpu", 4),
        // Too few cards for the LLM Pod.
        a10("open-whole", 3).allocatable("cpu", 256),
    ])
}

// Long because the four classes share one cluster, one control and one table of what is expected.
pub fn each_class_lands_on_a_pool_that_can_serve_it(gate: &mut Gate) {
    let fleet = fleet(gate);
    let namespace = gate.plane.namespace("classes");
    let llm = pod("llm", image::LLM, 4).asking("1", "8Gi");
    let embedding = pod("embedding", image::EMBEDDING, 1).asking("8", "8Gi");
    let asr = pod("asr", image::ASR, 1).asking("8", "8Gi");
    let batch = job("batch", &pod("batch", image::PLAIN, 1).asking("8", "8Gi"));

    let without = gate.plane.namespace("classes-without");
    assert_eq!(gate.lands(&fleet, &without, &llm), "open-sliced", "four shares of one card");
    for one in [&embedding, &asr] {
        assert_eq!(gate.lands(&fleet, &without, one), "open-whole", "a whole card for {}", one.name());
    }
    assert_eq!(fleet.role(&gate.runs_job(&without, &batch).1), "open-whole");
    gate.remove_workloads(&without);

    gate.open();
    assert_eq!(gate.lands(&fleet, &namespace, &llm), "whole");
    for one in [&embedding, &asr] {
        assert_eq!(gate.lands(&fleet, &namespace, one), "sliced", "{}", one.name());
    }
    let (name, node) = gate.runs_job(&namespace, &batch);
    assert_eq!(fleet.role(&node), "sliced");
    for (class, name, priority, policy, pools) in [
        ("llm", "llm", 100_000, "PreemptLowerPriority", "h100-80gb-exclusive"),
        ("embedding", "embedding", 60_000, "PreemptLowerPriority", "l4-time-slicing,t4-time-slicing"),
        ("asr", "asr", 80_000, "PreemptLowerPriority", "l4-time-slicing,t4-time-slicing"),
        // Its class takes whole cards too, as the last choice: they bear the same name, and binding comes late.
        ("batch", &name, 1_000, "Never", "l4-time-slicing,t4-time-slicing,a10-exclusive,h100-80gb-exclusive"),
    ] {
        let stored = gate.stored(&namespace, name);
        let spec = &stored["spec"];
        assert_eq!(spec["priorityClassName"], format!("gpu-{class}"));
        assert_eq!((&spec["priority"], &spec["preemptionPolicy"]), (&json!(priority), &json!(policy)));
        assert_eq!(spec["schedulerName"], "sluice-scheduler");
        assert!(tolerates_guard(spec), "{spec:#}");
        let required =
            "/affinity/nodeAffinity/requiredDuringSchedulingIgnoredDuringExecution/nodeSelectorTerms";
        let terms = spec.pointer(required).and_then(Value::as_array).expect("a required affinity");
        assert_eq!(terms.len(), pools.split(',').count(), "{terms:#?}");
        let stamped = &stored["metadata"]["annotations"];
        assert_eq!((&stamped[stamp::CLASS], &stamped[stamp::POOLS]), (&json!(class), &json!(pools)));
        assert!(stamped[stamp::DECISION].as_str().is_some_and(|id| id.len() == 16), "{stamped:#}");
        assert!(stamped[stamp::REVISION].is_string(), "{stamped:#}");
    }
}

fn tolerates_guard(spec: &Value) -> bool {
    let (key, value, effect) = GUARD;
    let wanted = json!({ "key": key, "operator": "Equal", "value": value, "effect": effect });
    spec["tolerations"].as_array().is_some_and(|list| list.contains(&wanted))
}
