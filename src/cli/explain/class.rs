//! `sluice explain CLASS`.

use serde_json::{Value, json};

use crate::{
    decide::pools_of,
    policy::{Class, PoolTerm, Recognizer},
    report::explain::otherwise,
    subject::CLASS_LABEL,
    world::World,
};

/// The class in words.
pub(super) fn text(world: &World, class: &Class) -> String {
    let mut lines = vec![
        format!("class {}", class.name),
        String::new(),
        "recognised by, the strongest first:".to_owned(),
    ];
    lines.extend(ways(class).into_iter().map(|way| format!("  {way}")));
    let hints: Vec<String> = class.hints.iter().map(way).collect();
    if !hints.is_empty() {
        lines.push("where nothing else speaks:".to_owned());
        lines.extend(hints.into_iter().map(|hint| format!("  {hint}")));
    }
    lines.push(format!("needs: {}", needs(class).join(", ")));
    lines.push("pools, in order of preference:".to_owned());
    for (index, term) in class.terms.iter().enumerate() {
        lines.push(format!("  {}. {term}: {}", index + 1, now(world, term)));
    }
    lines.push(format!("  otherwise: {}", otherwise(class.fallback)));
    lines.extend(rest(class));
    lines.join("\n") + "\n"
}

/// The class for programs.
pub(super) fn json(world: &World, class: &Class) -> Value {
    let terms = class.terms.iter().map(|term| {
        let pools: Vec<&str> = pools_of(world, term).map(|live| &*live.pool.name).collect();
        json!({"term": term.to_string(), "pools": pools})
    });
    json!({
        "class": class.name,
        "recognizedBy": ways(class),
        "hints": class.hints.iter().map(way).collect::<Vec<_>>(),
        "needs": needs(class),
        "terms": terms.collect::<Vec<_>>(),
        "otherwise": otherwise(class.fallback),
        "priorityClass": class.priority_class,
        "startupBudgetSeconds": class.startup_budget,
        "rewritesResource": class.rewrite.resource,
        "protected": class.disruption.protected,
    })
}

fn ways(class: &Class) -> Vec<String> {
    let label = format!("label {CLASS_LABEL}: {}", class.name);
    std::iter::once(label).chain(class.recognition.iter().map(way)).collect()
}

fn way(recognizer: &Recognizer) -> String {
    match recognizer {
        Recognizer::Cel(expression) => format!("cel {}", expression.source),
        Recognizer::Labels(selector) => format!("labels {}", selector.keys().collect::<Vec<_>>().join(", ")),
        Recognizer::Arguments(words) => format!("arguments {}", words.join(", ")),
        Recognizer::Program(words) => format!("programs {}", words.join(", ")),
        Recognizer::Image(images) => format!("images {}", images.join(", ")),
        Recognizer::Owner(kinds) => format!("owners {}", kinds.join(", ")),
    }
}

fn needs(class: &Class) -> Vec<String> {
    let needs: Vec<String> = [
        class.isolation.memory.then(|| "isolated memory".to_owned()),
        class.isolation.fault.then(|| "isolated faults".to_owned()),
        class.memory.map(|memory| format!("{memory} of GPU memory")),
    ]
    .into_iter()
    .flatten()
    .collect();
    if needs.is_empty() { vec!["a GPU, however it is shared".to_owned()] } else { needs }
}

/// The pools of a term in this World.
fn now(world: &World, term: &PoolTerm) -> String {
    if world.pools.iter().next().is_none() {
        return "no pool is known; give --cluster or --context".to_owned();
    }
    let pools: Vec<String> = pools_of(world, term)
        .map(|live| format!("{} ({} nodes)", live.pool.name, live.node_count(&world.cluster)))
        .collect();
    if pools.is_empty() { "no pool now".to_owned() } else { pools.join(", ") }
}

fn rest(class: &Class) -> Vec<String> {
    let with = class.sharing.with.as_ref().map(|with| match with.len() {
        0 => "shares a card with nobody".to_owned(),
        _ => format!("shares a card with {}", with.iter().map(|name| &**name).collect::<Vec<_>>().join(", ")),
    });
    [
        class.priority_class.as_ref().map(|name| format!("priority: {name}")),
        class.startup_budget.map(|seconds| format!("startup budget: {seconds} s")),
        with,
        class.sharing.max_tenants.map(|most| format!("at most {most} tenants a card")),
        class.disruption.protected.then(|| "protected from preemption".to_owned()),
        class.rewrite.resource.then(|| "the GPU resource name may be rewritten to the pool's".to_owned()),
    ]
    .into_iter()
    .flatten()
    .collect()
}
