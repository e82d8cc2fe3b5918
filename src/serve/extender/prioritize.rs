//! How well each node will do: 0 to 10, in a bare list.

use std::time::Instant as Clock;

use tokio::time::Instant;

use super::{
    Pace, question, uid,
    wire::{HostPriority, Nodes},
};
use crate::{
    decide::{Ask, Reach, decide},
    rules::{Fit, Score},
    serve::gate::{Failure, Gate},
    telemetry::{self, Endpoint, log::Asked},
};

/// So many of the best nodes are told in the log with the parts of their scores.
const TOLD: usize = 3;

pub(super) fn prioritize(gate: &Gate, body: &[u8], deadline: Instant) -> Result<Vec<u8>, Failure> {
    let (subject, nodes) = question(gate, body)?;
    let started = Clock::now();
    let world = gate.source.load();
    let decision = decide(&world, &subject);
    gate.telemetry.decided(Endpoint::Prioritize, started.elapsed());
    let page = gate.questions.ledger.open(&world, uid(&subject), started);
    let ask = Ask::new(&world, &decision, Reach::BeyondScheduler).over(&page.promised);
    let mut pace = Pace::until(deadline);
    let scores = scores(&nodes, |name| {
        pace.next()?;
        Ok(ask.of(name))
    })?;
    let kept = scores.iter().flatten().count();
    let asked = Asked { nodes: nodes.len(), kept, best: best(&nodes, &scores) };
    telemetry::log::asked(Endpoint::Prioritize, &subject, &decision, &asked, started.elapsed());
    Ok(render(&nodes, &scores))
}

/// The score of each node; none for a node that does not fit any more since it was filtered.
fn scores(
    nodes: &Nodes<'_>,
    mut ask: impl FnMut(&str) -> Result<Fit, Failure>,
) -> Result<Vec<Option<Score>>, Failure> {
    let score = |name| {
        Ok(match ask(name)? {
            Fit::Yes(score) => Some(score),
            Fit::Busy(_) | Fit::Never(_) => None,
        })
    };
    nodes.names().map(score).collect()
}

/// Points for those that fit, beside each other; 0 for the rest.
fn render(nodes: &Nodes<'_>, scores: &[Option<Score>]) -> Vec<u8> {
    let fitting: Vec<Score> = scores.iter().flatten().copied().collect();
    let mut points = Score::points(&fitting).into_iter();
    let priority = |(host, score): (_, &Option<Score>)| HostPriority {
        host,
        score: score.and_then(|_| points.next()).unwrap_or(0),
    };
    HostPriority::encode(&nodes.names().zip(scores).map(priority).collect::<Vec<_>>())
}

/// `gpu-1: preference 10, …; gpu-2: …`
fn best(nodes: &Nodes<'_>, scores: &[Option<Score>]) -> String {
    let fitting = nodes.names().zip(scores).filter_map(|(name, score)| Some(((*score)?, name)));
    let mut ranked: Vec<(Score, &str)> = fitting.collect();
    ranked.sort_by(|one, other| other.0.cmp(&one.0).then(one.1.cmp(other.1)));
    let told = ranked.iter().take(TOLD).map(|(score, name)| format!("{name}: {score}"));
    told.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::{rules, serve::extender::wire::Args};

    #[test]
    fn points_are_a_bare_list_within_bounds_and_what_does_not_fit_gets_none() {
        let body = json!({"Pod": {}, "NodeNames": ["a", "full", "k"]}).to_string();
        let nodes = Args::parse(body.as_bytes()).unwrap().nodes;
        let fit = |name: &str| {
            Ok(match name {
                "full" => Fit::Busy(&rules::NO_FREE_SLICE),
                name => Fit::Yes(Score { packing: name.as_bytes()[0] - b'a', ..Score::default() }),
            })
        };
        let scores = scores(&nodes, fit).unwrap();
        let answer: Value = serde_json::from_slice(&render(&nodes, &scores)).unwrap();
        let want =
            json!([{"Host": "a", "Score": 5}, {"Host": "full", "Score": 0}, {"Host": "k", "Score": 10}]);
        assert_eq!(answer, want);
        let told = best(&nodes, &scores);
        assert!(told.starts_with("k: preference 0") && told.contains("; a: preference 0"), "{told}");
    }

    #[test]
    fn a_late_answer_is_none() {
        let body = json!({"Pod": {}, "NodeNames": ["a"]}).to_string();
        let nodes = Args::parse(body.as_bytes()).unwrap().nodes;
        assert_eq!(scores(&nodes, |_| Err(Failure::Late)).unwrap_err(), Failure::Late);
    }
}
