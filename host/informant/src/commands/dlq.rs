//! `informant dlq`: the dead letters of a running host's plugins.

use super::ask::{act, block_on, cell, client, path, print_json, whole_seconds};
use super::list::{self, Columns};
use crate::actions::Letters;
use crate::cli::{DlqArgs, DlqCommand, LettersArgs, ListOfPlugin, OnePlugin};
use anyhow::Result;
use serde_json::Value;

/// Asks the host and shows its answer.
pub(crate) fn dlq(args: DlqArgs) -> Result<()> {
    match args.command {
        DlqCommand::List(args) => list(&args),
        DlqCommand::Show { plugin, id } => show(&plugin, id),
        DlqCommand::Redrive(letters) => act_on("dead-letters/redrive", letters),
        DlqCommand::Purge(letters) => act_on("dead-letters/purge", letters),
    }
}

fn list(args: &ListOfPlugin) -> Result<()> {
    let path = path(&args.name, "dead-letters")?;
    let letters = block_on(client(&args.list.admin)?.get(&path))?;
    let none = format!("{} has no dead letters", args.name);
    let letters = letters.as_array().map(Vec::as_slice).unwrap_or_default();
    list::show(letters, args.list.output, &COLUMNS, &none)
}

const COLUMNS: Columns = Columns {
    heads: &["ID", "SUBSCRIPTION", "NAMESPACE", "NAME", "CHANGE", "ATTEMPTS", "AT", "ERROR"],
    row,
    wide_heads: &["RESOURCE", "RESOURCE VERSION"],
    wide_row: |letter| vec![cell(&letter["resource"]), cell(&letter["resourceVersion"])],
    name: |letter| cell(&letter["id"]),
};

fn row(letter: &Value) -> Vec<String> {
    let keys = ["id", "subscription", "namespace", "name", "change", "attempts", "at", "error"];
    let shown = |key| if key == "at" { whole_seconds(&letter[key]) } else { cell(&letter[key]) };
    keys.map(shown).to_vec()
}

fn show(plugin: &OnePlugin, id: u64) -> Result<()> {
    let path = path(&plugin.name, &format!("dead-letters/{id}"))?;
    print_json(&block_on(client(&plugin.ask.admin)?.get(&path))?);
    Ok(())
}

fn act_on(what: &str, args: LettersArgs) -> Result<()> {
    let letters = Letters { all: args.all, ids: args.ids };
    act(&args.plugin, what, Some(serde_json::to_value(letters)?))
}
