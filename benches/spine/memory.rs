//! Resident memory of a process that holds a large picture.

use std::process::Command;

use crate::clusters;

/// First argument of the process that is measured.
pub const COMMAND: &str = "hold-a-picture";

/// Prints the resident memory of a process of its own with the picture, and of one without.
pub fn figure(name: &str) {
    let with = resident(&["5000", "50000"]);
    let without = resident(&["0", "0"]);
    println!("{name}: {with:.0} MiB resident, of which {without:.0} MiB with an empty picture");
}

/// Holds a picture of so many nodes and Pods and prints its own resident memory in MiB.
pub fn child(words: &[String]) {
    let number = |index: usize| words.get(index).and_then(|word| word.parse::<usize>().ok()).unwrap_or(0);
    let (nodes, pods) = (number(0), number(1));
    let mut cluster = clusters::cluster(nodes, 30);
    for index in 0..pods {
        cluster.apply(&clusters::bound_pod(index, &format!("gpu-{}", index % nodes.max(1)))).expect("a Pod");
    }
    let world = clusters::world(cluster);
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let kilobytes = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))
        .and_then(|rest| rest.split_whitespace().next()?.parse::<f64>().ok())
        .unwrap_or_default();
    println!("{}", kilobytes / 1024.0);
    assert_eq!(world.cluster.nodes().count(), nodes, "the picture is still held");
}

fn resident(sizes: &[&str]) -> f64 {
    let me = std::env::current_exe().unwrap();
    let output = Command::new(me).arg(COMMAND).args(sizes).output().unwrap();
    String::from_utf8_lossy(&output.stdout).trim().parse().expect("the child prints a number")
}
