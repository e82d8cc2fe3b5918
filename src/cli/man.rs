//! `sluice man`: a manual page for each command, from the same definitions as `--help`.

use std::{fs, path::PathBuf, process::ExitCode};

use anyhow::Context;
use clap::CommandFactory;

/// Write manual pages, one for each command
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice man /usr/local/share/man/man1
  sluice man man1 && man -l man1/sluice-check.1")]
pub(super) struct Arguments {
    /// Folder for the pages; made where it is absent
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let cannot = || format!("{} cannot be written", arguments.folder.display());
    fs::create_dir_all(&arguments.folder).with_context(cannot)?;
    clap_mangen::generate_to(super::Arguments::command(), &arguments.folder).with_context(cannot)?;
    Ok(ExitCode::SUCCESS)
}
