//! `informant plugin`: the plugins of a running host, and plugin files without one.

use super::ask::{act, block_on, cell, client, print, print_json, table};
use super::check::check;
use crate::cli::{AskArgs, Output, PluginArgs, PluginCommand};
use anyhow::Result;
use serde_json::Value;

/// Asks the host and shows its answer.
pub(crate) fn plugin(args: PluginArgs) -> Result<()> {
    match args.command {
        PluginCommand::Check(args) => check(&args),
        PluginCommand::List(ask) => list(&ask),
        PluginCommand::Reload(plugin) => act(&plugin, "reload", None),
        PluginCommand::Rollback(plugin) => act(&plugin, "rollback", None),
        PluginCommand::Pause(plugin) => act(&plugin, "pause", None),
        PluginCommand::Resume(plugin) => act(&plugin, "resume", None),
    }
}

fn list(ask: &AskArgs) -> Result<()> {
    let plugins = block_on(client(ask)?.get("/plugins"))?;
    match ask.output {
        Output::Json => print_json(&plugins),
        Output::Text => {
            let rows: Vec<_> = plugins.as_array().into_iter().flatten().map(row).collect();
            match rows.is_empty() {
                true => print("no plugins; drop a .wasm file into the host's directory"),
                false => print(&table(&HEADS, &rows)),
            }
        }
    }
    Ok(())
}

const HEADS: [&str; 8] = ["NAME", "STATE", "VERSION", "WAITING", "OK", "RETRIED", "DEAD", "WHY"];

fn row(plugin: &Value) -> Vec<String> {
    let counters = &plugin["counters"];
    // What is wrong now; else what became of a file that is not the running version.
    let load = &plugin["lastLoad"];
    let why = if plugin["reason"].is_null() { &load["reason"] } else { &plugin["reason"] };
    let cells = [
        &plugin["name"],
        &plugin["state"],
        &plugin["version"],
        &plugin["queue"]["depth"],
        &counters["ok"],
        &counters["retry"],
        &plugin["deadLetters"],
        why,
    ];
    cells.map(cell).to_vec()
}
