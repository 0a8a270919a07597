//! `informant dlq`: the dead letters of a running host's plugins.

use super::ask::{act, block_on, cell, client, path, print, print_json, table};
use crate::admin::Letters;
use crate::cli::{DlqArgs, DlqCommand, LettersArgs, OnePlugin, Output};
use anyhow::Result;
use serde_json::Value;

/// Asks the host and shows its answer.
pub(crate) fn dlq(args: DlqArgs) -> Result<()> {
    match args.command {
        DlqCommand::List(plugin) => list(&plugin),
        DlqCommand::Show { plugin, id } => show(&plugin, id),
        DlqCommand::Redrive(letters) => act_on("dead-letters/redrive", letters),
        DlqCommand::Purge(letters) => act_on("dead-letters/purge", letters),
    }
}

fn list(plugin: &OnePlugin) -> Result<()> {
    let path = path(&plugin.name, "dead-letters")?;
    let letters = block_on(client(&plugin.ask)?.get(&path))?;
    match plugin.ask.output {
        Output::Json => print_json(&letters),
        Output::Text => {
            let rows: Vec<_> = letters.as_array().into_iter().flatten().map(row).collect();
            match rows.is_empty() {
                true => print(&format!("{} has no dead letters", plugin.name)),
                false => print(&table(&HEADS, &rows)),
            }
        }
    }
    Ok(())
}

const HEADS: [&str; 8] =
    ["ID", "SUBSCRIPTION", "NAMESPACE", "NAME", "CHANGE", "ATTEMPTS", "AT", "ERROR"];

fn row(letter: &Value) -> Vec<String> {
    let keys = ["id", "subscription", "namespace", "name", "change", "attempts", "at", "error"];
    let shown = |key| match (key, letter[key].as_str().and_then(|at| at.split_once('.'))) {
        // A time, without fractions of seconds.
        ("at", Some((seconds, _))) => format!("{seconds}Z"),
        _ => cell(&letter[key]),
    };
    keys.map(shown).to_vec()
}

fn show(plugin: &OnePlugin, id: u64) -> Result<()> {
    let path = path(&plugin.name, &format!("dead-letters/{id}"))?;
    print_json(&block_on(client(&plugin.ask)?.get(&path))?);
    Ok(())
}

fn act_on(what: &str, args: LettersArgs) -> Result<()> {
    let letters = Letters { all: args.all, ids: args.ids };
    act(&args.plugin, what, Some(serde_json::to_value(letters)?))
}
