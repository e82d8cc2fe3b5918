//! Alternating pairs and their median.

use std::time::{Duration, Instant};

/// Pairs of each figure.
pub fn count() -> usize {
    std::env::var("SLUICE_BENCH_PAIRS").ok().and_then(|n| n.parse().ok()).unwrap_or(7)
}

/// Measures `ours` and `other` in turn and prints the ratio. The first pair warms up and is not counted.
pub fn compare(name: &str, aim: &str, mut ours: impl FnMut() -> f64, mut other: impl FnMut() -> f64) {
    let mut ratios = Vec::new();
    let (mut our_figures, mut other_figures) = (Vec::new(), Vec::new());
    for pair in 0..=count() {
        // The order within a pair alternates, so that neither always runs on a warmer machine.
        let (a, b) = if pair % 2 == 0 {
            let a = ours();
            (a, other())
        } else {
            let b = other();
            (ours(), b)
        };
        if pair > 0 {
            ratios.push(a / b);
            our_figures.push(a);
            other_figures.push(b);
        }
    }
    let (least, middle, greatest) = spread(&mut ratios);
    println!(
        "{name}: {middle:.2} ({least:.2} to {greatest:.2}) {aim}; {:.1} against {:.1}",
        spread(&mut our_figures).1,
        spread(&mut other_figures).1
    );
}

/// Microseconds of one call: the mean over as many calls as fill about 60 ms.
pub fn microseconds(mut call: impl FnMut()) -> f64 {
    let enough = Duration::from_millis(60);
    let start = Instant::now();
    let mut calls = 0_u32;
    while start.elapsed() < enough {
        call();
        calls += 1;
    }
    start.elapsed().as_secs_f64() * 1e6 / f64::from(calls)
}

fn spread(figures: &mut [f64]) -> (f64, f64, f64) {
    figures.sort_by(f64::total_cmp);
    (figures[0], figures[figures.len() / 2], figures[figures.len() - 1])
}
