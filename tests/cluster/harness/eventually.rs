//! Waiting for something to become true, with a message that says what was seen instead.

use std::time::{Duration, Instant};

/// What an attempt saw: a value, or why not yet.
pub trait Attempt {
    /// What a successful attempt yields.
    type Value;

    /// The value, or what was seen instead.
    fn seen(self) -> Result<Self::Value, String>;
}

impl Attempt for bool {
    type Value = ();

    fn seen(self) -> Result<(), String> {
        if self { Ok(()) } else { Err("not so".into()) }
    }
}

impl<T> Attempt for Option<T> {
    type Value = T;

    fn seen(self) -> Result<T, String> {
        self.ok_or_else(|| "nothing".into())
    }
}

impl<T> Attempt for Result<T, String> {
    type Value = T;

    fn seen(self) -> Result<T, String> {
        self
    }
}

/// Tries until it succeeds; panics with what was last seen when it has not within `patience`.
///
/// A closure that answers `Err("what is the case instead")` makes the better message.
#[track_caller]
pub fn eventually<A: Attempt>(patience: Duration, what: &str, mut attempt: impl FnMut() -> A) -> A::Value {
    let started = Instant::now();
    let mut pause = Duration::from_millis(20);
    loop {
        match attempt().seen() {
            Ok(value) => return value,
            Err(instead) if started.elapsed() >= patience => {
                panic!("waited {:.1} s for: {what}\nlast seen: {instead}", started.elapsed().as_secs_f64())
            }
            Err(_) => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(250));
    }
}

/// Looks again and again during `span`; panics as soon as the condition does not hold. For what must *not*
/// happen, such as a Pod that has to stay Pending.
#[track_caller]
pub fn throughout<A: Attempt>(span: Duration, what: &str, mut attempt: impl FnMut() -> A) {
    let started = Instant::now();
    while started.elapsed() < span {
        if let Err(instead) = attempt().seen() {
            panic!("after {:.1} s no longer: {what}\nseen: {instead}", started.elapsed().as_secs_f64());
        }
        std::thread::sleep(Duration::from_millis(100));
    }
}

/// Patience for what takes a control plane moments: a watch event, a scheduling attempt, a reconcile.
pub const SOON: Duration = Duration::from_secs(20);

/// Patience for what has back-offs of its own in it: requeue of a rejected Pod, an eviction under a budget.
pub const A_WHILE: Duration = Duration::from_secs(60);
