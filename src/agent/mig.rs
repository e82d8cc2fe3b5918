//! What MIG is on a card, and why: a fact with its reason, never a guess.

use super::card::{Answer, Card};
use crate::gpu::MigMode;

/// The mode as the picture reads it.
#[must_use]
pub const fn mode(card: &Card) -> MigMode {
    match &card.mig_mode {
        Answer::Value(modes) if modes.current => MigMode::Enabled,
        Answer::Value(_) => MigMode::Disabled,
        Answer::NotSupported => MigMode::NotSupported,
        _ => MigMode::Unknown,
    }
}

/// The mode after the next reset, where it is another one.
#[must_use]
pub const fn pending(card: &Card) -> Option<MigMode> {
    match &card.mig_mode {
        Answer::Value(modes) if modes.current != modes.pending => {
            Some(if modes.pending { MigMode::Enabled } else { MigMode::Disabled })
        }
        _ => None,
    }
}

/// The same in words: `not capable`, `capable, disabled`, `enabled, 7 MIG devices`.
#[must_use]
pub fn reason(card: &Card) -> String {
    match &card.mig_mode {
        Answer::NotSupported => "not capable".to_owned(),
        Answer::Value(modes) => {
            let now = if modes.current { devices(card) } else { "capable, disabled".to_owned() };
            match pending(card) {
                Some(MigMode::Enabled) => format!("{now}; enabled after the next reset of the card"),
                Some(_) => format!("{now}; disabled after the next reset of the card"),
                None => now,
            }
        }
        Answer::NoPermission => "unknown: the agent may not ask".to_owned(),
        Answer::Lost => "unknown: the card does not answer".to_owned(),
        Answer::Failed(why) => format!("unknown: {why}"),
    }
}

/// The same for all cards of a node: once where they agree, else with how many say so.
#[must_use]
pub fn of_node(cards: &[Card]) -> Option<String> {
    let mut said: Vec<(String, usize)> = Vec::new();
    for card in cards {
        let reason = reason(card);
        match said.iter_mut().find(|(other, _)| *other == reason) {
            Some((_, count)) => *count += 1,
            None => said.push((reason, 1)),
        }
    }
    match said.as_slice() {
        [] => None,
        [(reason, _)] => Some(reason.clone()),
        several => {
            let parts: Vec<String> = several.iter().map(|(reason, n)| format!("{n} × {reason}")).collect();
            Some(parts.join("; "))
        }
    }
}

fn devices(card: &Card) -> String {
    match &card.mig_devices {
        Answer::Value(devices) if devices.len() == 1 => "enabled, 1 MIG device".to_owned(),
        Answer::Value(devices) => format!("enabled, {} MIG devices", devices.len()),
        _ => "enabled, its MIG devices are not known".to_owned(),
    }
}
