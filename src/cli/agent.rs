//! `sluice agent`: the cards of this node, shown, recorded, or kept published.

mod print;

use std::{
    fs,
    net::SocketAddr,
    path::{Path, PathBuf},
    process::ExitCode,
    sync::Arc,
    time::Duration,
};

use anyhow::Context;

use super::{live, output, serve::LogForm};
use crate::agent::{
    Cards,
    deadline::Deadline,
    http,
    kubelet::{Kubelet, SOCKET},
    metrics::Metrics,
    node::NodeObjects,
    nvml::Nvml,
    recorded::{Origin, Recorded, Recording},
    run::{Agent, Options},
};

/// How long the driver may take for one answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Read the GPUs of this node and publish what they can do (runs as a DaemonSet)
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice agent --print                        # what the cards of this machine can do
  sluice agent --print -o json | jq '.cards[].migMode'
  sluice agent --record h200.json --samples 5 # keep it as a recording, for tests without the card
  sluice agent --print --recorded h200.json
  sluice agent --node gpu-1                   # keep the GpuNode of that node, and its startup taint")]
pub(super) struct Arguments {
    /// Show the cards and end
    #[arg(long)]
    print: bool,
    /// Form of what is shown
    #[arg(short, long, value_enum, default_value_t = print::Form::Table, requires = "print")]
    output: print::Form,
    /// Write a recording of the cards to FILE and end
    #[arg(long, value_name = "FILE", conflicts_with = "print")]
    record: Option<PathBuf>,
    /// Samples in the recording, one a second
    #[arg(long, value_name = "N", default_value_t = 3, requires = "record")]
    samples: u32,
    /// Take a recording for the cards instead of asking NVML
    #[arg(long, value_name = "FILE")]
    recorded: Option<PathBuf>,
    /// NVML library, where it is not on the library path [default: libnvidia-ml.so.1]
    #[arg(long, value_name = "FILE")]
    nvml: Option<PathBuf>,
    /// Node that the agent runs on
    #[arg(long, value_name = "NAME", env = "NODE_NAME")]
    node: Option<String>,
    /// Context of the kubeconfig; without it the ServiceAccount, or the current context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Socket of the kubelet's PodResources API
    #[arg(long, value_name = "FILE", default_value = SOCKET)]
    kubelet: PathBuf,
    /// The host's process table
    #[arg(long, value_name = "DIR", default_value = "/proc")]
    proc: PathBuf,
    /// Seconds between two looks at the hardware
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..))]
    every: u64,
    /// Seconds after which the GpuNode is written also without a change; nobody believes it after three of them
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..))]
    heartbeat: u64,
    /// A DRA driver hands out the cards: no device plugin is waited for
    #[arg(long)]
    dra: bool,
    /// Leave the startup taint sluice.dev/not-ready alone
    #[arg(long)]
    no_taint: bool,
    /// Address of /healthz, /readyz and /metrics
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:9401")]
    status_address: SocketAddr,
    /// Form of the log
    #[arg(long, value_enum, default_value_t = LogForm::Json)]
    log_format: LogForm,
    /// What is logged: a level, or directives such as info,sluice::agent=debug
    #[arg(long, value_name = "FILTER", env = "SLUICE_LOG", default_value = "info")]
    log: String,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut cards = cards(arguments);
    if let Some(path) = &arguments.record {
        record(&mut cards, path, arguments.samples)?;
    } else if arguments.print {
        print::print(&mut output::standard(), &cards.inventory()?, arguments.output)?;
    } else {
        arguments.log_format.start(&arguments.log)?;
        live::run(agent(arguments, cards))?;
    }
    Ok(ExitCode::SUCCESS)
}

async fn agent(arguments: &Arguments, cards: Deadline) -> anyhow::Result<()> {
    let node =
        arguments.node.clone().context("which node is this? Give --node, or NODE_NAME as in deploy/agent")?;
    let telemetry = Arc::new(Metrics::new());
    let address = arguments.status_address;
    http::serve(address, telemetry.clone()).await.with_context(|| format!("{address} cannot be used"))?;
    let client = live::client(arguments.context.as_deref()).await?;
    let kubelet = Kubelet::at(&arguments.kubelet).context("the kubelet's socket is no path")?;
    let options = Options {
        round: Duration::from_secs(arguments.every),
        heartbeat: Duration::from_secs(arguments.heartbeat),
        proc: arguments.proc.clone(),
        dra: arguments.dra,
        taint: !arguments.no_taint,
    };
    let agent = Agent::new(cards, kubelet, NodeObjects::new(client, node), options, telemetry);
    // Nothing is in flight that a sudden end would harm: what was written stays true until its heartbeats end.
    let mut end = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate())?;
    tokio::select! {
        () = agent.run() => {}
        _ = end.recv() => {}
        ended = tokio::signal::ctrl_c() => ended?,
    }
    Ok(())
}

fn cards(arguments: &Arguments) -> Deadline {
    let cards: Box<dyn Cards> = match &arguments.recorded {
        Some(path) => Box::new(Recorded::new(path.clone())),
        None => Box::new(Nvml::new(arguments.nvml.clone())),
    };
    Deadline::new(cards, PATIENCE)
}

fn record(cards: &mut Deadline, path: &Path, samples: u32) -> anyhow::Result<()> {
    let inventory = cards.inventory()?;
    let first = inventory.cards.first().context("there is no card to record")?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let origin = Origin::Recorded {
        card: first.product.value().context("the card has no name")?.clone(),
        driver: inventory.driver_version.value().context("the driver has no version")?.clone(),
        date: jiff::Timestamp::now().strftime("%F").to_string(),
        command: format!("sluice agent --record {name} --samples {samples}"),
    };
    let mut taken = Vec::new();
    for _ in 0..samples {
        taken.push(cards.sample()?);
        std::thread::sleep(Duration::from_secs(1));
    }
    let recording = Recording { origin, inventory: Ok(inventory), samples: taken };
    let text = serde_json::to_string_pretty(&recording)? + "\n";
    fs::write(path, text).with_context(|| format!("{} cannot be written", path.display()))
}
