//! `sluice explain`: what a rule, a class or a pool says, and why a manifest is decided as it is.

mod class;

use std::{io::Write, path::PathBuf, process::ExitCode};

use anyhow::{bail, ensure};
use clap::ValueEnum;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    REFUSED, input,
    judge::{self, Judge, Judged, RuleFilter},
    output, pools, world,
};
use crate::{
    k8s::yaml,
    report::{VerdictWord, explain, rules_doc},
    rules::{self, Rule},
    world::World,
};

/// Explain a rule, a class or a pool, or why a manifest is decided as it is
///
/// A rule: what it checks, why it matters, how to mend it. A class: how it is recognised, what it needs and which
/// pools will do. A pool: what it can do and how that is known. With -f: every step of the decision.
#[derive(Debug, clap::Args)]
#[command(
    after_help = "Exit status: 0 explained, 1 a manifest of -f is refused, 2 bad usage, nothing of that name, unreadable input.

Examples:
  sluice explain                                        # every rule in one line each
  sluice explain request-limit-mismatch
  sluice explain llm --policies policies --cluster cluster.yaml
  sluice explain h100-80gb-mig --context prod
  sluice explain -f pod.yaml --cluster cluster.yaml     # why this decision, step by step
  helm template ./chart | sluice explain -f - -o yaml"
)]
pub(super) struct Arguments {
    /// Rule, class or pool; all rules in one line each without it
    #[arg(value_name = "RULE|CLASS|POOL", conflicts_with = "files")]
    name: Option<String>,
    /// Manifests whose decisions are explained; - for standard input
    #[arg(short = 'f', long = "filename", value_name = "FILE|DIR|-")]
    files: Vec<PathBuf>,
    #[command(flatten)]
    world: world::WorldArguments,
    /// Namespace of objects that name none
    #[arg(short, long, value_name = "NS", default_value = "default")]
    namespace: String,
    /// Form of the output
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    output: Form,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Form {
    /// For people
    Text,
    /// Everything as JSON
    Json,
    /// The same as YAML
    Yaml,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    if !arguments.files.is_empty() {
        return manifests(arguments);
    }
    let mut out = output::standard();
    match &arguments.name {
        None if arguments.output == Form::Text => {
            let rows = rules::ALL
                .iter()
                .map(|rule| vec![rule.id.to_owned(), rule.severity.to_string(), rule.summary.to_owned()]);
            crate::report::table::columns(&mut out, &["RULE", "SEVERITY", "HOLDS WHEN"], rows)?;
        }
        None => print(
            &mut out,
            &rules::ALL.iter().map(|rule| as_json(rule)).collect::<Vec<_>>(),
            arguments.output,
        )?,
        Some(name) => named(&mut out, name, arguments)?,
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// That there is no such rule, and what was probably meant.
pub(super) fn unknown(id: &str) -> String {
    let similar = rules_doc::similar(id);
    let hint = match similar.as_slice() {
        [] => "`sluice explain` lists all".to_owned(),
        similar => format!("did you mean {}?", similar.join(", ")),
    };
    format!("no rule is called {id:?}; {hint}")
}

/// Everything of that name: a class and a pool may share one.
fn named(out: &mut impl Write, name: &str, arguments: &Arguments) -> anyhow::Result<()> {
    let (mut texts, mut values) = (Vec::new(), Vec::new());
    if let Some(rule) = rules::find(name) {
        texts.push(rules_doc::explain(rule));
        values.push(as_json(rule));
    } else {
        let world = arguments.world.world()?;
        if let Some(found) = world.policies.class(name) {
            texts.push(class::text(&world, found));
            values.push(class::json(&world, found));
        }
        if let Some(live) = world.pools.get(name) {
            texts.push(pools::text(live, &world));
            values.push(pools::pool(live, &world));
        }
        ensure!(!texts.is_empty(), "{}", nothing(name, &world));
    }
    match arguments.output {
        Form::Text => write!(out, "{}", texts.join("\n"))?,
        form => {
            for value in &values {
                print(out, value, form)?;
            }
        }
    }
    Ok(())
}

fn nothing(name: &str, world: &World) -> String {
    let list = |names: Vec<&str>| if names.is_empty() { "none".to_owned() } else { names.join(", ") };
    let classes = list(world.policies.classes.iter().map(|class| &*class.name).collect());
    let pools = list(world.pools.iter().map(|live| &*live.pool.name).collect());
    let rule = unknown(name);
    format!(
        "{rule}; classes: {classes}; pools: {pools} (--policies, --cluster and --context say which there are)"
    )
}

fn as_json(rule: &Rule) -> Value {
    json!({
        "rule": rule.id, "summary": rule.summary, "why": rule.why, "remedy": rule.remedy,
        "severity": rule.severity, "severityBecause": rule.severity_because, "sources": rule.sources,
    })
}

fn manifests(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let world = arguments.world.world()?;
    let input = input::read(&arguments.files, &arguments.namespace)?;
    let world = judge::overlay(&world, &input.objects)
        .map_err(|errors| anyhow::anyhow!("{}", errors.join("\nerror: ")))?;
    let nodes = arguments.world.has_cluster();
    let judge = Judge { world, rules: RuleFilter::default(), nodes, now: judge::now() };
    let mut faults = input.faults;
    let mut explained = Vec::new();
    for object in &input.objects {
        match judge.look(object) {
            Ok(look) => explained.push(explain::Explanation::new(
                &judge.world,
                &look.subject,
                &look.decision,
                look.result,
            )),
            Err(Judged::Unreadable(why)) => faults.push(why),
            Err(_) => {}
        }
    }
    let mut out = output::standard();
    match arguments.output {
        Form::Text => {
            for (index, explanation) in explained.iter().enumerate() {
                if index > 0 {
                    writeln!(out)?;
                }
                explain::write(&mut out, explanation, output::colour())?;
            }
        }
        form => print(&mut out, &explained, form)?,
    }
    out.flush()?;
    if !faults.is_empty() {
        bail!("{}", faults.join("\nerror: "));
    }
    ensure!(!explained.is_empty(), "no object of the input is of a kind that is judged");
    let refused = explained.iter().any(|explanation| explanation.verdict == VerdictWord::Deny);
    Ok(if refused { ExitCode::from(REFUSED) } else { ExitCode::SUCCESS })
}

fn print(out: &mut impl Write, value: &impl Serialize, form: Form) -> anyhow::Result<()> {
    if form == Form::Yaml {
        yaml::to_writer(out, value)?;
        return Ok(());
    }
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)?;
    Ok(())
}
