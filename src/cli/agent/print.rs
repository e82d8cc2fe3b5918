//! What the cards of a machine can do, for people and for programs.

use std::io::Write;

use clap::ValueEnum;

use crate::{
    agent::{Answer, Card, Inventory, mig},
    k8s::yaml,
    report::table,
};

/// Form of the output.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(super) enum Form {
    /// For people
    Table,
    /// Everything that was answered
    Json,
    /// The same as YAML
    Yaml,
}

pub(super) fn print(out: &mut impl Write, inventory: &Inventory, form: Form) -> anyhow::Result<()> {
    match form {
        Form::Table => cards(out, inventory)?,
        Form::Json => {
            serde_json::to_writer_pretty(&mut *out, inventory)?;
            writeln!(out)?;
        }
        Form::Yaml => write!(out, "{}", yaml::to_text(inventory)?)?,
    }
    out.flush()?;
    Ok(())
}

fn cards(out: &mut impl Write, inventory: &Inventory) -> anyhow::Result<()> {
    let said = |answer: &Answer<String>| answer.value().cloned().unwrap_or_else(|| "-".to_owned());
    writeln!(out, "driver {}, CUDA {}\n", said(&inventory.driver_version), said(&inventory.cuda_version))?;
    let rows = inventory.cards.iter().map(|card| {
        let memory = card.memory.value().map_or_else(|| "-".to_owned(), |memory| memory.usable.to_string());
        vec![
            card.index.to_string(),
            said(&card.product),
            said(&card.uuid),
            said(&card.compute_capability),
            memory,
            mig::reason(card),
        ]
    });
    let columns = ["CARD", "PRODUCT", "UUID", "COMPUTE", "USABLE MEMORY", "MIG"];
    table::columns(out, &columns, rows)?;
    for card in &inventory.cards {
        profiles(out, card)?;
    }
    Ok(())
}

fn profiles(out: &mut impl Write, card: &Card) -> anyhow::Result<()> {
    let Some(profiles) = card.mig_profiles.value().filter(|profiles| !profiles.is_empty()) else {
        return Ok(());
    };
    writeln!(out, "\nMIG profiles of card {}", card.index)?;
    let rows = profiles.iter().map(|profile| {
        vec![
            profile.name.clone().unwrap_or_else(|| format!("id {}", profile.id)),
            profile.memory.to_string(),
            profile.multiprocessors.to_string(),
            profile.decoders.to_string(),
            profile.max_instances.to_string(),
        ]
    });
    table::columns(out, &["PROFILE", "MEMORY", "SMS", "DECODERS", "AT MOST"], rows)?;
    Ok(())
}
