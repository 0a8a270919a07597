//! `informant plugin`: the plugins of a running host, and plugin files and projects without a host.

use super::ask::{act, block_on, cell, client, print, whole_seconds};
use super::check::check;
use super::list::{Columns, show};
use super::plugin_build::build;
use super::plugin_new::new;
use super::plugin_test::plugin_test;
use super::yaml::yaml;
use crate::actions::OneSchedule;
use crate::cli::{DescribeArgs, FireArgs, ListOfPlugins, ListOutput, PluginArgs, PluginCommand};
use anyhow::{Result, anyhow};
use informant_runtime::configuration::nearest;
use informant_runtime::one_line;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// Asks the host and shows its answer.
pub(crate) fn plugin(args: PluginArgs) -> Result<()> {
    match args.command {
        PluginCommand::New(args) => new(&args),
        PluginCommand::Build(args) => build(args),
        PluginCommand::Check(args) => check(&args),
        PluginCommand::Test(args) => plugin_test(&args),
        PluginCommand::List(args) => list(&args),
        PluginCommand::Describe(args) => describe(&args),
        PluginCommand::Reload(plugin) => act(&plugin, "reload", None),
        PluginCommand::Rollback(plugin) => act(&plugin, "rollback", None),
        PluginCommand::Pause(plugin) => act(&plugin, "pause", None),
        PluginCommand::Resume(plugin) => act(&plugin, "resume", None),
        PluginCommand::Fire(FireArgs { plugin, schedule }) => {
            let schedule = serde_json::to_value(OneSchedule { schedule })?;
            act(&plugin, "fire", Some(schedule))
        }
    }
}

fn list(args: &ListOfPlugins) -> Result<()> {
    let (names, list) = (&args.names, &args.list);
    let client = client(&list.admin)?;
    let plugins = named(&block_on(client.get("/plugins"))?, names)?;
    let none = "no plugins: the host's directories have no plugin file yet";
    show(&plugins, list.output, &COLUMNS, none)?;
    let is_whole = names.is_empty();
    if let (true, ListOutput::Text | ListOutput::Wide) = (is_whole, list.output) {
        for line in problems(&block_on(client.get("/problems"))?) {
            print(&line);
        }
    }
    Ok(())
}

fn describe(args: &DescribeArgs) -> Result<()> {
    let plugins = block_on(client(&args.admin)?.get("/plugins"))?;
    for plugin in named(&plugins, std::slice::from_ref(&args.name))? {
        print(&yaml(&plugin)?);
    }
    Ok(())
}

/// The plugins with these names, or all of them.
fn named(plugins: &Value, names: &[String]) -> Result<Vec<Value>> {
    let all = plugins.as_array().map(Vec::as_slice).unwrap_or_default();
    let of = |name: &String| {
        let found = all.iter().find(|plugin| plugin["name"] == **name);
        found.cloned().ok_or_else(|| {
            let known: Vec<_> = all.iter().filter_map(|plugin| plugin["name"].as_str()).collect();
            let near = nearest(name, &known).map(|near| format!("; did you mean {near}?"));
            anyhow!("the host has no plugin {name}{}", near.unwrap_or_default())
        })
    };
    match names.is_empty() {
        true => Ok(all.to_vec()),
        false => names.iter().map(of).collect(),
    }
}

/// The problems of files that are not plugins, one line each.
fn problems(problems: &Value) -> Vec<String> {
    let problem = |problem: &Value| {
        let text = |key: &str| problem[key].as_str().unwrap_or_default().to_owned();
        // A file's name may contain any characters.
        let line = format!("problem: {} {}", text("path"), text("text"));
        one_line(&line, PROBLEM_BYTES_MAX).into_owned()
    };
    problems.as_array().into_iter().flatten().map(problem).collect()
}

/// The number of bytes of a problem's line: a path and a sentence or two.
const PROBLEM_BYTES_MAX: usize = 1 << 10;

const COLUMNS: Columns = Columns {
    heads: &[
        "NAME", "STATE", "VERSION", "WAITING", "EVENTS", "KEYS", "FIRINGS", "RETRIED", "LETTERS",
        "WHY",
    ],
    row,
    wide_heads: &["SHARDS", "SINCE", "SERVICE ACCOUNT", "RESOURCES"],
    wide_row,
    name: |plugin| cell(&plugin["name"]),
};

fn wide_row(plugin: &Value) -> Vec<String> {
    let subscriptions = plugin["subscriptions"].as_array().into_iter().flatten();
    let resources: BTreeSet<&str> =
        subscriptions.filter_map(|it| it["resource"].as_str()).collect();
    let resources: Vec<&str> = resources.into_iter().collect();
    vec![
        plugin["shards"].as_array().map_or(0, Vec::len).to_string(),
        whole_seconds(&plugin["since"]),
        cell(&plugin["serviceAccount"]["name"]),
        cell(&json!(resources.join(","))),
    ]
}

/// The row of a plugin. The numbers of waiting and retried work count events, keys and firings together.
fn row(plugin: &Value) -> Vec<String> {
    let counters = &plugin["counters"];
    let sum = |values: &[&Value]| {
        let values = values.iter().filter_map(|value| value.as_u64());
        json!(values.sum::<u64>())
    };
    let waiting =
        [&plugin["queue"]["depth"], &plugin["workqueue"]["waiting"], &plugin["timers"]["waiting"]];
    let retried = ["retry", "keysRetry", "firingsRetry"].map(|key| &counters[key]);
    let why: Vec<&str> =
        plugin["why"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let cells = [
        &plugin["name"],
        &plugin["state"],
        &plugin["version"],
        &sum(&waiting),
        &counters["ok"],
        &counters["keysOk"],
        &counters["firings"],
        &sum(&retried),
        &plugin["deadLetters"],
        &json!(why.join("; ")),
    ];
    cells.map(cell).to_vec()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_the_named_plugins_in_their_order_or_names_the_nearest() {
        let plugins = json!([{"name": "a"}, {"name": "hello"}]);
        let check = |names: &[&str], expect: &str| {
            let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
            let shown = match named(&plugins, &names) {
                Ok(found) => {
                    found.iter().map(|plugin| cell(&plugin["name"])).collect::<Vec<_>>().join(" ")
                }
                Err(error) => error.to_string(),
            };
            assert_eq!(shown, expect);
        };
        check(&[], "a hello");
        check(&["hello", "a"], "hello a");
        check(&["helo"], "the host has no plugin helo; did you mean hello?");
    }

    #[test]
    fn a_problem_is_one_line() {
        let problem = json!({"path": "/plugins/a\nb.wasm", "text": "is not loaded: no"});
        assert_eq!(problems(&json!([problem])), ["problem: /plugins/a\\nb.wasm is not loaded: no"]);
        assert!(problems(&json!([])).is_empty());
    }

    #[test]
    fn a_row_sums_up_what_a_plugin_does_and_says_why_it_does_not() {
        let plugin = json!({
            "name": "a", "state": "running", "version": "1", "deadLetters": 2,
            "queue": {"depth": 3}, "workqueue": {"waiting": 4}, "timers": {"waiting": 1},
            "counters": {
                "ok": 5, "keysOk": 6, "firings": 7, "retry": 8, "keysRetry": 9, "firingsRetry": 10,
            },
            "why": ["v1/pod is waiting", "2 dead letters: no"],
        });
        let why = "v1/pod is waiting; 2 dead letters: no";
        assert_eq!(row(&plugin), ["a", "running", "1", "8", "5", "6", "7", "27", "2", why]);
        let last = |why: Value| row(&json!({ "why": why })).pop();
        assert_eq!(last(json!([])).as_deref(), Some("-"));
    }

    #[test]
    fn a_wide_row_has_what_the_plugin_runs_as_and_watches() {
        let subscription = |resource| json!({"name": "a", "resource": resource});
        let plugin = json!({
            "shards": [{}, {}], "since": "2026-11-25T14:03:05.123Z", "serviceAccount": null,
            "subscriptions": [subscription("v1/pods"), subscription("v1/nodes"), subscription("v1/pods")],
        });
        assert_eq!(wide_row(&plugin), ["2", "2026-11-25T14:03:05Z", "-", "v1/nodes,v1/pods"]);
    }
}
