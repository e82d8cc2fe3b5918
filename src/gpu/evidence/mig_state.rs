//! MIG of a node: whether its cards have it, whether it is on, whether the wanted layout is in place.

use super::{MigCapability, MigLayoutState, MigState, Source, cards::Cards, facts::Facts};
use crate::gpu::{
    DraKind, MigProfile, MigStrategy,
    agent_facts::MigMode,
    model::{MigSuffix, ModelMig},
    version::is_at_least,
};

/// A source that denies MIG.
#[derive(Clone, Debug)]
pub(super) struct Veto {
    pub(super) source: Source,
    /// Half a sentence.
    pub(super) text: String,
    /// NVML and the model table are right against every other source; a label is one voice among others.
    pub(super) is_final: bool,
}

/// Who denies MIG, if anybody.
pub(super) fn veto(facts: &Facts<'_>, cards: &Cards<'_>) -> Option<Veto> {
    let name = cards.display();
    let listed = facts.cards();
    if !listed.is_empty() && listed.iter().all(|card| card.mig == MigMode::NotSupported) {
        let text = format!("{name}: not capable of MIG, NVML reports not supported");
        return Some(Veto { source: Source::Nvml, text, is_final: true });
    }
    if cards.model.is_some_and(|model| model.mig == ModelMig::None) {
        let text = format!("{name}: not capable of MIG");
        return Some(Veto { source: Source::ModelTable, text, is_final: true });
    }
    (facts.labels.mig_capable() == Some(false)).then(|| Veto {
        source: Source::Labels,
        text: format!("{name}: not capable of MIG, label nvidia.com/mig.capable says false"),
        is_final: false,
    })
}

/// MIG of the node.
pub(super) fn mig_state(facts: &Facts<'_>, cards: &Cards<'_>, veto: Option<&Veto>) -> MigState {
    let capability = capability(facts, cards, veto);
    let enabled = enabled(facts, &capability);
    let strategy = facts.labels.strategy().or_else(|| {
        // GFD may be absent; a profile's own name is what `mixed` is.
        (facts.slices() > 0).then_some(MigStrategy::Mixed)
    });
    let layout = layout(facts);
    let explanation = explain(cards, &capability, enabled, strategy, &layout);
    MigState { capability, enabled, strategy, layout, explanation }
}

/// Whether a named layout of the MIG manager cuts the cards; `None` for a layout of one's own, which may
/// do both.
pub(super) fn partitioned_by_config(config: &str) -> Option<bool> {
    match config.strip_prefix("all-")? {
        "disabled" => Some(false),
        "balanced" => Some(true),
        profile => MigProfile::from_resource_suffix(profile).map(|_| true),
    }
}

fn capability(facts: &Facts<'_>, cards: &Cards<'_>, veto: Option<&Veto>) -> MigCapability {
    let lives = is_on(facts)
        || facts.dra(DraKind::Mig).next().is_some()
        || facts.cards().iter().any(|card| card.mig == MigMode::Disabled);
    match veto {
        Some(veto) if veto.is_final || !lives => return MigCapability::NotCapable(veto.text.clone()),
        Some(_) => return MigCapability::Unknown,
        None if lives || facts.labels.mig_capable() == Some(true) => return MigCapability::Capable,
        None => {}
    }
    let Some(table) = cards.model.and_then(|model| model.mig_table()) else {
        return MigCapability::Unknown;
    };
    match (table.min_driver(), &cards.driver) {
        (Some(least), Some(have)) if !is_at_least(have, &least) => {
            let [have, least] = [have, &least].map(|version| dotted(version));
            let name = cards.display();
            MigCapability::NotCapable(format!("{name}: no MIG with driver {have}, it needs {least}"))
        }
        _ => MigCapability::Capable,
    }
}

fn dotted(version: &[u32]) -> String {
    version.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

/// Whether any source but a wish says that MIG mode is on.
fn is_on(facts: &Facts<'_>) -> bool {
    let labels = &facts.labels;
    let applied = labels.nvidia("mig.config.state") == Some("success");
    facts.cards().iter().any(|card| card.mig == MigMode::Enabled)
        || (applied && labels.nvidia("mig.config").and_then(partitioned_by_config) == Some(true))
        || (facts.dra(DraKind::Mig).next().is_some() && !facts.is_dynamic_mig())
        || facts.slices() > 0
        || labels.slices.values().any(|slice| slice.count > 0)
        || labels.mig_suffix().is_some()
        || labels.gke().is_some_and(|gke| gke.partition.is_some())
}

fn enabled(facts: &Facts<'_>, capability: &MigCapability) -> Option<bool> {
    let cards = facts.cards();
    let labels = &facts.labels;
    if !cards.is_empty() && cards.iter().all(|card| card.mig != MigMode::Unknown) {
        return Some(cards.iter().any(|card| card.mig == MigMode::Enabled));
    }
    if matches!(capability, MigCapability::NotCapable(_)) {
        return Some(false);
    }
    // GFD writes 0 replicas for a card in MIG mode.
    if is_on(facts) || (labels.has_discovery() && labels.replicas_label() == Some(0)) {
        return Some(true);
    }
    let settled = labels.nvidia("mig.config.state") == Some("success");
    let off_by_config = settled && labels.nvidia("mig.config") == Some("all-disabled");
    // Under a strategy, cards in MIG mode would show: as slices, or as a suffix of the product.
    let off_by_strategy = labels.strategy().is_some() && labels.product().is_some() && facts.whole() > 0;
    (off_by_config || off_by_strategy).then_some(false)
}

/// The MIG manager's labels: the first is a wish, the second the fact.
fn layout(facts: &Facts<'_>) -> MigLayoutState {
    let labels = &facts.labels;
    if labels.mig_suffix() == Some(MigSuffix::Invalid) {
        return MigLayoutState::Invalid;
    }
    match (labels.nvidia("mig.config"), labels.nvidia("mig.config.state")) {
        (_, Some("success")) | (None | Some("all-disabled"), None) => MigLayoutState::Settled,
        (_, Some("failed")) => MigLayoutState::Failed,
        (_, state) => MigLayoutState::Pending(state.unwrap_or("absent").to_owned()),
    }
}

fn explain(
    cards: &Cards<'_>,
    capability: &MigCapability,
    enabled: Option<bool>,
    strategy: Option<MigStrategy>,
    layout: &MigLayoutState,
) -> String {
    let name = cards.display();
    let mut text = match (capability, enabled) {
        (MigCapability::NotCapable(reason), _) => return reason.clone(),
        (MigCapability::Unknown, _) => format!("{name}: not known whether it is capable of MIG"),
        (MigCapability::Capable, None) => format!("{name}: capable, not known whether enabled"),
        (MigCapability::Capable, Some(false)) => format!("{name}: capable, disabled"),
        (MigCapability::Capable, Some(true)) => format!("{name}: capable, enabled"),
    };
    if let Some(strategy) = strategy.filter(|_| enabled == Some(true)) {
        text.push_str(&format!(", strategy {strategy}"));
    }
    match layout {
        MigLayoutState::Settled => {}
        MigLayoutState::Pending(state) => text.push_str(&format!(", layout not in place (state {state})")),
        MigLayoutState::Failed => text.push_str(", layout failed"),
        MigLayoutState::Invalid => {
            text.push_str(", layout invalid: strategy single needs every card cut alike")
        }
    }
    text
}
