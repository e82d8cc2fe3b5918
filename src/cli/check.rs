//! `sluice check`: judges manifests as admission would.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    io::Write,
    path::PathBuf,
    process::ExitCode,
};

use clap::ValueEnum;

use super::{
    FAILED, REFUSED, explain,
    input::{self, Input},
    judge::{self, Judge, Judged, RuleFilter},
    output, world,
};
use crate::{
    report::{self, ObjectResult, VerdictWord, table::Summary},
    rules,
};

/// Objects that are judged at once; their results are held until they are written.
const BATCH: usize = 1024;

/// Judge manifests as admission would, without a cluster or against one
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 nothing refused, 1 something refused, 2 bad usage or unreadable input.

Examples:
  sluice check deploy/                                      # every manifest below a folder
  helm template ./chart | sluice check -                    # what a chart makes
  sluice check pod.yaml --cluster cluster.yaml              # against what `sluice snapshot` wrote
  sluice check deploy/ -o sarif > sluice.sarif              # for a code-scanning page
  sluice check deploy/ --fail-on warn --skip grace-too-short"
)]
pub(super) struct Arguments {
    /// Files, folders, or - for standard input; standard input where nothing is named
    #[arg(value_name = "FILE|DIR|-")]
    paths: Vec<PathBuf>,
    #[command(flatten)]
    world: world::WorldArguments,
    /// Namespace of objects that name none
    #[arg(short, long, value_name = "NS", default_value = "default")]
    namespace: String,
    /// Form of the report
    #[arg(short, long, value_enum, default_value_t = Form::Table)]
    output: Form,
    /// Verdict from which the exit status is 1
    #[arg(long, value_enum, default_value_t = FailOn::Deny)]
    fail_on: FailOn,
    /// Only these rules count; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    only: Vec<String>,
    /// These rules do not count; may be repeated
    #[arg(long, value_name = "RULE", value_delimiter = ',')]
    skip: Vec<String>,
    /// Ask every node of the cluster; the JSON and YAML reports always do
    #[arg(long)]
    nodes: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Table,
    /// The stable contract, see docs/check-report.schema.json
    Json,
    /// The same as YAML
    Yaml,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for CI systems
    Junit,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum FailOn {
    /// Something is refused
    Deny,
    /// Something is refused or warned about
    Warn,
}

impl FailOn {
    /// The verdict from which something failed.
    pub const fn threshold(self) -> VerdictWord {
        match self {
            Self::Deny => VerdictWord::Deny,
            Self::Warn => VerdictWord::Warn,
        }
    }
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let rules = filter(&arguments.only, &arguments.skip)?;
    let world = arguments.world.world()?;
    let mut input = input::read(&arguments.paths, &arguments.namespace)?;
    let world = match judge::overlay(&world, &input.objects) {
        Ok(world) => world,
        Err(errors) => {
            input.faults.extend(errors);
            world
        }
    };
    let contract = matches!(arguments.output, Form::Json | Form::Yaml);
    let nodes = arguments.world.has_cluster() && (contract || arguments.nodes);
    let run = Run::new(Judge { world, rules, nodes, now: judge::now() }, input, arguments);
    run.report()
}

/// The ids must exist: a misspelt `--skip` would let nothing pass, a misspelt `--only` everything.
fn filter(only: &[String], skip: &[String]) -> anyhow::Result<RuleFilter> {
    for id in only.iter().chain(skip) {
        anyhow::ensure!(rules::find(id).is_some(), "{}", explain::unknown(id));
    }
    Ok(RuleFilter { only: only.iter().cloned().collect(), skip: skip.iter().cloned().collect() })
}

/// One run: results are made while the report is written, and what they add up to is kept.
struct Run<'a> {
    arguments: &'a Arguments,
    judge: Judge,
    objects: RefCell<std::vec::IntoIter<input::Object>>,
    ready: RefCell<VecDeque<ObjectResult>>,
    faults: RefCell<Vec<String>>,
    others: Cell<usize>,
    worst: Cell<VerdictWord>,
}

impl<'a> Run<'a> {
    fn new(judge: Judge, input: Input, arguments: &'a Arguments) -> Self {
        Self {
            arguments,
            judge,
            objects: RefCell::new(input.objects.into_iter()),
            ready: RefCell::default(),
            faults: RefCell::new(input.faults),
            others: Cell::new(input.others),
            worst: Cell::new(VerdictWord::Allow),
        }
    }

    fn report(self) -> anyhow::Result<ExitCode> {
        let mut out = output::standard();
        let revision = &self.judge.world.policies.revision;
        let results = std::iter::from_fn(|| self.next());
        match self.arguments.output {
            Form::Json => report::json::write(&mut out, revision, results)?,
            Form::Yaml => report::json::write_yaml(&mut out, revision, results)?,
            Form::Sarif => {
                let log = report::sarif::log(env!("CARGO_PKG_VERSION"), &results.collect::<Vec<_>>());
                serde_json::to_writer_pretty(&mut out, &log)?;
                writeln!(out)?;
            }
            Form::Junit => {
                let xml = report::junit::text(&results.collect::<Vec<_>>(), self.threshold());
                out.write_all(xml.as_bytes())?;
            }
            Form::Table => {
                let results: Vec<ObjectResult> = results.collect();
                report::table::write(&mut out, &results, &self.summary(), output::colour())?;
            }
        }
        out.flush()?;
        Ok(self.status())
    }

    fn next(&self) -> Option<ObjectResult> {
        loop {
            if let Some(result) = self.ready.borrow_mut().pop_front() {
                self.worst.set(self.worst.get().max(result.verdict));
                return Some(result);
            }
            let batch: Vec<input::Object> = self.objects.borrow_mut().by_ref().take(BATCH).collect();
            if batch.is_empty() {
                return None;
            }
            for judged in self.judge.judge_all(&batch) {
                match judged {
                    Judged::Result(result) => self.ready.borrow_mut().push_back(*result),
                    Judged::NotOurs => self.others.set(self.others.get() + 1),
                    Judged::Unreadable(why) => self.faults.borrow_mut().push(why),
                }
            }
        }
    }

    fn summary(&self) -> Summary {
        Summary {
            other_documents: self.others.get(),
            unreadable: self.faults.borrow().len(),
            cluster: self.arguments.world.has_cluster(),
            exceptions: report::table::exceptions(&self.judge.world.policies, self.judge.now),
        }
    }

    fn threshold(&self) -> VerdictWord {
        self.arguments.fail_on.threshold()
    }

    fn status(&self) -> ExitCode {
        let faults = self.faults.borrow();
        for fault in faults.iter() {
            output::complain(fault);
        }
        match faults.is_empty() {
            false => ExitCode::from(FAILED),
            true if self.worst.get() >= self.threshold() => ExitCode::from(REFUSED),
            true => ExitCode::SUCCESS,
        }
    }
}
