//! Weighs the claims: which mode is left, which source explains it, who disagrees.

use super::{
    MigLayoutState, ModeEvidence, Source, Standing,
    claims::{Claim, claims},
    facts::Facts,
    mig_state::Veto,
    ways::{Way, Ways},
};
use crate::gpu::{Mode, ResourceKind};

/// The mode of a node.
pub(super) fn weigh(facts: &Facts<'_>, layout: &MigLayoutState, veto: Option<&Veto>) -> ModeEvidence {
    if let Some(evidence) = foreign(facts) {
        return evidence;
    }
    let claims = claims(facts);
    let Some(first) = claims.first() else {
        return unsettled(nothing(), layout);
    };
    let weighed = Weighed::of(&claims);
    let (mode, decided) = weighed.ways.mode();
    let vetoed = veto.filter(|_| facts.slices() > 0 || !weighed.sliced.is_empty());
    if !weighed.against.is_empty() || vetoed.is_some() {
        return weighed.contradicted(first, vetoed);
    }
    let verified = decided && facts.has_device();
    unsettled(weighed.agreed(first, mode, verified), layout)
}

/// Claims held against each other.
struct Weighed<'a> {
    /// What is left of the modes.
    ways: Ways,
    /// Claims that narrowed it, in the order of sources.
    because: Vec<&'a Claim>,
    /// Firm claims that leave nothing of it.
    against: Vec<&'a Claim>,
    /// Claims that speak of slices and of nothing else, whether they were heard or not.
    sliced: Vec<&'a Claim>,
}

impl<'a> Weighed<'a> {
    fn of(claims: &'a [Claim]) -> Self {
        let mut weighed =
            Self { ways: Ways::ANY, because: Vec::new(), against: Vec::new(), sliced: Vec::new() };
        for claim in claims.iter().filter(|claim| claim.firm).chain(claims.iter().filter(|claim| !claim.firm))
        {
            if claim.ways.and(Ways::UNSLICED).is_empty() {
                weighed.sliced.push(claim);
            }
            let left = weighed.ways.and(claim.ways);
            if left.is_empty() {
                weighed.against.extend(claim.firm.then_some(claim));
            } else if left != weighed.ways {
                weighed.ways = left;
                weighed.because.push(claim);
            }
        }
        weighed
    }

    fn agreed(&self, first: &Claim, mode: Mode, verified: bool) -> ModeEvidence {
        let source = self.because.first().map_or(first.source, |claim| claim.source);
        let texts: Vec<&str> = self.because.iter().map(|claim| &*claim.text).collect();
        let seen = if texts.is_empty() { first.text.clone() } else { texts.join(" and ") };
        let explanation = match (verified, mode) {
            (true, _) | (false, Mode::Mig | Mode::Mps) => format!("{mode}: {seen}"),
            (false, Mode::TimeSlicing) if self.ways.has(Way::Mps) => {
                format!("time-slicing or mps: {seen}, and nothing says which")
            }
            (false, _) => format!("{mode}, as it seems: {seen}, and nothing else says how cards are shared"),
        };
        let standing = if verified { Standing::Verified } else { Standing::Unverified };
        ModeEvidence { mode: Some(mode), standing, source: Some(source), explanation, against: Vec::new() }
    }

    /// Allocatable and DRA still say best what there is, so their mode is kept, for people; a veto leaves
    /// none.
    fn contradicted(&self, first: &Claim, veto: Option<&Veto>) -> ModeEvidence {
        let claim = |claim: &&Claim| (claim.source, claim.text.clone());
        let mut against: Vec<(Source, String)> = self.against.iter().map(claim).collect();
        let mut mode = Some(self.ways.mode().0);
        let mut held = self.because.first().copied().unwrap_or(first);
        if let Some(veto) = veto {
            against.insert(0, (veto.source, veto.text.clone()));
            held = self.sliced.first().copied().unwrap_or(held);
            if veto.is_final {
                mode = None;
            }
        }
        let others: Vec<&str> = against.iter().map(|(_, text)| &**text).collect();
        let explanation = format!("{} while {}", held.text, others.join(" and "));
        ModeEvidence {
            mode,
            standing: Standing::Contradicted,
            source: Some(held.source),
            explanation,
            against,
        }
    }
}

/// A node under another project's library: recognised, not managed.
fn foreign(facts: &Facts<'_>) -> Option<ModeEvidence> {
    let qualifiers = facts.listed(|kind| *kind == ResourceKind::Qualifier);
    (!qualifiers.is_empty()).then(|| ModeEvidence {
        mode: Some(Mode::HamiCore),
        standing: Standing::Unverified,
        source: Some(Source::Allocatable),
        explanation: format!("hami-core, which is not managed: node advertises {qualifiers}"),
        against: Vec::new(),
    })
}

fn nothing() -> ModeEvidence {
    ModeEvidence {
        mode: None,
        standing: Standing::Unverified,
        source: None,
        explanation: "nothing says how this node's cards are shared".to_owned(),
        against: Vec::new(),
    }
}

/// While a MIG layout is not in place, what the node advertises is about to change: MIG is not verified, and
/// whole cards are not to be believed at all (they are advertised before they are cut).
fn unsettled(evidence: ModeEvidence, layout: &MigLayoutState) -> ModeEvidence {
    let why = match layout {
        MigLayoutState::Settled => return evidence,
        MigLayoutState::Pending(state) => {
            format!("the MIG layout is not in place (nvidia.com/mig.config.state: {state})")
        }
        MigLayoutState::Failed => "the MIG manager failed to apply the layout".to_owned(),
        MigLayoutState::Invalid => {
            "strategy single needs every card cut alike; label nvidia.com/gpu.product says MIG-INVALID"
                .to_owned()
        }
    };
    let mode = evidence.mode.filter(|&mode| mode == Mode::Mig && *layout != MigLayoutState::Invalid);
    let source = if mode.is_some() { evidence.source } else { Some(Source::Labels) };
    let explanation = if mode.is_some() { format!("{}; {why}", evidence.explanation) } else { why };
    ModeEvidence { mode, standing: Standing::Unverified, source, explanation, against: Vec::new() }
}
