//! Pools as policy files: what `sluice pools -o yaml` prints to start from.

use serde_json::{Map, Value, json};

use crate::{
    gpu::Mode,
    k8s::object::{Expression, NodeSelectorTerm},
    policy::{Pool, Requires},
    world::World,
};

/// Every pool as a `GpuPool` document. Discovered pools that cannot be selected by labels are left out: a
/// file cannot declare them.
#[must_use]
pub fn pools_as_policies(world: &World) -> Vec<Value> {
    world.pools.iter().filter(|live| !live.pool.nodes.is_empty()).map(|live| document(&live.pool)).collect()
}

fn document(pool: &Pool) -> Value {
    let mut spec = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            spec.insert(key.to_owned(), value);
        }
    };
    put("nodes", Some(pool.nodes.iter().map(term).collect()));
    put("mode", Some(json!(pool.mode)));
    put("resource", pool.resource.as_ref().map(|resource| json!(resource)));
    put("deviceClass", pool.device_class.as_ref().map(|class| json!(class)));
    match pool.mode {
        Mode::TimeSlicing => put("timeSlicing", shared(pool)),
        Mode::Mps => put("mps", shared(pool)),
        _ => {}
    }
    put("mig", pool.mig.as_ref().map(|mig| json!({"strategy": mig.strategy, "profiles": mig.profiles})));
    put("cardsPerNode", pool.cards_per_node.map(|cards| json!(cards)));
    let taints: Vec<Value> = pool.taints.iter().map(taint).collect();
    put("taints", (!taints.is_empty()).then(|| json!(taints)));
    put("autoscaling", pool.autoscaling.map(|bounds| json!({"min": bounds.min, "max": bounds.max})));
    put("requires", requires(&pool.requires));
    put("cost", pool.cost.map(|cost| json!(cost)));
    json!({
        "apiVersion": "sluice.dev/v1alpha1",
        "kind": "GpuPool",
        "metadata": {"name": pool.name},
        "spec": spec,
    })
}

fn shared(pool: &Pool) -> Option<Value> {
    let mut units = json!({"replicas": pool.replicas?});
    if let Some(fail) = pool.fail_requests_greater_than_one {
        units["failRequestsGreaterThanOne"] = json!(fail);
    }
    Some(units)
}

/// `matchLabels` is the short form for `In` with one value.
fn term(term: &NodeSelectorTerm) -> Value {
    let mut labels = Map::new();
    let mut expressions = Vec::new();
    for expression in &term.match_expressions {
        match expression.values.as_slice() {
            [value] if expression.operator == "In" && !labels.contains_key(&expression.key) => {
                labels.insert(expression.key.clone(), json!(value));
            }
            _ => expressions.push(written(expression)),
        }
    }
    let mut document = Map::new();
    if !labels.is_empty() {
        document.insert("matchLabels".to_owned(), Value::Object(labels));
    }
    if !expressions.is_empty() {
        document.insert("matchExpressions".to_owned(), json!(expressions));
    }
    if !term.match_fields.is_empty() {
        let fields: Vec<Value> = term.match_fields.iter().map(written).collect();
        document.insert("matchFields".to_owned(), json!(fields));
    }
    Value::Object(document)
}

fn written(Expression { key, operator, values }: &Expression) -> Value {
    if values.is_empty() {
        json!({"key": key, "operator": operator})
    } else {
        json!({"key": key, "operator": operator, "values": values})
    }
}

fn taint(taint: &crate::k8s::object::Taint) -> Value {
    let mut document = json!({"key": taint.key});
    if !taint.value.is_empty() {
        document["value"] = json!(taint.value);
    }
    document["effect"] = json!(taint.effect);
    document
}

fn requires(requires: &Requires) -> Option<Value> {
    if *requires == Requires::default() {
        return None;
    }
    let dotted = |(major, minor): (u32, u32)| json!(format!("{major}.{minor}"));
    let mut document = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            document.insert(key.to_owned(), value);
        }
    };
    put("models", (!requires.models.is_empty()).then(|| json!(requires.models)));
    put("computeCapability", requires.compute_capability.map(dotted));
    put("memory", requires.memory.map(|memory| json!(memory.to_string())));
    put(
        "driver",
        requires
            .driver
            .as_ref()
            .map(|parts| json!(parts.iter().map(u32::to_string).collect::<Vec<_>>().join("."))),
    );
    put("kubernetes", requires.kubernetes.map(dotted));
    put("dra", requires.dra.then(|| json!(true)));
    Some(Value::Object(document))
}
