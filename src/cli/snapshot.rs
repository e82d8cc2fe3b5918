//! `sluice snapshot`: a live cluster as a file that `--cluster` reads.

use std::{io::Write, process::ExitCode};

use super::{live, output};
use crate::k8s::yaml;

/// Print what sluice reads of a live cluster, for --cluster
///
/// Holds no Secrets, no environment values but those that rules read, and no arguments that name a key or a
/// token.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice snapshot > cluster.yaml
  sluice snapshot --context prod > prod.yaml
  sluice check deploy/ --cluster prod.yaml")]
pub(super) struct Arguments {
    /// Context of the kubeconfig; the current one without it
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let documents = live::run(live::documents(arguments.context.as_deref()))?;
    let mut out = output::standard();
    for document in &documents {
        writeln!(out, "---")?;
        yaml::to_writer(&mut out, document)?;
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
