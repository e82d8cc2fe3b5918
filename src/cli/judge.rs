//! Judging the objects of an input, one result each.

use std::{
    collections::BTreeSet,
    num::NonZero,
    thread,
    time::{SystemTime, UNIX_EPOCH},
};

use super::input::Object;
use crate::{
    cluster::Kind,
    decide::{Ask, Decision, Reach, decide},
    policy::Severity,
    report::{NodeResult, ObjectResult, VerdictWord},
    subject::{Facts, Kinds, Reading, Subject, read_as},
    world::World,
};

/// Fewer objects are not worth a thread.
const LEAST_OF_A_THREAD: usize = 64;

/// Which rules count.
#[derive(Clone, Debug, Default)]
pub(super) struct RuleFilter {
    /// These alone; all where it is empty.
    pub only: BTreeSet<String>,
    /// All but these.
    pub skip: BTreeSet<String>,
}

/// How objects are judged.
#[derive(Debug)]
pub(super) struct Judge {
    /// Policies and picture, the input's own objects laid over it.
    pub world: World,
    /// Which rules count.
    pub rules: RuleFilter,
    /// Whether every node of the cluster is asked.
    pub nodes: bool,
    /// Seconds since the Unix epoch.
    pub now: i64,
}

/// A judged object.
pub(super) struct Look {
    /// What was judged.
    pub subject: Box<Subject>,
    /// The decision.
    pub decision: Decision,
    /// What is reported of it.
    pub result: ObjectResult,
}

/// What became of an object.
pub(super) enum Judged {
    /// It was judged.
    Result(Box<ObjectResult>),
    /// It is of a kind that is none of our business.
    NotOurs,
    /// It is of our kind and cannot be read.
    Unreadable(String),
}

/// Seconds since the Unix epoch.
pub(super) fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Lays the input's objects over the picture, so that objects given together see each other. Pods are not:
/// a Pod that is judged is not there yet.
pub(super) fn overlay(world: &World, objects: &[Object]) -> Result<World, Vec<String>> {
    let others =
        objects.iter().map(|object| &*object.value).filter(|value| kind_of(value) != Some(Kind::Pod));
    match world.cluster.with_objects(others) {
        Ok(cluster) => Ok(world.with_cluster(cluster)),
        Err(errors) => Err(errors.iter().map(ToString::to_string).collect()),
    }
}

impl Judge {
    /// Judges one object.
    pub fn judge(&self, object: &Object) -> Judged {
        match self.look(object) {
            Ok(look) => Judged::Result(Box::new(look.result)),
            Err(judged) => judged,
        }
    }

    /// Judges objects, many of them on several threads; what became of each, in their order.
    pub fn judge_all(&self, objects: &[Object]) -> Vec<Judged> {
        let threads = thread::available_parallelism().map_or(1, NonZero::get);
        let part = objects.len().div_ceil(threads).max(LEAST_OF_A_THREAD);
        let judge = |part: &[Object]| part.iter().map(|object| self.judge(object)).collect::<Vec<_>>();
        if part >= objects.len() {
            return judge(objects);
        }
        thread::scope(|scope| {
            let running: Vec<_> = objects.chunks(part).map(|part| scope.spawn(move || judge(part))).collect();
            let joined = running.into_iter().map(|thread| thread.join());
            // A defect is told as it would be without threads.
            joined.flat_map(|part| part.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// Judges one object and keeps what the result was made of.
    ///
    /// # Errors
    /// What became of an object that cannot be judged.
    pub fn look(&self, object: &Object) -> Result<Look, Judged> {
        let kinds = Kinds { added: &self.world.template_kinds, search: true };
        let subject = match read_as(object.value.clone(), None, Facts::of_file(self.now), kinds) {
            Reading::Subject(subject) => subject,
            Reading::NotOurs => return Err(Judged::NotOurs),
            Reading::Unreadable(why) => {
                let line = object.places().line(&why.path);
                return Err(Judged::Unreadable(format!("{}:{line}: {why}", object.source.file)));
            }
        };
        let decision = decide(&self.world, &subject);
        let mut result = ObjectResult::new(&subject, &decision);
        self.rules.apply(&mut result);
        result.source = Some(object.source.clone());
        if !result.findings.is_empty() {
            let places = object.places();
            for finding in &mut result.findings {
                finding.line = Some(places.line(&finding.path));
            }
        }
        if self.nodes {
            result.nodes = self.nodes(&decision);
        }
        Ok(Look { subject, decision, result })
    }

    /// Asked of single Pods that concern us; a template makes Pods of several kinds.
    fn nodes(&self, decision: &Decision) -> Vec<NodeResult> {
        if !decision.relevant || decision.need.is_none() {
            return Vec::new();
        }
        let ask = Ask::new(&self.world, decision, Reach::Everything);
        let names = self.world.cluster.nodes().map(|node| &*node.name);
        NodeResult::all(&names.map(|name| (name, ask.of(name))).collect::<Vec<_>>())
    }
}

impl RuleFilter {
    fn counts(&self, rule: &str) -> bool {
        (self.only.is_empty() || self.only.contains(rule)) && !self.skip.contains(rule)
    }

    /// Leaves out what does not count; a verdict can only become milder by that.
    fn apply(&self, result: &mut ObjectResult) {
        if self.only.is_empty() && self.skip.is_empty() {
            return;
        }
        result.findings.retain(|finding| self.counts(&finding.rule));
        result.not_judged.retain(|rule| self.counts(rule));
        let worst = result.findings.iter().map(|finding| finding.severity).max();
        let left = match worst {
            Some(Severity::Deny) => VerdictWord::Deny,
            Some(Severity::Warn) => VerdictWord::Warn,
            Some(Severity::Audit) | None => VerdictWord::Allow,
        };
        result.verdict = result.verdict.min(left);
    }
}

fn kind_of(value: &serde_json::Value) -> Option<Kind> {
    Kind::of(value["apiVersion"].as_str()?, value["kind"].as_str()?)
}
