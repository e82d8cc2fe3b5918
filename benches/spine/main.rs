//! `make bench`: what a request, a node, a policy and a Pod cost, as ratios in one run.
//!
//! Machines are noisy and differ, so no figure stands alone: each is the median of alternating pairs (one
//! measurement of ours, one of what it is compared with, in turn), printed with the spread of the pairs. A
//! difference inside the spread is none. `cargo bench -- NAME` runs the figures whose name contains NAME;
//! `SLUICE_BENCH_PAIRS` sets the number of pairs (default 7).

#![allow(clippy::unwrap_used, clippy::panic, reason = "a benchmark that cannot run says so by a panic")]

mod check;
mod client;
mod clusters;
mod engine;
mod memory;
mod pairs;
mod requests;

/// Measures one figure and prints it under its name.
type Measure = fn(&str);

fn main() {
    let words: Vec<String> = std::env::args().skip(1).filter(|word| !word.starts_with("--")).collect();
    if let [command, rest @ ..] = words.as_slice()
        && command == memory::COMMAND
    {
        return memory::child(rest);
    }
    let wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(word.as_str()));
    println!("{} pairs each; median ratio, and the least and the greatest of the pairs", pairs::count());
    let figures: [(&str, Measure); 10] = [
        ("request: server CPU, steered 6 kB Pod / bare server", requests::cpu),
        ("request: throughput at 8 connections, bare server / ours", requests::throughput),
        ("request: p99 at 8 connections, ours / bare server", requests::p99),
        ("decide: 10 000 nodes in 30 shapes / 100 nodes", engine::nodes),
        ("decide: 10 000 nodes, each its own shape / 100 nodes", engine::shapes),
        ("decide: 10 policies / 1", engine::ten_policies),
        ("decide: 100 policies / 1", engine::hundred_policies),
        ("event: one watch event at 50 000 Pods / at 100", engine::event),
        ("check: 10 000 documents / parsing them alone", check::documents),
        ("memory: 5 000 nodes and 50 000 Pods", memory::figure),
    ];
    for (name, measure) in figures {
        if wanted(name) {
            measure(name);
        }
    }
}
