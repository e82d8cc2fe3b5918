//! `sluice explain RULE`: what a rule says, why it matters and what to do.

use std::{io::Write, process::ExitCode};

use anyhow::bail;

use super::output;
use crate::{report::rules_doc, rules};

/// Explain a rule: what it checks, why it matters, how to mend it
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice explain request-limit-mismatch
  sluice explain                           # every rule in one line each")]
pub(super) struct Arguments {
    /// Id of the rule, as a finding names it; all rules in one line each without it
    rule: Option<String>,
}

pub(super) fn run(arguments: &Arguments) -> anyhow::Result<ExitCode> {
    let mut out = output::standard();
    match &arguments.rule {
        None => {
            let rows = rules::ALL
                .iter()
                .map(|rule| vec![rule.id.to_owned(), rule.severity.to_string(), rule.summary.to_owned()]);
            crate::report::table::columns(&mut out, &["RULE", "SEVERITY", "HOLDS WHEN"], rows)?;
        }
        Some(id) => match rules::find(id) {
            Some(rule) => write!(out, "{}", rules_doc::explain(rule))?,
            None => bail!("{}", unknown(id)),
        },
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
