//! Shipped plugins without a cluster: each runs over its own `testdata`, and its output is compared with the kept one.
//! `UPDATE_EXPECT=1` writes the kept output again.

use std::path::Path;

use informant_e2e::host::{self, run_to_end};
use informant_e2e::{paths, skip};

use crate::host::sdk::is_asked_for;

/// Runs the plugin over its `testdata` with its shipped file. Returns whether it succeeded, its output, and its
/// messages.
fn run(program: &Path, plugin: &Path, name: &str, more: &[&str]) -> (bool, String, String) {
    let folder = paths::root().join("plugins").join(name);
    let shown = |path: &Path| path.display().to_string();
    let [objects, events, own] =
        ["testdata/cluster", "testdata/events.jsonl", "testdata/host.yaml"]
            .map(|it| folder.join(it));
    let mut arguments = vec!["plugin".to_owned(), "test".to_owned(), shown(plugin)];
    let mut add = |option: &str, path: &Path| arguments.extend([option.to_owned(), shown(path)]);
    add("--plugin-config", &folder.join(format!("{name}.yaml")));
    add("--objects", &objects);
    add("--events", &events);
    if own.exists() {
        add("--config", &own);
    }
    arguments.extend(more.iter().map(|&it| it.to_owned()));
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let output = run_to_end(program, &arguments).expect("it runs");
    let text = |bytes| String::from_utf8(bytes).expect("it is text");
    (output.status.success(), text(output.stdout), text(output.stderr))
}

#[track_caller]
fn check(name: &str, language: &str) {
    let Some(program) = host::program().expect("the program that is named exists") else {
        return skip::say(
            "target/debug/informant is not built; `cargo build -p informant` builds it",
        );
    };
    let plugin = paths::target_directory().join("plugins").join(format!("{name}.wasm"));
    if !plugin.exists() {
        assert!(!is_asked_for(language), "make plugins has not built {name}");
        return skip::say(&format!("{name} is not built; `make {language}-plugins` builds it"));
    }
    let golden = paths::root().join("plugins").join(name).join("testdata/run.golden");
    let golden = golden.display().to_string();
    let mut against = vec!["--golden", &golden];
    against.extend(std::env::var_os("UPDATE_EXPECT").map(|_| "--update"));
    let (success, shown, said) = run(&program, &plugin, name, &against);
    assert!(success, "{name}: {shown}{said}");
    let expect = std::fs::read_to_string(&golden).expect("it is there");
    for _ in 0..2 {
        let (success, shown, said) = run(&program, &plugin, name, &[]);
        assert!(shown == expect, "{name}, run again, shows something else: {shown}{said}");
        // Without a golden file, work that was given up is a failure.
        assert_eq!(success, !expect.contains(" gave up\n"), "{name}: {said}");
        assert_eq!(success, !said.contains("gave up on "), "{name}: {said}");
    }
}

/// The example of a controller that writes sees its own writes, and ends with the one policy less and no work left.
#[test]
fn a_controller_comes_to_rest_where_its_writes_are_applied() {
    let Some(program) = host::program().expect("the program that is named exists") else {
        return skip::say("target/debug/informant is not built; `make everyday-build` builds it");
    };
    let plugin = paths::target_directory().join("plugins/default-deny.wasm");
    if !plugin.exists() {
        return skip::say("default-deny is not built; `make plugins` builds it");
    }
    let folder = paths::root().join("examples/default-deny");
    let shown = |path: &str| folder.join(path).display().to_string();
    let [config, objects, events, golden] =
        ["informant.yaml", "testdata/cluster", "testdata/events.jsonl", "testdata/run.golden"]
            .map(shown);
    let plugin = plugin.display().to_string();
    let mut arguments = vec!["plugin", "test", &plugin, "--apply-writes", "--config", &config];
    arguments.extend(["--objects", &objects, "--events", &events, "--golden", &golden]);
    arguments.extend(std::env::var_os("UPDATE_EXPECT").map(|_| "--update"));
    let output = run_to_end(&program, &arguments).expect("it runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[test]
fn event_printer() {
    check("event-printer", "rust");
}

#[test]
fn bandwidth() {
    check("bandwidth", "rust");
}

#[test]
fn node_watcher() {
    check("node-watcher", "go");
}

#[test]
fn config_reloader() {
    check("config-reloader", "go");
}

#[test]
fn restart_alert() {
    check("restart-alert", "js");
}

#[test]
fn orphan_finder() {
    check("orphan-finder", "python");
}
