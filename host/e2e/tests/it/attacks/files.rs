//! Files in the plugin directory that are swapped, that lead elsewhere, or whose names no plugin may have.

use super::kept::{check_kept, measure, start_with_good};
use crate::host::admin;
use crate::host::bench::{
    CONFIGURATION_HEAD, HostBench, LINES_DEADLINE, SECRET, await_told, built_plugin, drop_file,
    host_fact, pod_names,
};
use informant_e2e::host::{Host, Line};
use informant_e2e::poll;
use serde_json::Value;
use std::os::unix::fs::symlink;
use std::time::Duration;

/// More swaps than a host can check.
const SWAPS: u64 = 40;

fn runs(plugin: &Value) -> bool {
    plugin["state"] == "running"
}

/// The hash of the running file. Empty if the plugin does not run.
fn running(host: &Host, name: &str) -> String {
    let plugin = host.plugin(name).unwrap_or_default();
    if runs(&plugin) {
        plugin["sha256"].as_str().unwrap_or_default().to_owned()
    } else {
        String::new()
    }
}

async fn sha256(bench: &HostBench<'_>, host: &Host, built: &str) -> String {
    bench.drop_plugin(built, built);
    let plugin = host.await_plugin(built, "it to run", runs).await.unwrap();
    plugin["sha256"].as_str().expect("it has one").to_owned()
}

/// The check and the load read one and the same file, or none. Only the file that was checked runs, even if another
/// file replaces it in between.
#[test]
fn a_file_that_is_swapped_between_its_check_and_its_load_never_runs() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let good = sha256(&bench, &host, "event-printer").await;
        let bad = sha256(&bench, &host, "counter").await;
        assert_ne!(good, bad);
        let pin = format!("{CONFIGURATION_HEAD}PluginConfiguration\nsha256: {good}\n");
        std::fs::write(bench.plugins.join("pinned.yaml"), pin).expect("a file");
        bench.drop_plugin("counter", "pinned");
        let file = bench.plugins.join("pinned.wasm");
        let pause = async |milliseconds| poll::pause(Duration::from_millis(milliseconds)).await;
        for swap in 0..SWAPS {
            drop_file(&built_plugin("event-printer"), &file);
            pause(swap % 7).await;
            // In place, as an editor writes: the same file with other bytes.
            std::fs::copy(built_plugin("counter"), &file).expect("a file");
            pause(swap % 11 * 5).await;
            assert_ne!(running(&host, "pinned"), bad, "after {swap} swaps");
        }
        let refused = |plugin: &Value| plugin["lastLoad"]["reason"].to_string().contains(&bad);
        host.await_plugin("pinned", "the last file to be refused", refused).await.unwrap();
        assert_ne!(running(&host, "pinned"), bad);
        drop_file(&built_plugin("event-printer"), &file);
        let good_runs = |plugin: &Value| runs(plugin) && plugin["sha256"] == good.as_str();
        host.await_plugin("pinned", "what was named to run", good_runs).await.unwrap();
    });
}

/// A link in a plugin's place leads to a file that the host may read and the link's maker may not.
#[test]
fn a_link_shows_nothing_of_what_it_leads_to() {
    host_fact(async |bench| {
        let private = tempfile::tempdir().expect("a directory");
        let files = [
            ("token", SECRET.to_owned()),
            ("settings", format!("password: {SECRET}\nlist: [{SECRET}]\n")),
            ("key", format!("-----BEGIN KEY-----\n{SECRET}\n-----END KEY-----\n")),
            ("broken", format!("password: {SECRET}: {SECRET}\n  x: `{SECRET}\n")),
        ];
        for (name, text) in &files {
            let target = private.path().join(name);
            std::fs::write(&target, text).expect("a file");
            symlink(&target, bench.plugins.join(format!("{name}.yaml"))).expect("a link");
            bench.drop_plugin("event-printer", name);
            symlink(&target, bench.plugins.join(format!("as-{name}.wasm"))).expect("a link");
        }
        let host = bench.start(&[]).await;
        for (name, _) in &files {
            let refused = |plugin: &Value| plugin["state"] == "stopped";
            host.await_plugin(name, "its configuration to be refused", refused).await.unwrap();
            host.await_plugin(&format!("as-{name}"), "it to be no plugin", refused).await.unwrap();
        }
        for path in ["/plugins", "/problems", "/metrics"] {
            let body = host.get(path).expect("an answer").body;
            assert!(!body.contains(SECRET), "{path}: {body}");
        }
        let tells = |line: &Line| line.text.contains(SECRET);
        assert!(!host.lines().iter().any(tells), "{}", host.tail());
    });
}

#[test]
fn a_files_name_is_no_path_and_says_nothing_to_a_terminal() {
    host_fact(async |bench| {
        let long = "a".repeat(64);
        let names = [
            "two words",
            "%2e%2e%2fx",
            "a;b",
            "$(id)",
            "\u{1b}[2J",
            "x\nforged",
            "x\r",
            "ä",
            "a\u{202e}b",
            "a\u{2028}b",
            "plugin=\"x\"",
            &long,
        ];
        for name in names {
            bench.drop_plugin("event-printer", name);
        }
        // Files with these names are not plugins.
        for hidden in [".hidden", "..data"] {
            bench.drop_plugin("event-printer", hidden);
        }
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&[]).await;
        let all = async || {
            let problems = host.get("/problems").ok()?.json();
            (problems.as_array().map(Vec::len) == Some(names.len())).then_some(problems)
        };
        let problems = poll::until("a problem for each", LINES_DEADLINE, all).await.unwrap();
        for problem in problems.as_array().into_iter().flatten() {
            let text = problem["text"].as_str().unwrap_or_default();
            assert!(text.contains("cannot be a plugin's name"), "{problem}");
        }
        let plugins = host.get("/plugins").expect("an answer").json();
        assert_eq!(plugins.as_array().map(Vec::len), Some(1), "{plugins}");
        for line in host.lines() {
            assert!(!line.text.chars().any(char::is_control), "{:?}", line.text);
            assert!(!line.text.contains('\u{202e}'), "{:?}", line.text);
        }
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
        host.check_running().unwrap();
    });
}

/// Each file has as many bytes as a plugin's file may have, and none of them is on the disk. Reading and hashing them
/// would cost a third of a core.
#[test]
fn files_of_holes_cost_nobody_anything() {
    const FILES: usize = 40;
    host_fact(async |bench| {
        let mut host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        for number in 0..FILES {
            let file = bench.plugins.join(format!("hollow-{number}"));
            std::fs::write(&file, b"\0asm\x0d\0\x01\0").expect("a file");
            let hollow = std::fs::File::options().append(true).open(&file).expect("a file");
            hollow.set_len(64 << 20).expect("room for holes");
            std::fs::rename(&file, file.with_extension("wasm")).expect("it can be renamed");
        }
        let is_refused = |problem: &&Value| {
            problem["text"].as_str().is_some_and(|text| text.contains("bytes are holes"))
        };
        let all = async || {
            let problems = host.get("/problems").ok()?.json();
            let refused = problems.as_array()?.iter().filter(is_refused).count();
            (refused == FILES).then_some(())
        };
        poll::until("a problem for each", LINES_DEADLINE, all).await.unwrap();
        let plugins = host.get("/plugins").expect("an answer").json();
        assert_eq!(plugins.as_array().map(Vec::len), Some(1), "{plugins}");
        check_kept(promises).await;
        host.check_running().unwrap();
    });
}

/// Links to a file of `/proc` in the place of a plugin and of a configuration. Its size says nothing about its
/// content.
#[test]
fn files_that_change_at_every_look_say_so() {
    const REASON: &str = "changes at every look; write it under another name and rename it";
    host_fact(async |bench| {
        let host = start_with_good(&bench).await;
        let promises = measure(&bench, &host).await;
        for link in ["configured.yaml", "changing.wasm"] {
            symlink("/proc/uptime", bench.plugins.join(link)).expect("a link");
        }
        bench.drop_plugin("event-printer", "configured");
        let is_refused = |plugin: &Value| {
            let why = plugin["why"].to_string();
            plugin["state"] == "stopped" && why.matches(REASON).count() == 1
        };
        for name in ["configured", "changing"] {
            host.await_plugin(name, "it to be refused", is_refused).await.unwrap();
            admin::check(&bench, &host, &["plugin", "list"], &format!("{name}  "));
        }
        admin::check(&bench, &host, &["plugin", "list"], REASON);
        // The running version continues with its present configuration.
        symlink("/proc/uptime", bench.plugins.join("event-printer.yaml")).expect("a link");
        check_kept(promises).await;
        std::fs::remove_file(bench.plugins.join("configured.yaml")).expect("it is there");
        host.await_plugin("configured", "it to run", runs).await.unwrap();
        std::fs::remove_file(bench.plugins.join("changing.wasm")).expect("it is there");
        let is_gone = async || host.plugin("changing").is_err().then_some(());
        poll::until("the other to be gone", LINES_DEADLINE, is_gone).await.unwrap();
    });
}
