//! `sluice serve`: webhooks and extender, on a live cluster or on the picture of a file.

use std::{
    net::SocketAddr,
    path::PathBuf,
    process::ExitCode,
    sync::Arc,
    time::{Duration, UNIX_EPOCH},
};

use anyhow::Context;
use clap::ValueEnum;
use tokio::task::JoinSet;

use super::{live, world};
use crate::{
    control::{Lease, WakeUp},
    live::{
        Picture,
        policies::{PolicyFolder, PolicyState},
        questions::Questions,
    },
    rules,
    serve::{self, Callers, Certificates, ExtenderPort, Limits, Options},
    telemetry::{self, Telemetry, log},
};

/// Serve the webhooks and the scheduler extender
///
/// Policies, certificates and the cluster are watched: what changes takes effect without a restart, and what
/// cannot be read changes nothing and is told in the log and on /readyz.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice serve --policies /etc/sluice/policies --certificates /etc/sluice/tls
  sluice serve --address 127.0.0.1:8443 --extender-address 127.0.0.1:8444    # beside a scheduler
  sluice serve --cluster cluster.yaml --address 127.0.0.1:8443               # without an API server")]
pub(super) struct Arguments {
    /// Folder of policy files, watched; the built-in policies without it
    #[arg(long, value_name = "DIR")]
    policies: Option<PathBuf>,
    /// Serve from the objects of a file instead of a live cluster
    #[arg(long, value_name = "FILE", conflicts_with = "context")]
    cluster: Option<PathBuf>,
    /// Context of the kubeconfig; without it the Pod's ServiceAccount, or else the current context
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    #[command(flatten)]
    features: world::FeatureArguments,
    /// Webhooks and extender, over TLS
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8443")]
    address: SocketAddr,
    /// The extender alone, on a loopback address, for the scheduler that runs beside
    #[arg(long, value_name = "ADDRESS")]
    extender_address: Option<SocketAddr>,
    /// Serve the extender's own address over TLS too
    #[arg(long, requires = "extender_address")]
    extender_tls: bool,
    /// /healthz, /readyz and /metrics, without TLS
    #[arg(long, value_name = "ADDRESS", default_value = "0.0.0.0:8080")]
    status_address: SocketAddr,
    /// Folder with tls.crt and tls.key, watched; without it a certificate of our own making for localhost
    #[arg(long, value_name = "DIR")]
    certificates: Option<PathBuf>,
    /// PEM file of the authorities that sign callers' certificates; anybody may call without it
    #[arg(long, value_name = "FILE")]
    client_ca: Option<PathBuf>,
    /// Common or DNS name of a caller that is let in; may be repeated, any of the authority without it
    #[arg(long, value_name = "NAME", requires = "client_ca")]
    client_name: Vec<String>,
    /// Also speak TLS 1.2
    #[arg(long)]
    tls12: bool,
    /// Speak HTTP/1.1 only
    #[arg(long)]
    http1_only: bool,
    /// Seconds to keep serving, unready, after SIGTERM
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    keep_serving: u64,
    /// Longest wait for the watch to show what a refusal misses; 0 refuses at once
    ///
    /// GitOps applies a PriorityClass and the Deployment that names it within milliseconds.
    #[arg(long, value_name = "MILLISECONDS", default_value_t = 300)]
    wait_for_watch: u64,
    /// Seconds for which room that was offered to a Pod is kept for it; 0 keeps no account
    #[arg(long, value_name = "SECONDS", default_value_t = 3)]
    promise: u64,
    /// Lease under which rejected Pods are woken by a Node annotation; without a namespace in our own. Nobody is
    /// woken without it
    #[arg(long, value_name = "[NS/]NAME", conflicts_with = "cluster")]
    wake_up_lease: Option<String>,
    /// Form of the log
    #[arg(long, value_enum, default_value_t = LogForm::Json)]
    log_format: LogForm,
    /// What is logged: a level, or directives such as info,sluice::serve=debug
    #[arg(long, value_name = "FILTER", env = "SLUICE_LOG", default_value = "info")]
    log: String,
    /// Do not count refusals by namespace
    #[arg(long)]
    no_refusals_by_namespace: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum LogForm {
    /// One object a line
    Json,
    /// For people
    Text,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.log_format.start(&arguments.log)?;
    live::run(serve(arguments))?;
    Ok(ExitCode::SUCCESS)
}

impl LogForm {
    /// Begins to log in this form what `filter` lets through.
    pub(super) fn start(self, filter: &str) -> anyhow::Result<()> {
        let format = match self {
            Self::Json => log::Format::Json,
            Self::Text => log::Format::Text,
        };
        Ok(log::start(format, filter)?)
    }
}

async fn serve(arguments: &Arguments) -> anyhow::Result<()> {
    let telemetry = Arc::new(Telemetry::new(telemetry::Options {
        refusals_by_namespace: !arguments.no_refusals_by_namespace,
        ..telemetry::Options::default()
    }));
    let picture = picture(arguments, &telemetry).await?;
    let questions = Arc::new(Questions::new(Duration::from_secs(arguments.promise)));
    let mut work = JoinSet::new();
    if let Some(lease) = &arguments.wake_up_lease {
        let client = live::client(arguments.context.as_deref()).await?;
        // The name of our Pod in a cluster: a container that is started again holds what it held.
        let holder = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
        let holder = format!("sluice-{}", holder.trim());
        let own = client.default_namespace().to_owned();
        let (namespace, name) = lease.split_once('/').unwrap_or((&own, lease));
        let lease = Lease::new(client.clone(), namespace, name, &holder);
        work.spawn(WakeUp::new(client, lease, picture.clone(), questions.clone(), telemetry.clone()).run());
    }
    let options = Options { questions: Some(questions), ..options(arguments) };
    serve::run(options, Arc::new(picture), telemetry).await.context("serving ended")
}

/// Policies of a folder are followed, faulty ones too: the server then says on /readyz what is wrong.
async fn picture(arguments: &Arguments, telemetry: &Arc<Telemetry>) -> anyhow::Result<Picture> {
    let built_in = match &arguments.policies {
        Some(_) => None,
        None => Some(world::policies(None)?),
    };
    if let Some(set) = &built_in {
        telemetry.policy_loaded(&set.revision, super::judge::now());
    }
    let picture = match &arguments.cluster {
        Some(file) => Picture::of_file(file, built_in)?,
        None => Picture::watch(&live::client(arguments.context.as_deref()).await?, built_in),
    };
    let picture = picture.with_features(arguments.features.features());
    if let Some(folder) = &arguments.policies {
        let telemetry = telemetry.clone();
        let told = move |state: &PolicyState| count(&telemetry, state);
        picture.follow_policies(PolicyFolder::new(folder, rules::ids()).watch(), told);
    }
    Ok(picture)
}

fn count(telemetry: &Telemetry, state: &PolicyState) {
    match (&state.rejected, &state.current) {
        (Some(rejected), _) => {
            telemetry.policy_failed();
            for error in &rejected.errors {
                tracing::error!(revision = %rejected.revision, "policies not taken: {error}");
            }
        }
        (None, Some(set)) => {
            let at = state.reloaded.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
            telemetry.policy_loaded(&set.revision, i64::try_from(at).unwrap_or(i64::MAX));
            tracing::info!(revision = %set.revision, "policies in force");
        }
        (None, None) => {}
    }
}

fn options(arguments: &Arguments) -> Options {
    let defaults = Options::default();
    Options {
        address: arguments.address,
        extender: arguments
            .extender_address
            .map(|address| ExtenderPort { address, tls: arguments.extender_tls }),
        status: Some(arguments.status_address),
        certificates: match &arguments.certificates {
            Some(folder) => Certificates::Files {
                chain: folder.join("tls.crt"),
                key: folder.join("tls.key"),
                poll: Duration::from_secs(10),
            },
            None => defaults.certificates,
        },
        callers: arguments
            .client_ca
            .clone()
            .map(|authority| Callers { authority, names: arguments.client_name.clone() }),
        tls12: arguments.tls12,
        http1_only: arguments.http1_only,
        limits: Limits { absence_wait: Duration::from_millis(arguments.wait_for_watch), ..defaults.limits },
        keep_serving: Duration::from_secs(arguments.keep_serving),
        ..defaults
    }
}
