//! Stories on a real control plane: etcd, kube-apiserver, kube-scheduler, kube-controller-manager and kwok,
//! with kubectl as the person in front.
//!
//! `cargo test --test cluster` runs all, `cargo test --test cluster -- NAME` those whose `GROUP::STORY`
//! contains NAME. The first run builds the programs (minutes; needs Go), later ones find them in the user's
//! cache. A failed story shows the last lines of every log.
//!
//! | variable | effect |
//! |---|---|
//! | `SLUICE_WITHOUT_CONTROL_PLANE=1` | leaves every story out, and says so |
//! | `SLUICE_CONTROL_PLANES=1` | one group at a time (default 2; each takes about 0.6 GB) |
//! | `SLUICE_SEED=N` | repeats the shuffling of a run |
//! | `SLUICE_BUNDLES=200` | how often the story of things applied together applies them (default 40) |
//! | `SLUICE_CONTROLLERS=full` | as many budgets and rollouts as in the full comparison (default few) |
//! | `KUBEBUILDER_ASSETS=DIR` | programs of the right version in DIR are used instead of built |
//!
//! # Writing a story
//! A story is a function of its group's fixture; it fails by panicking. It has its **negative control** in the
//! same function: the same Pods with sluice absent, or with the one rule off, and the bad outcome is *seen*.
//! Otherwise nobody knows that sluice made the difference. Wrong nodes should be the more attractive ones to
//! the scheduler's own scoring.
//!
//! ```ignore
//! pub fn group() -> Group {                    // and a line in `groups` below
//!     Group::new("placement", stories![an_llm_pod_lands_on_a_whole_gpu])
//! }
//!
//! fn an_llm_pod_lands_on_a_whole_gpu(gate: &mut Gate) {
//!     let fleet = gate.fleet(vec![
//!         h100("whole", 1).guarded(),
//!         sliced_l4("sliced", 4), // emptier and open to everybody, so more attractive
//!     ]);
//!     let namespace = gate.plane.namespace("llm");
//!     let llm = pod("llm", image::LLM, 1);
//!     assert_eq!(gate.lands(&fleet, &namespace, &llm), "sliced", "the control: without sluice");
//!     gate.remove_workloads(&namespace);
//!
//!     gate.open(); // the shipped webhooks, with the built `sluice serve` behind them
//!     assert_eq!(gate.lands(&fleet, &namespace, &llm), "whole");
//! }
//! ```
//! Wait with `eventually`, never by sleeping; what must not happen is watched with `throughout`. What else there
//! is: `Stub` (a webhook or an extender of the story's own, which remembers what it was asked), `Route` (a late
//! or cut road to the API server), `lose_node`, `stop` and `start` of any program, `start_scheduler` with an
//! extender, `kubeconfig_of_service_account` for a manifest's own RBAC. A group whose fixture holds more than a
//! control plane implements `Fixture` itself. `plain.rs` shows the harness at work, without sluice.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a story fails by panicking")]

use std::process::ExitCode;

use libtest_mimic::Arguments;

mod agent;
mod controllers;
mod extender;
mod harness;
mod manifests;
mod plain;
mod server;
mod stories;

use harness::controlplane::PROGRAMS;
use harness::groups::{Group, remember_places_of_panics, trials};
use harness::nodes::SEED;
use harness::process::{BECOME, become_program};
use harness::programs::Programs;
use harness::scratch::remove_leftovers;

/// Every group, in the order of starting: the long ones first.
fn groups() -> Vec<Group> {
    vec![
        stories::placement::group(),
        stories::refusals::group(),
        stories::operation::group(),
        agent::group(),
        extender::group(),
        manifests::group(),
        controllers::group(),
        plain::group(),
        server::group(),
    ]
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.first().map(String::as_str) {
        Some(BECOME) => {
            eprintln!("{}", become_program(&words[1..]));
            return ExitCode::FAILURE;
        }
        Some("build-programs") => return report(Programs::find().map(|_| ())),
        _ => {}
    }
    let mut arguments = Arguments::from_args();
    let left_out = std::env::var_os("SLUICE_WITHOUT_CONTROL_PLANE").is_some_and(|value| value == "1");
    let at_once =
        std::env::var("SLUICE_CONTROL_PLANES").ok().and_then(|count| count.parse().ok()).unwrap_or(2);
    let mut trials = trials(groups(), &arguments, at_once);
    if left_out {
        eprintln!(
            "SLUICE_WITHOUT_CONTROL_PLANE=1: NO STORY IS RUN. Nothing below was seen on a control plane."
        );
        trials = trials.into_iter().map(|trial| trial.with_ignored_flag(true)).collect();
    } else if !arguments.list
        && let Err(error) = prepare()
    {
        return report(Err(error));
    }
    // A thread for each: `groups` decides whose turn it is.
    arguments.test_threads = Some(trials.len().max(2));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn prepare() -> Result<(), String> {
    rustls::crypto::ring::default_provider()
        .install_default()
        .map_err(|_| "a TLS provider is set already")?;
    remove_leftovers();
    remember_places_of_panics();
    let _ = PROGRAMS.set(Programs::find()?);
    eprintln!("SLUICE_SEED={}", *SEED);
    Ok(())
}

fn report(outcome: Result<(), String>) -> ExitCode {
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
