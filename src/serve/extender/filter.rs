//! Which nodes will do. Where only we keep the account of what is left, an answer is a promise, and a Pod that
//! finds nothing but promised room waits a moment for promises to be settled, because the scheduler has chosen
//! before it asks again.

use std::{collections::BTreeSet, ptr, sync::Arc, time::Instant as Clock};

use bytes::Bytes;
use tokio::time::Instant;

use super::{
    Pace, note_skipped, question, reason, uid,
    wire::{FilterResult, Nodes},
};
use crate::{
    decide::{Ask, Reach, decide},
    live::ledger::{self, Page, fair_share},
    rules::{self, Fit, Score},
    serve::gate::{Failure, Gate},
    subject::Subject,
    telemetry::{self, Endpoint, log::Asked},
};

/// How often an answer is made anew because another one was given meanwhile. A scheduler asks one question at a
/// time, so this is for the moment in which another one takes over.
const ATTEMPTS: u32 = 16;

pub(super) async fn filter(gate: &Gate, body: Bytes, deadline: Instant) -> Result<Vec<u8>, Failure> {
    let (subject, nodes) = question(gate, &body)?;
    let subject = Arc::from(subject);
    let patience = deadline.min(Instant::now() + gate.limits.promise_wait);
    let mut waited = false;
    let mut attempts = 0;
    loop {
        let patient = Instant::now() < patience;
        match answer(gate, &subject, &nodes, deadline)? {
            Round::Answered(answer) => {
                if waited {
                    gate.telemetry.waited_for_promises(true);
                }
                return Ok(answer);
            }
            Round::OnlyPromised(answer) if !patient => {
                gate.telemetry.waited_for_promises(false);
                return Ok(answer);
            }
            Round::OnlyPromised(_) => {
                waited = true;
                gate.questions.ledger.waits(uid(&subject), Clock::now());
                let settled = |world: &_| gate.questions.ledger.would_settle(world);
                let left = patience.saturating_duration_since(Instant::now());
                gate.source.wait_for(&settled, left).await;
            }
            Round::Overtaken if attempts < ATTEMPTS => attempts += 1,
            Round::Overtaken => return Err(Failure::Late),
        }
    }
}

/// What became of one try.
enum Round {
    Answered(Vec<u8>),
    /// No node is left, and at least one only because of promises.
    OnlyPromised(Vec<u8>),
    /// Another promise was made since the ledger was opened.
    Overtaken,
}

fn answer(
    gate: &Gate,
    subject: &Arc<Subject>,
    nodes: &Nodes<'_>,
    deadline: Instant,
) -> Result<Round, Failure> {
    let started = Clock::now();
    let world = gate.source.load();
    let decision = decide(&world, subject);
    gate.telemetry.decided(Endpoint::Filter, started.elapsed());
    note_skipped(gate, subject, &decision);
    let page = gate.questions.ledger.open(&world, uid(subject), started);
    let ask = Ask::new(&world, &decision, Reach::BeyondScheduler).over(&page.promised);
    let mut pace = Pace::until(deadline);
    let sorted = sort(nodes, &page, |name| {
        pace.next()?;
        Ok(ask.of_accounted(name))
    })?;
    let only_promised = sorted.only_promised();
    let class = decision.class.as_ref().map(|recognized| Arc::clone(&recognized.class));
    let promise = ledger::promise(uid(subject), class, sorted.promised);
    if !promise.uid.is_empty() && !gate.questions.ledger.promise(promise, page.version, Clock::now()) {
        return Ok(Round::Overtaken);
    }
    gate.telemetry.promises(gate.questions.ledger.len());
    if sorted.kept.is_empty() {
        gate.questions.reject(uid(subject), Arc::clone(subject), Clock::now());
    } else {
        gate.questions.forget(uid(subject));
    }
    let mut result = sorted.result;
    nodes.keep(&sorted.kept, &mut result);
    let asked = Asked { nodes: nodes.len(), kept: sorted.kept.len(), ..Asked::default() };
    telemetry::log::asked(Endpoint::Filter, subject, &decision, &asked, started.elapsed());
    let answer = result.encode();
    Ok(if only_promised { Round::OnlyPromised(answer) } else { Round::Answered(answer) })
}

/// The nodes of a question, sorted into kept and rejected.
struct Sorted<'a> {
    /// Indices of those that will do, in the order of the question.
    kept: Vec<usize>,
    /// Every other node in exactly one map, with its reason.
    result: FilterResult<'a>,
    /// Kept nodes where only we keep the account, by the picture's own names.
    promised: BTreeSet<Arc<str>>,
    /// Whether some node is rejected only because it is promised.
    stopped_by_promise: bool,
}

impl Sorted<'_> {
    fn only_promised(&self) -> bool {
        self.kept.is_empty() && self.stopped_by_promise
    }
}

/// An open node where only we keep the account: its score, its index in the question, its name.
type Account<'w> = (Score, usize, &'w Arc<str>);

/// Asks about each node. Where Pods stand in each other's way, a part of the nodes of which only we keep the
/// account is left for the next one.
fn sort<'q, 'w>(
    nodes: &'q Nodes<'_>,
    page: &Page,
    mut ask: impl FnMut(&str) -> Result<(Fit, Option<&'w Arc<str>>), Failure>,
) -> Result<Sorted<'q>, Failure> {
    let mut sorted = Sorted {
        kept: Vec::with_capacity(nodes.len()),
        result: FilterResult::default(),
        promised: BTreeSet::new(),
        stopped_by_promise: false,
    };
    let mut accounts: Vec<Account<'w>> = Vec::new();
    for (index, name) in nodes.names().enumerate() {
        match ask(name)? {
            (Fit::Yes(score), Some(own)) => {
                accounts.push((score, index, own));
                sorted.kept.push(index);
            }
            (Fit::Yes(_), None) => sorted.kept.push(index),
            (Fit::Busy(rule), _) => {
                sorted.stopped_by_promise |= ptr::eq(rule, &raw const rules::ROOM_PROMISED);
                sorted.result.failed_nodes.push(name, reason(rule));
            }
            (Fit::Never(rule), _) => {
                sorted.result.failed_and_unresolvable_nodes.push(name, reason(rule));
            }
        }
    }
    leave_some(nodes, page, &mut accounts, &mut sorted);
    sorted.promised = accounts.into_iter().map(|(_, _, own)| Arc::clone(own)).collect();
    Ok(sorted)
}

/// Keeps the best of the accounts and turns the others away, where others wait for them.
fn leave_some<'q>(
    nodes: &'q Nodes<'_>,
    page: &Page,
    accounts: &mut Vec<Account<'_>>,
    sorted: &mut Sorted<'q>,
) {
    let share = fair_share(accounts.len(), page.sharers);
    if share == accounts.len() {
        return;
    }
    accounts.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(&other.1)));
    let left: BTreeSet<usize> = accounts.drain(share..).map(|(_, index, _)| index).collect();
    sorted.kept.retain(|index| !left.contains(index));
    for (index, name) in nodes.names().enumerate().filter(|(index, _)| left.contains(index)) {
        debug_assert!(!sorted.kept.contains(&index), "a node is in one list only");
        sorted.result.failed_nodes.push(name, reason(&rules::ROOM_PROMISED));
    }
}

#[cfg(test)]
mod tests;
