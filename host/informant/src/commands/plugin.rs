//! `informant plugin`: the plugins of a running host, and plugin files and projects without one.

use super::ask::{act, block_on, cell, client, print, print_json, table};
use super::check::check;
use super::plugin_build::build;
use super::plugin_new::new;
use super::plugin_test::plugin_test;
use super::plugin_top::top;
use crate::cli::{AskArgs, Output, PluginArgs, PluginCommand};
use anyhow::Result;
use serde_json::{Value, json};

/// Asks the host and shows its answer.
pub(crate) fn plugin(args: PluginArgs) -> Result<()> {
    match args.command {
        PluginCommand::New(args) => new(&args),
        PluginCommand::Build(args) => build(args),
        PluginCommand::Check(args) => check(&args),
        PluginCommand::Test(args) => plugin_test(&args),
        PluginCommand::List(ask) => list(&ask),
        PluginCommand::Top(ask) => top(&ask),
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
                true => print("no plugins: the host's directories have no plugin file yet"),
                false => print(&table(&HEADS, &rows)),
            }
        }
    }
    Ok(())
}

const HEADS: [&str; 8] = ["NAME", "STATE", "VERSION", "WAITING", "OK", "RETRIED", "DEAD", "WHY"];

fn row(plugin: &Value) -> Vec<String> {
    let counters = &plugin["counters"];
    // What is wrong now; else what became of a file that is not the running version; else what its account may not read.
    let refused = &plugin["serviceAccount"]["refused"][0];
    let load = &plugin["lastLoad"]["reason"];
    let load = match (load.as_str(), plugin["version"].as_str()) {
        (Some(reason), Some(_)) => json!(format!("new version not loaded: {reason}")),
        _ => load.clone(),
    };
    let whys = [&plugin["reason"], &load, &refused["reason"]];
    let why = whys.into_iter().find(|why| !why.is_null()).unwrap_or(&Value::Null);
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

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(plugin: &Value, expect: &str) {
        assert_eq!(row(plugin).last().map(String::as_str), Some(expect), "{plugin}");
    }

    #[test]
    fn what_is_wrong_now_comes_first() {
        let account = json!({"refused": [{"reason": "v1/pods may not be listed"}]});
        let load = json!({"reason": "start failed"});
        check(
            &json!({"reason": "tripped", "lastLoad": load, "serviceAccount": account}),
            "tripped",
        );
        check(&json!({"lastLoad": load, "serviceAccount": account}), "start failed");
        let expect = "new version not loaded: start failed";
        check(&json!({"version": "0.1.0", "lastLoad": load, "serviceAccount": account}), expect);
        check(&json!({"serviceAccount": account}), "v1/pods may not be listed");
        check(&json!({"serviceAccount": null}), "-");
    }
}
