//! `sluice pools`: which pools there are, what each can do, and how that is known.

use std::{io::Write, process::ExitCode};

use clap::ValueEnum;
use serde_json::{Value, json};

use super::{output, world};
use crate::{
    k8s::yaml,
    report::table,
    world::{LivePool, Standing, World, pools_as_policies},
};

/// Show the GPU pools of a cluster: declared ones, and those found by what nodes advertise
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice pools --cluster cluster.yaml
  sluice pools --context prod
  sluice pools --context prod -o yaml > policies/pools/found.yaml   # policy files to start from
  sluice pools --cluster cluster.yaml -o json | jq '.pools[] | select(.usable | not)'")]
pub(super) struct Arguments {
    #[command(flatten)]
    world: world::WorldArguments,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// As GpuPool files
    Yaml,
    /// Everything that is known
    Json,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.world.need_cluster()?;
    let world = arguments.world.world()?;
    let mut out = output::standard();
    match arguments.output {
        Form::Table => as_table(&mut out, &world)?,
        Form::Yaml => as_policies(&mut out, &world)?,
        Form::Json => {
            serde_json::to_writer_pretty(&mut out, &as_json(&world))?;
            writeln!(out)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn as_table(out: &mut impl Write, world: &World) -> anyhow::Result<()> {
    let rows = world.pools.iter().map(|live| {
        let memory = live.memory.map_or_else(|| "-".to_owned(), |memory| memory.to_string());
        let model = live.model.as_ref().map_or_else(|| "-".to_owned(), ToString::to_string);
        vec![
            live.pool.name.to_string(),
            live.pool.mode.to_string(),
            origin(live).to_owned(),
            live.node_count(&world.cluster).to_string(),
            live.resources.iter().cloned().collect::<Vec<_>>().join(","),
            model,
            memory,
            standing(&live.standing).0.to_owned(),
        ]
    });
    table::columns(
        out,
        &["POOL", "MODE", "ORIGIN", "NODES", "RESOURCES", "MODEL", "UNIT MEMORY", "STATE"],
        rows,
    )?;
    for live in world.pools.iter() {
        writeln!(out, "\n{}", live.pool.name)?;
        for line in facts(live) {
            writeln!(out, "  {line}")?;
        }
    }
    for outside in world.pools.outside() {
        let nodes = world.cluster.members(&outside.shape).map_or(0, |nodes| nodes.iter().count());
        writeln!(out, "\n{nodes} GPU nodes make no pool: {}", outside.reason)?;
    }
    if world.pools.iter().next().is_none() {
        writeln!(out, "no pool: no node of the cluster advertises a GPU, and no policy declares one")?;
    }
    Ok(())
}

/// A pool in words, for `sluice explain POOL`.
pub(super) fn text(live: &LivePool, world: &World) -> String {
    let mut lines = vec![
        format!("pool {}, {}, {}", live.pool.name, origin(live), standing(&live.standing).0),
        String::new(),
        format!("nodes: {}", live.node_names(&world.cluster).join(", ")),
        format!("resources: {}", live.resources.iter().cloned().collect::<Vec<_>>().join(", ")),
    ];
    lines.extend(live.model.as_ref().map(|model| format!("model: {model}")));
    lines.extend(live.memory.map(|memory| format!("memory of a unit: {memory}")));
    let taints = live.guarding_taints();
    lines.extend(taints.iter().map(|taint| format!("taint: {}={}:{}", taint.key, taint.value, taint.effect)));
    lines.extend(facts(live));
    let accept = |class: &&std::sync::Arc<crate::policy::Class>| {
        class
            .terms
            .iter()
            .any(|term| crate::decide::pools_of(world, term).any(|of| of.pool.name == live.pool.name))
    };
    let classes: Vec<&str> = world.policies.classes.iter().filter(accept).map(|class| &*class.name).collect();
    lines.push(format!(
        "classes that want it: {}",
        if classes.is_empty() { "none".to_owned() } else { classes.join(", ") }
    ));
    lines.join("\n") + "\n"
}

/// How the mode is known, what the cards can do of MIG, and what speaks against the pool.
fn facts(live: &LivePool) -> Vec<String> {
    let mut facts: Vec<String> = live.why().into_iter().map(|why| format!("mode: {why}")).collect();
    facts.extend(live.mig().into_iter().map(|mig| format!("MIG:  {mig}")));
    facts.extend(standing(&live.standing).1.iter().map(|reason| format!("not usable: {reason}")));
    facts.extend(live.conflicts.iter().map(|conflict| format!("conflict: {conflict}")));
    facts
}

const fn origin(live: &LivePool) -> &'static str {
    if live.declared { "declared" } else { "discovered" }
}

fn standing(standing: &Standing) -> (&'static str, &[String]) {
    match standing {
        Standing::Proven => ("usable", &[]),
        Standing::Empty { autoscaled: true } => ("empty, autoscaled", &[]),
        Standing::Empty { autoscaled: false } => ("empty", &[]),
        Standing::Unproven(reasons) => ("unproven", reasons),
        Standing::Contradicted(reasons) => ("contradicted", reasons),
        Standing::Unmet(reasons) => ("requirements unmet", reasons),
    }
}

fn as_policies(out: &mut impl Write, world: &World) -> anyhow::Result<()> {
    for (index, document) in pools_as_policies(world).iter().enumerate() {
        if index > 0 {
            writeln!(out, "---")?;
        }
        write!(out, "{}", yaml::to_text(document)?)?;
    }
    for live in world.pools.iter().filter(|live| live.pool.nodes.is_empty()) {
        output::say(&format!(
            "note: {} is left out: no labels tell its nodes from others; label them first",
            live.pool.name
        ));
    }
    Ok(())
}

fn as_json(world: &World) -> Value {
    let pools: Vec<Value> = world.pools.iter().map(|live| pool(live, world)).collect();
    let outside: Vec<Value> = world
        .pools
        .outside()
        .iter()
        .map(|outside| {
            let nodes: Vec<String> = world
                .cluster
                .members(&outside.shape)
                .into_iter()
                .flat_map(|nodes| nodes.iter().map(ToString::to_string))
                .collect();
            json!({"nodes": nodes, "reason": outside.reason})
        })
        .collect();
    json!({
        "apiVersion": crate::report::json::API_VERSION,
        "kind": "PoolReport",
        "revision": world.revision(),
        "pools": pools,
        "outside": outside,
    })
}

/// Everything that is known of a pool.
pub(super) fn pool(live: &LivePool, world: &World) -> Value {
    let (state, reasons) = standing(&live.standing);
    let nodes: Vec<String> = live.node_names(&world.cluster).iter().map(ToString::to_string).collect();
    json!({
        "name": live.pool.name,
        "mode": live.pool.mode,
        "origin": origin(live),
        "nodes": nodes,
        "resources": live.resources,
        "model": live.model.as_ref().map(ToString::to_string),
        "unitMemory": live.memory.map(|memory| memory.to_string()),
        "usable": live.standing == Standing::Proven,
        "state": state,
        "reasons": reasons,
        "evidence": live.why(),
        "mig": live.mig(),
        "conflicts": live.conflicts,
    })
}
