//! `sluice scan`: everything that runs, judged against the policies.

mod judged;

use std::{io::Write, process::ExitCode};

use clap::ValueEnum;

use super::{FAILED, REFUSED, check::FailOn, judge, output, world};
use crate::{
    k8s::yaml,
    report::{
        self, ObjectResult, VerdictWord, openreports,
        scan::{self, ScanReport},
    },
};

/// Judge everything that runs in a cluster: what would be refused, what enforcing would refuse, drift
///
/// Each object is judged as `sluice check` and admission judge it. ENFORCED is what admission would say if every
/// policy's action were deny. Drift is what admission would change in a running Pod if it were made anew, and a
/// node that it would not be given today. Exceptions are told two weeks before they end, and when they ended.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing refused, 1 something refused, 2 bad usage or a cluster that cannot be read.

Examples:
  sluice scan --context prod --policies policies      # before enforcing: what would be refused?
  sluice scan --cluster prod.yaml -o json | jq '.results[] | select(.enforced == \"deny\") | .object'
  sluice scan --context prod -n team-speech --fail-on warn
  sluice scan --cluster prod.yaml -o sarif > scan.sarif
  sluice scan --context prod -o openreports | kubectl apply --server-side -f -"
)]
pub(super) struct Arguments {
    #[command(flatten)]
    world: world::WorldArguments,
    /// Only objects of that namespace; may be repeated
    #[arg(short, long, value_name = "NS")]
    namespace: Vec<String>,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,
    /// Verdict of today from which the exit status is 1
    #[arg(long, value_enum, default_value_t = FailOn::Deny)]
    fail_on: FailOn,
    /// Also objects of which there is nothing to say
    #[arg(long)]
    all: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// Everything that is known
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Report objects of openreports.io, for kubectl apply
    Openreports,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    arguments.world.need_cluster()?;
    let (world, input) = arguments.world.world_and_objects()?;
    let now = judge::now();
    let exceptions = report::table::exceptions(&world.policies, now);
    let wanted = |namespace: &str| {
        arguments.namespace.is_empty() || arguments.namespace.iter().any(|n| n == namespace)
    };
    let (report, faults) = judged::scan(&world, &input, now, wanted);
    let mut out = output::standard();
    match arguments.output {
        Form::Table => scan::write(&mut out, &report, &exceptions, arguments.all, output::colour())?,
        Form::Json => {
            serde_json::to_writer_pretty(&mut out, &report)?;
            writeln!(out)?;
        }
        Form::Sarif => {
            let results: Vec<ObjectResult> = report.results.iter().map(|scan| scan.result.clone()).collect();
            serde_json::to_writer_pretty(&mut out, &report::sarif::log(env!("CARGO_PKG_VERSION"), &results))?;
            writeln!(out)?;
        }
        Form::Openreports => {
            for object in openreports::reports(&report, now) {
                writeln!(out, "---")?;
                yaml::to_writer(&mut out, &object)?;
            }
        }
    }
    out.flush()?;
    for fault in &faults {
        output::complain(fault);
    }
    Ok(status(&report, &faults, arguments.fail_on))
}

fn status(report: &ScanReport, faults: &[String], fail_on: FailOn) -> ExitCode {
    let worst = report.results.iter().map(|scan| scan.result.verdict).max().unwrap_or(VerdictWord::Allow);
    match faults.is_empty() {
        false => ExitCode::from(FAILED),
        true if worst >= fail_on.threshold() => ExitCode::from(REFUSED),
        true => ExitCode::SUCCESS,
    }
}
