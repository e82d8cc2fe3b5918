//! Puts a fixture before the engine.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    sync::{Arc, LazyLock},
};

use serde_json::Value;
use sluice::{
    cluster::Cluster,
    decide::{Decision, Reach, STAMP, decide, fit},
    policy::{self, PolicySet, SourceFile},
    rules::{self, Fit},
    subject::{Facts, Kinds, Operation, Reading, Stage, read_as},
    world::World,
};

use super::{
    fixture::{Fixture, Request},
    wire,
};

/// Noon of a day in 2026: fixtures know no other time.
pub const NOW: i64 = 1_796_126_400;

/// What the engine said.
#[derive(Debug, Default)]
pub struct Outcome {
    pub decision: Option<Decision>,
    /// The object with the changes applied.
    pub changed: Option<Value>,
    /// The answer for each node of the picture.
    pub nodes: BTreeMap<String, Fit>,
    /// Faults of the policies.
    pub faults: Vec<String>,
    /// Ids of the doubts about them.
    pub doubts: Vec<String>,
    /// Where the extender's answers are not as expected.
    pub unlike: Vec<String>,
}

/// Judges; an error is a fixture that cannot be judged at all.
pub fn judge(fixture: &Fixture) -> Result<Outcome, String> {
    let mut outcome = Outcome::default();
    let policies = match policies(fixture) {
        Ok(policies) => policies,
        Err(faults) => {
            outcome.faults = faults;
            return Ok(outcome);
        }
    };
    outcome.doubts = policies.warnings.iter().map(|warning| warning.id.to_owned()).collect();
    if !fixture.extender.is_empty() {
        outcome.unlike = wire::differences(fixture, world(policies.clone(), fixture)?);
    }
    let Some(object) = &fixture.object else { return Ok(outcome) };
    let world = world(policies, fixture)?;
    let facts = facts(&fixture.request)?;
    let kinds = Kinds { added: &world.template_kinds, search: facts.stage == Stage::Check };
    let decision = match read_as(Arc::new(object.clone()), None, facts, kinds) {
        Reading::Subject(subject) => decide(&world, &subject),
        Reading::NotOurs => return Err("the object is of a kind that is not judged".to_owned()),
        Reading::Unreadable(error) => return Err(format!("the object cannot be read: {error}")),
    };
    outcome.changed = Some(decision.applied_to(object));
    for node in world.cluster.nodes() {
        let answer = fit(&world, &decision, &node.name, Reach::Everything);
        outcome.nodes.insert(node.name.to_string(), answer);
    }
    outcome.decision = Some(decision);
    Ok(outcome)
}

pub fn world(policies: PolicySet, fixture: &Fixture) -> Result<World, String> {
    let cluster = match &fixture.cluster {
        Some(objects) => Cluster::from_documents(objects.iter().cloned())
            .map_err(|errors| format!("the picture cannot be read: {errors:?}"))?,
        None => Cluster::none(),
    };
    Ok(World::new(Arc::new(policies), cluster))
}

pub fn policies(fixture: &Fixture) -> Result<PolicySet, Vec<String>> {
    static BUILT_IN: LazyLock<PolicySet> = LazyLock::new(|| policy::built_in(&rules::ids()));
    if fixture.policies.is_empty() {
        return Ok(BUILT_IN.clone());
    }
    let file = |(index, policy): (usize, &Value)| SourceFile {
        path: format!("policies/{index}.yaml"),
        text: policy.to_string(),
    };
    let files: Vec<SourceFile> = fixture.policies.iter().enumerate().map(file).collect();
    policy::compile(&files, "fixture", &rules::ids())
        .map_err(|errors| errors.iter().map(ToString::to_string).collect())
}

fn facts(request: &Request) -> Result<Facts, String> {
    let stage = match request.stage.as_deref() {
        None | Some("check") => Stage::Check,
        Some("mutate") => Stage::Mutate,
        Some("validate") => Stage::Validate,
        Some("schedule") => Stage::Schedule,
        Some(other) => return Err(format!("no stage {other}")),
    };
    let operation = match request.operation.as_deref() {
        None => Operation::Create,
        Some(word) => Operation::parse(word).ok_or_else(|| format!("no operation {word}"))?,
    };
    Ok(Facts {
        operation,
        subresource: request.subresource.clone(),
        old: request.old.clone().map(Arc::new),
        user: request.user.clone().unwrap_or_default(),
        groups: request.groups.clone(),
        now: NOW,
        ..Facts::new(stage)
    })
}

impl Outcome {
    /// Every rule that spoke: by a finding of any severity, a change, a node, or the policy loader.
    pub fn rules(&self) -> BTreeSet<String> {
        let mut rules = BTreeSet::new();
        if let Some(decision) = &self.decision {
            rules.extend(decision.findings.iter().map(|finding| finding.rule.to_owned()));
            rules.extend(decision.changes.iter().map(|change| change.rule.to_owned()));
        }
        for fit in self.nodes.values() {
            if let Fit::Busy(rule) | Fit::Never(rule) = fit {
                rules.insert(rule.id.to_owned());
            }
        }
        for fault in &self.faults {
            rules.extend(rules::ids().into_iter().filter(|id| fault.contains(id)).map(str::to_owned));
        }
        rules.extend(self.doubts.iter().cloned());
        rules
    }
}

/// `yes`, `busy RULE` or `never RULE`.
pub fn in_words(fit: &Fit) -> String {
    match fit {
        Fit::Yes(_) => "yes".to_owned(),
        Fit::Busy(rule) => format!("busy {}", rule.id),
        Fit::Never(rule) => format!("never {}", rule.id),
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(decision) = &self.decision {
            let class = decision.class.as_ref().map_or("none", |class| &class.class);
            let pools: Vec<&str> = decision.candidates.iter().map(|candidate| &*candidate.pool).collect();
            writeln!(f, "    verdict {}, class {class}, pools {pools:?}", decision.verdict)?;
            for finding in &decision.findings {
                writeln!(
                    f,
                    "    {} {} {}: {}",
                    finding.severity,
                    finding.rule,
                    finding.path,
                    finding.message()
                )?;
            }
            for change in decision.changes.iter().filter(|change| change.rule != STAMP) {
                writeln!(f, "    change {} {}", change.rule, change.path)?;
            }
            for skipped in &decision.skipped {
                writeln!(f, "    skipped {} {}: {}", skipped.what, skipped.rule, skipped.reason)?;
            }
        }
        for (node, fit) in &self.nodes {
            writeln!(f, "    node {node}: {}", in_words(fit))?;
        }
        for line in self.faults.iter().chain(&self.doubts) {
            writeln!(f, "    policies: {line}")?;
        }
        Ok(())
    }
}
