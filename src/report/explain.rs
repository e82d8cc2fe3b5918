//! `sluice explain -f`: why a decision is what it is, step by step, from the same value that the webhook acts on.

mod text;

use schemars::JsonSchema;
use serde::Serialize;

use super::json::{
    ChangeResult, FindingResult, NodeResult, ObjectReference, ObjectResult, SkippedPool, SourcePlace,
    VerdictWord,
};
use crate::{
    decide::{Concern, Decision, relevance},
    policy::{Fallback, PoolTerm, Severity},
    rules::Candidate,
    subject::{Subject, relevant::Relevance},
    world::World,
};

pub use text::write;

/// Every step of one decision.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Which object.
    pub object: ObjectReference,
    /// Where it stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source: Option<SourcePlace>,
    /// What admission says.
    pub verdict: VerdictWord,
    /// The AdmissionPolicy in force, and its action.
    pub policy: String,
    /// The strongest thing that this policy does.
    pub action: Severity,
    /// Revision of the policies.
    pub revision: String,
    /// Id of the decision.
    pub decision: String,
    /// Step 1: why it concerns us, one entry for each Pod that does; empty where it does not.
    pub relevance: Vec<String>,
    /// Step 2: the class; null for none.
    pub class: Option<String>,
    /// What it was recognised by.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recognized_by: Option<String>,
    /// Step 3: the terms of the class in order of preference, each with what came of it.
    pub terms: Vec<TermStep>,
    /// Pools that no term led to, with the reason against them.
    pub other_pools: Vec<SkippedPool>,
    /// What happens where no term has a pool.
    pub otherwise: Option<String>,
    /// Step 4: what is changed.
    pub changes: Vec<ChangeResult>,
    /// Whether the changes are made, or only would be.
    pub changes_apply: bool,
    /// Step 5: what is wrong, also what nobody is shown.
    pub findings: Vec<FindingResult>,
    /// Rules that could not be judged for want of a picture.
    pub not_judged: Vec<String>,
    /// Step 6: the nodes of the given cluster.
    pub nodes: Vec<NodeResult>,
}

/// One term of a class.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TermStep {
    /// The term in words.
    pub term: String,
    /// Pools that were taken.
    pub taken: Vec<PoolStep>,
    /// Pools, or the term itself, that were passed over, with the reason.
    pub passed: Vec<SkippedPool>,
}

/// A pool that can serve.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PoolStep {
    /// Name.
    pub pool: String,
    /// GPU resource by which the Pod gets its units there.
    pub resource: String,
    /// How its mode is known.
    pub evidence: Vec<String>,
    /// What its cards can do of MIG.
    pub mig: Vec<String>,
}

impl Explanation {
    /// The steps of a decision; `result` is what `check` reports of it.
    #[must_use]
    pub fn new(world: &World, subject: &Subject, decision: &Decision, result: ObjectResult) -> Self {
        let class = decision.class.as_ref().and_then(|found| world.policies.class(&found.class));
        let terms: Vec<&PoolTerm> = class.iter().flat_map(|class| &class.terms).collect();
        let fallback = class.map(|class| class.fallback);
        let mut steps: Vec<TermStep> =
            (0..terms.len()).map(|rank| step(world, decision, terms[rank].to_string(), rank)).collect();
        let last = step(world, decision, "any compatible pool".to_owned(), terms.len());
        if !last.taken.is_empty() || !last.passed.is_empty() {
            steps.push(last);
        }
        let other = decision.skipped.iter().filter(|skipped| skipped.rank.is_none() || class.is_none());
        Self {
            object: result.object,
            source: result.source,
            verdict: result.verdict,
            policy: decision.policy.to_string(),
            action: decision.action,
            revision: decision.revision.clone(),
            decision: result.decision,
            relevance: why_relevant(world, subject, decision),
            class: result.class,
            recognized_by: result.recognized_by,
            terms: steps,
            other_pools: other.map(SkippedPool::from).collect(),
            otherwise: fallback.map(|fallback| otherwise(fallback).to_owned()),
            changes: result.changes,
            changes_apply: decision.action == Severity::Deny,
            findings: result.findings,
            not_judged: result.not_judged,
            nodes: result.nodes,
        }
    }
}

/// What happens where no term of a class has a pool, in words.
#[must_use]
pub const fn otherwise(fallback: Fallback) -> &'static str {
    match fallback {
        Fallback::Refuse => "refuse",
        Fallback::AnyCompatible => "any pool that is compatible",
    }
}

const fn words(why: Relevance) -> &'static str {
    match why {
        Relevance::AsksForGpu => "it asks for a GPU resource",
        Relevance::HasClaims => "it has resource claims, which may be for a GPU",
        Relevance::NamesClass => "its label names a class",
        Relevance::SetsVisibleDevices => "a container sets which devices it sees",
        Relevance::NamesRuntime => "its runtime class is that of GPUs",
        Relevance::Privileged => "a container is privileged, and sees every device of its node",
        Relevance::MountsDevices => "it mounts a path of devices, drivers or device plugins",
        Relevance::ToleratesPool => "it tolerates the taint that guards a GPU pool",
        Relevance::NamesNode => "it names its node, past the scheduler",
        Relevance::None => "nothing",
    }
}

fn step(world: &World, decision: &Decision, term: String, rank: usize) -> TermStep {
    let taken = decision.candidates.iter().filter(|candidate| candidate.rank == rank);
    let passed = decision.skipped.iter().filter(|skipped| skipped.rank == Some(rank));
    TermStep {
        term,
        taken: taken.map(|candidate| pool(world, candidate)).collect(),
        passed: passed.map(SkippedPool::from).collect(),
    }
}

fn pool(world: &World, candidate: &Candidate) -> PoolStep {
    let live = world.pools.get(&candidate.pool);
    PoolStep {
        pool: candidate.pool.to_string(),
        resource: candidate.resource.clone(),
        evidence: live.map(crate::world::LivePool::why).unwrap_or_default(),
        mig: live.map(crate::world::LivePool::mig).unwrap_or_default(),
    }
}

fn why_relevant(world: &World, subject: &Subject, decision: &Decision) -> Vec<String> {
    if !decision.relevant {
        return Vec::new();
    }
    let pods: Vec<String> = subject
        .pods()
        .filter_map(|(prefix, pod, _)| {
            let why = match relevance(world, pod) {
                Concern::None => return None,
                Concern::OnlyGpuNodes => "its selector chooses nodes with GPUs only",
                Concern::Because(why) => words(why),
            };
            let place = prefix.trim_end_matches('.');
            Some(if place.is_empty() { why.to_owned() } else { format!("{place}: {why}") })
        })
        .collect();
    if pods.is_empty() { vec![format!("a {} is judged on its own", subject.kind)] } else { pods }
}
