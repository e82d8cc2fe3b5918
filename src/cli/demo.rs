//! `sluice demo`: the main job on this machine, with nothing to set up. The real server answers on loopback
//! over TLS; only the API server and the scheduler are played, by the requests that they would send.

mod client;
mod print;
mod story;

use std::{io::Write, net::SocketAddr, path::PathBuf, process::ExitCode, sync::Arc, time::Duration};

use anyhow::Context;
use serde_json::Value;

use self::{client::Client, story::Story};
use super::{REFUSED, cases, input, output, world};
use crate::{
    k8s::yaml,
    policy,
    report::{policy_tests::Difference, table},
    rules,
    serve::{Fixed, Options, Server},
    telemetry::{self, Telemetry},
    world::World,
};

/// Play the main job on this machine: sample cluster, sample Pods, the real server
///
/// Starts the server on loopback with the built-in policies and a sample cluster of four GPU pools, sends the
/// Pods of policies/tests/demo through webhooks and extender, and prints what happens to each. Goes on serving
/// then, so that you can send Pods of your own.
#[derive(Debug, clap::Args)]
#[command(after_help = "Exit status: 0 if everything went as the cases expect, 1 otherwise.

Examples:
  sluice demo --once
  sluice demo --cluster my-cluster.yaml    # the same Pods on what `sluice snapshot` wrote")]
pub(super) struct Arguments {
    /// End after the table instead of serving on
    #[arg(long)]
    once: bool,
    /// Another cluster than the sample one
    #[arg(long, value_name = "FILE")]
    cluster: Option<PathBuf>,
    /// Where to serve; port 0 for any
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0")]
    address: SocketAddr,
}

const CLUSTER: (&str, &str) = (
    "policies/tests/clusters/four-pools.yaml",
    include_str!("../../policies/tests/clusters/four-pools.yaml"),
);

/// The sample cluster, as the cases name it.
const CLUSTER_OF_CASES: &str = "../clusters/four-pools.yaml";

const CASES: [(&str, &str); 8] = [
    ("policies/tests/demo/llm.yaml", include_str!("../../policies/tests/demo/llm.yaml")),
    ("policies/tests/demo/embedding.yaml", include_str!("../../policies/tests/demo/embedding.yaml")),
    ("policies/tests/demo/asr.yaml", include_str!("../../policies/tests/demo/asr.yaml")),
    ("policies/tests/demo/batch.yaml", include_str!("../../policies/tests/demo/batch.yaml")),
    ("policies/tests/demo/two-problems.yaml", include_str!("../../policies/tests/demo/two-problems.yaml")),
    ("policies/tests/demo/no-mig.yaml", include_str!("../../policies/tests/demo/no-mig.yaml")),
    ("policies/tests/demo/no-such-node.yaml", include_str!("../../policies/tests/demo/no-such-node.yaml")),
    ("policies/tests/demo/two-shares.yaml", include_str!("../../policies/tests/demo/two-shares.yaml")),
];

/// One line of the table.
struct Row {
    name: String,
    seen: super::cases::Seen,
    differences: Vec<Difference>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let runtime = tokio::runtime::Runtime::new().context("no threads for the server")?;
    runtime.block_on(play(arguments))
}

async fn play(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let world = Arc::new(world_of(arguments)?);
    let options = Options { address: arguments.address, ..Options::on_loopback() };
    let telemetry = Arc::new(Telemetry::new(telemetry::Options::default()));
    let server = Server::start(options, Arc::new(Fixed::new(world.clone())), telemetry)
        .await
        .context("the server does not start")?;
    let base = format!("https://{}", server.addresses().main);
    let client =
        Client::new(base.clone(), server.ca_pem().context("the server has no authority of its own")?)?;
    let mut out = output::standard();
    introduce(&mut out, &world)?;
    let mut rows = Vec::new();
    for (file, text) in CASES {
        let case = cases::read(file, text)?;
        anyhow::ensure!(
            case.spec.cluster.as_deref() == Some(CLUSTER_OF_CASES),
            "{file} wants another cluster than {}",
            CLUSTER.0
        );
        for (pod, expected) in case.spec.manifests.iter().zip(&case.spec.expect) {
            let story = story::tell(&client, &world, pod).await.with_context(|| file.to_owned())?;
            print::story(&mut out, &case.metadata.name, &case.spec.description, &story)?;
            let Story { seen, .. } = story;
            let differences = cases::differences(expected, &seen);
            rows.push(Row { name: case.metadata.name.clone(), seen, differences });
        }
    }
    let as_expected = conclude(&mut out, &rows)?;
    if !arguments.once {
        invite(&mut out, &base, &server)?;
        drop(out);
        tokio::signal::ctrl_c().await.context("Ctrl-C cannot be waited for")?;
    }
    server.shutdown(Duration::ZERO).await;
    Ok(if as_expected { ExitCode::SUCCESS } else { ExitCode::from(REFUSED) })
}

fn world_of(arguments: &Arguments) -> anyhow::Result<World> {
    let (file, objects) = match &arguments.cluster {
        Some(file) => (file.to_string_lossy().into_owned(), input::objects_of(file)?),
        None => (CLUSTER.0.to_owned(), sample_objects()?),
    };
    let cluster = world::cluster_of(&file, objects)?;
    Ok(World::new(Arc::new(policy::built_in(&rules::ids())), cluster))
}

fn sample_objects() -> anyhow::Result<Vec<Value>> {
    let (file, text) = CLUSTER;
    yaml::documents(text)
        .map(|document| {
            document.map(|document| document.value).map_err(|fault| anyhow::anyhow!("{file}:{fault}"))
        })
        .collect()
}

fn introduce(out: &mut impl Write, world: &World) -> anyhow::Result<()> {
    writeln!(out, "The cluster's GPU pools, as found by what its nodes advertise:\n")?;
    let rows = world.pools.iter().map(|live| {
        vec![
            live.pool.name.to_string(),
            live.pool.mode.to_string(),
            live.node_count(&world.cluster).to_string(),
            live.resources.iter().cloned().collect::<Vec<_>>().join(","),
            live.mig().join("; "),
        ]
    });
    table::columns(out, &["POOL", "MODE", "NODES", "RESOURCES", "MIG"], rows)?;
    Ok(())
}

/// The table and, below it, what did not go as expected.
fn conclude(out: &mut impl Write, rows: &[Row]) -> anyhow::Result<bool> {
    writeln!(out)?;
    let or_dash = |text: String| if text.is_empty() { "-".to_owned() } else { text };
    let lines = rows.iter().map(|Row { name, seen, differences }| {
        let nodes = seen.nodes.as_ref().map_or_else(String::new, |nodes| nodes.len().to_string());
        vec![
            name.clone(),
            seen.verdict.clone(),
            or_dash(seen.class.clone()),
            or_dash(seen.pools.join(",")),
            or_dash(nodes),
            or_dash(seen.rules.iter().cloned().collect::<Vec<_>>().join(",")),
            if differences.is_empty() { "yes" } else { "NO" }.to_owned(),
        ]
    });
    table::columns(
        out,
        &["POD", "VERDICT", "CLASS", "POOLS", "NODES THAT FIT", "RULES", "AS EXPECTED"],
        lines,
    )?;
    let wrong: Vec<&Row> = rows.iter().filter(|row| !row.differences.is_empty()).collect();
    for row in &wrong {
        for difference in &row.differences {
            writeln!(out, "{}: {difference}", row.name)?;
        }
    }
    writeln!(out, "\n{} of {} Pods went as expected", rows.len() - wrong.len(), rows.len())?;
    out.flush()?;
    Ok(wrong.is_empty())
}

fn invite(out: &mut impl Write, base: &str, server: &Server) -> anyhow::Result<()> {
    let pod = serde_json::json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": "mine", "namespace": "default"},
        "spec": {"containers": [{
            "name": "server", "image": "vllm/vllm-openai",
            "resources": {"limits": {"nvidia.com/gpu": 1}},
        }]},
    });
    writeln!(out, "\nserving on {base} until Ctrl-C; -k, because its certificate was made a moment ago:")?;
    writeln!(
        out,
        "  curl -sk {base}/mutate -H 'Content-Type: application/json' -d '{}'",
        story::review(&pod)
    )?;
    if let Some(status) = server.addresses().status {
        writeln!(out, "  curl -s http://{status}/metrics")?;
    }
    out.flush()?;
    Ok(())
}
