//! Plugins that misbehave affect no other plugin, and `/plugins` shows what happened. `plugins/test-guests` describes
//! the fault of each.

use serde_json::Value;

use crate::host::bench::{
    HostBench, LINES_DEADLINE, await_told, built_plugin, host_fact, pod_names, told,
};
use informant_e2e::host::Line;

/// A faulty guest beside event-printer: all lines of event-printer come, and `/plugins` shows the fault.
fn check_hurts_nobody(sin: &'static str, tells: impl Fn(&Value) -> bool + Copy) {
    check_together(sin, &[sin], |_, plugin| tells(plugin));
}

/// A guest that fails before it runs, with names that say in which export. Each is stopped, and `/plugins` shows its
/// words.
fn check_loads_hurt_nobody(guest: &'static str, told: &'static [(&str, &[&str])]) {
    let names: Vec<&str> = told.iter().map(|(name, _)| *name).collect();
    check_together(guest, &names, |name, plugin| {
        told.iter().any(|(one, words)| *one == name && is_stopped(plugin, words))
    });
}

/// Runs a guest with each of these names beside event-printer.
fn check_together(guest: &str, names: &[&str], tells: impl Fn(&str, &Value) -> bool + Copy) {
    check_together_after(|_| {}, guest, names, tells);
}

/// The same after some preparation.
fn check_together_after(
    prepare: impl Fn(&HostBench<'_>),
    guest: &str,
    names: &[&str],
    tells: impl Fn(&str, &Value) -> bool + Copy,
) {
    host_fact(async |bench| {
        prepare(&bench);
        bench.drop_plugin("event-printer", "event-printer");
        for name in names {
            bench.drop_plugin(guest, name);
        }
        let mut host = bench.start(&[]).await;
        let sinful = vec![guest.to_owned(), format!("{guest}-again")];
        let sinners = names;
        let names = pod_names(0..20);
        bench.create_pods(&names).await;
        bench.create_pods(&sinful).await;
        for sinner in sinners {
            let tells = |plugin: &Value| tells(sinner, plugin);
            host.await_plugin(sinner, "its sin to be told", tells).await.unwrap();
        }
        // A fault may be shown before event-printer runs, and event-printer logs only the changes that it sees.
        await_told(&host, &bench.namespace, "added", names.len()).await;
        bench.label_pods(&names).await;
        bench.delete_pods(&names).await;
        await_told(&host, &bench.namespace, "deleted", names.len()).await;

        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        for name in &names {
            let mut changes = told[name].clone();
            // The pod is labelled, and marked as being deleted on most servers.
            changes.dedup();
            assert_eq!(changes, ["added", "updated", "deleted"], "{name}");
        }
        let printer = host.plugin("event-printer").unwrap();
        assert_eq!(printer["state"], "running", "{printer}");
        host.check_running().unwrap();
    });
}

/// Whether the last load, the last error and the present state in `/plugins` contain all of these words.
fn told_of(plugin: &Value, words: &[&str]) -> bool {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (reason, load) = (text(&plugin["reason"]), text(&plugin["lastLoad"]["reason"]));
    let told = format!("{reason} {load} {}", text(&plugin["lastError"]["message"]));
    words.iter().all(|word| told.contains(word))
}

/// The number of instances that ended for this cause.
fn ended_by(plugin: &Value, cause: &str) -> u64 {
    plugin["counters"]["restarts"][cause].as_u64().unwrap_or_default()
}

fn is_stopped(plugin: &Value, words: &[&str]) -> bool {
    plugin["state"] == "stopped" && told_of(plugin, words)
}

/// A version of the guest replaces another version and fails as its name says, and `/plugins` shows these words. The
/// previous version continues.
fn check_reload_hurts_nobody(guest: &'static str, name: &'static str, words: &'static [&str]) {
    host_fact(async |bench| {
        let file = bench.plugins.join(format!("{name}.wasm"));
        let content = std::fs::read(built_plugin(guest)).expect("it is built");
        let put = |content: &[u8]| {
            let partial = file.with_extension("partial");
            std::fs::write(&partial, content).expect("a file");
            std::fs::rename(&partial, &file).expect("a rename");
        };
        put(&content);
        let mut host = bench.start(&[]).await;
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin(name, "it to run", runs).await.unwrap();
        // The same code with another last section, which is not read.
        put(&[content.as_slice(), &[0, 2, 1, b'v']].concat());
        let told = |line: &Line| {
            line.field("plugin") == Some(name) && words.iter().all(|word| line.text.contains(word))
        };
        host.await_line("the sin to be told", LINES_DEADLINE, told).await.unwrap();
        host.await_plugin(name, "one of the versions to go on", runs).await.unwrap();
        bench.create_pods(&["after".to_owned()]).await;
        let well = |plugin: &Value| plugin["counters"]["ok"].as_u64() >= Some(1);
        host.await_plugin(name, "it to be told", well).await.unwrap();
        host.check_running().unwrap();
    });
}

#[test]
fn trap_hurts_nobody() {
    // The error contains the compiler's name of the failing code.
    check_hurts_nobody("trap", |plugin| told_of(plugin, &["unreachable", ", in ", "Trap"]));
}

#[test]
fn trap_keys_hurts_nobody() {
    check_hurts_nobody("trap-keys", |plugin| {
        let given_up = plugin["workqueue"]["givenUp"].as_array().cloned().unwrap_or_default();
        let is_told = |key: &Value| key["key"].as_str().is_some_and(|it| it.contains("/trap-keys"));
        given_up.iter().any(is_told) && ended_by(plugin, "trap") >= 3
    });
}

#[test]
fn trap_in_describe_or_start_hurts_nobody() {
    check_loads_hurt_nobody(
        "trap",
        &[
            ("trap-in-describe", &["describe failed", "unreachable"]),
            ("trap-in-start", &["start failed", "unreachable"]),
        ],
    );
}

#[test]
fn trap_in_snapshot_hurts_nobody() {
    check_reload_hurts_nobody("trap", "trap-in-snapshot", &["snapshot failed", "unreachable"]);
}

#[test]
fn trap_in_restore_hurts_nobody() {
    check_reload_hurts_nobody("trap", "trap-in-restore", &["restore failed", "unreachable"]);
}

#[test]
fn trap_in_stop_hurts_nobody() {
    check_reload_hurts_nobody("trap", "trap-in-stop", &["stop of the old version failed"]);
}

#[test]
fn moods_hurts_nobody() {
    // Without a configuration the guest cannot read its mood.
    check_hurts_nobody("moods", |plugin| is_stopped(plugin, &["missing field"]));
}

#[test]
fn absent_resource_hurts_nobody() {
    let waits = |plugin: &Value| plugin["subscriptions"][0]["informer"]["state"] == "waiting";
    check_hurts_nobody("absent-resource", waits);
}

#[test]
fn spin_hurts_nobody() {
    check_hurts_nobody("spin", |plugin| told_of(plugin, &["the deadline of 1000 ms", ", in "]));
}

#[test]
fn spin_in_start_hurts_nobody() {
    let name = "spin-in-start";
    let limited = |bench: &HostBench<'_>| bench.limit_plugin(name, "startTime: 1s");
    let words = ["start failed", "deadline of 1000 ms"];
    check_together_after(limited, "spin", &[name], |_, plugin| is_stopped(plugin, &words));
}

#[test]
fn spin_in_stop_hurts_nobody() {
    check_reload_hurts_nobody("spin", "spin-in-stop", &["stop of the old version", "2000 ms"]);
}

#[test]
fn calls_for_ever_hurts_nobody() {
    check_hurts_nobody("calls-for-ever", |plugin| told_of(plugin, &["the deadline of 1000 ms"]));
}

#[test]
fn allocate_hurts_nobody() {
    check_hurts_nobody("allocate", |plugin| {
        told_of(plugin, &["more than 64 MiB of memory"]) && ended_by(plugin, "memory") > 0
    });
}

#[test]
fn grows_slowly_hurts_nobody() {
    check_hurts_nobody("grows-slowly", |plugin| ended_by(plugin, "memory") > 0);
}

#[test]
fn tables_hurts_nobody() {
    check_hurts_nobody("tables", |plugin| {
        told_of(plugin, &["tables of more than 100000 elements", ", in sin"])
    });
}

#[test]
fn stack_hurts_nobody() {
    check_hurts_nobody("stack", |plugin| told_of(plugin, &["call stack exhausted", "in deeper"]));
}

#[test]
fn fail_hurts_nobody() {
    check_hurts_nobody("fail", |plugin| {
        let counters = &plugin["counters"];
        // Two objects fail. The same instance handles all other objects.
        counters["retry"].as_u64() >= Some(2)
            && counters["ok"].as_u64() >= Some(20)
            && counters["restarts"].as_object().is_some_and(serde_json::Map::is_empty)
            && told_of(plugin, &["asked to fail by"])
    });
}

#[test]
fn log_flood_hurts_nobody() {
    let tells = |plugin: &Value| {
        plugin["state"] == "running"
            && plugin["counters"]["logLinesDropped"].as_u64() > Some(30_000)
    };
    // The limit is low, so that the lines count as a flood even if a call of 20,000 lines takes long.
    let limit = |bench: &HostBench<'_>| bench.limit_plugin("log-flood", "logLines: 20");
    check_together_after(limit, "log-flood", &["log-flood"], |_, plugin| tells(plugin));
}

#[test]
fn log_flood_of_one_line_hurts_nobody() {
    host_fact(async |bench| {
        bench.drop_plugin("log-flood", "log-flood");
        let mut host = bench.start(&[]).await;
        bench.create_pods(&["log-flood-long".to_owned()]).await;
        let cut = |line: &Line| line.message().ends_with("… (4177920 bytes more)");
        let line = host.await_line("the line, cut", LINES_DEADLINE, cut).await.unwrap();
        assert!(line.text.len() < 17 << 10, "{} bytes", line.text.len());
        host.check_running().unwrap();
    });
}

#[test]
fn huge_return_hurts_nobody() {
    check_hurts_nobody("huge-return", |plugin| ended_by(plugin, "trap") > 0);
}

#[test]
fn invalid_utf8_hurts_nobody() {
    check_hurts_nobody("invalid-utf8", |plugin| told_of(plugin, &["utf-8"]));
}

#[test]
fn re_enters_hurts_nobody() {
    check_hurts_nobody("re-enters", |plugin| told_of(plugin, &["cannot leave component instance"]));
}

#[test]
fn forges_hurts_nobody() {
    host_fact(async |bench| {
        bench.drop_plugin("forges", "forges");
        let mut host = bench.start(&[]).await;
        bench.create_pods(&["forges".to_owned()]).await;
        let done = |line: &Line| line.message().starts_with("forgeries done");
        host.await_line("every forgery to be tried", LINES_DEADLINE, done).await.unwrap();
        let lines = host.lines_of("forges");
        let refused = lines.iter().filter(|line| line.message().starts_with("refused: "));
        assert!(refused.count() >= 6, "{lines:?}");
        let forger = host.plugin("forges").unwrap();
        assert_eq!(forger["counters"]["restarts"], serde_json::json!({}), "{forger}");
        // No informer was started for it.
        let metrics = host.get("/metrics").unwrap().body;
        assert!(!metrics.contains("resource=\"v1/secrets\""), "{metrics}");
        host.check_running().unwrap();
    });
}

#[test]
fn start_fails_hurts_nobody() {
    check_hurts_nobody("start-fails", |plugin| {
        is_stopped(plugin, &["start failed", "asked to fail at start"])
    });
}

#[test]
fn restore_fails_hurts_nobody() {
    let words = &[r#"restore failed: the plugin answered: asked to refuse \"what I know\" of"#];
    check_reload_hurts_nobody("restore-fails", "restorer", words);
}

#[test]
fn describe_garbage_hurts_nobody() {
    check_hurts_nobody("describe-garbage", |plugin| {
        is_stopped(plugin, &["descriptor as a whole: is not JSON"])
    });
}

#[test]
fn describe_unknown_key_hurts_nobody() {
    check_hurts_nobody("describe-unknown-key", |plugin| {
        is_stopped(plugin, &["unknown key \"resuorce\"", "did you mean \"resource\"?"])
    });
}

#[test]
fn describe_nonsense_hurts_nobody() {
    check_hurts_nobody("describe-nonsense", |plugin| {
        is_stopped(plugin, &["descriptor subscriptions[0]: resource \"all the pods, please\""])
    });
}

#[test]
fn asks_for_secrets_hurts_nobody() {
    check_hurts_nobody("asks-for-secrets", |plugin| {
        told_of(plugin, &["asks to read v1/secrets, which is not granted"])
    });
}

#[test]
fn no_exports_hurts_nobody() {
    check_hurts_nobody("no-exports", |plugin| is_stopped(plugin, &["does not export"]));
}

#[test]
fn wrong_version_hurts_nobody() {
    check_hurts_nobody("wrong-version", |plugin| {
        is_stopped(plugin, &["made for contract informant:plugin@0.2.0"])
    });
}

#[test]
fn wrong_world_hurts_nobody() {
    check_hurts_nobody("wrong-world", |plugin| is_stopped(plugin, &["does not keep the contract"]));
}

#[test]
fn unknown_import_hurts_nobody() {
    check_hurts_nobody("unknown-import", |plugin| {
        is_stopped(
            plugin,
            &["imports wasi:http/outgoing-handler@0.2.6, which this host does not offer"],
        )
    });
}

#[test]
fn exits_hurts_nobody() {
    check_hurts_nobody("exits", |plugin| told_of(plugin, &["trap: it called exit(1), as os.Exit"]));
}

#[test]
fn exits_in_describe_or_start_hurts_nobody() {
    check_loads_hurt_nobody(
        "exits",
        &[
            ("exits-in-describe", &["describe failed", "it called exit(1)"]),
            ("exits-in-start", &["start failed", "it called exit(1)"]),
        ],
    );
}

#[test]
fn exits_in_snapshot_hurts_nobody() {
    check_reload_hurts_nobody("exits", "exits-in-snapshot", &["snapshot failed", "exit(1)"]);
}

#[test]
fn exits_in_restore_hurts_nobody() {
    check_reload_hurts_nobody("exits", "exits-in-restore", &["restore failed", "exit(1)"]);
}

#[test]
fn exits_in_stop_hurts_nobody() {
    check_reload_hurts_nobody("exits", "exits-in-stop", &["stop of the old version", "exit(1)"]);
}

#[test]
fn asks_system_hurts_nobody() {
    // `attacks/system.rs` tests what it finds and what else it tries.
    check_hurts_nobody("asks-system", |plugin| {
        let empty = plugin["wasi"]["empty"].as_array().cloned().unwrap_or_default();
        plugin["counters"]["ok"].as_u64() >= Some(2)
            && !is_hurt(plugin)
            && ["files", "network"].iter().all(|one| empty.contains(&(*one).into()))
    });
}

#[test]
fn asks_outside_hurts_nobody() {
    // `outbound.rs` tests its granted requests.
    let words =
        ["to GET https://kubernetes.default.svc is not granted", "plugins: {asks-outside: {http: "];
    check_hurts_nobody("asks-outside", |plugin| told_of(plugin, &words));
}

#[test]
fn writer_hurts_nobody() {
    // `writes.rs` tests its granted writes.
    let words = ["to patch v1/pods in", "is not granted", "plugins: {writer: {writes: "];
    check_hurts_nobody("writer", |plugin| told_of(plugin, &words));
}

#[test]
fn not_wasm_hurts_nobody() {
    check_hurts_nobody("not-wasm", |plugin| is_stopped(plugin, &["not a WebAssembly file"]));
}

#[test]
fn witness_hears_once_that_what_was_there_is_through() {
    host_fact(async |bench| {
        bench.create_pods(&pod_names(0..3)).await;
        bench.drop_plugin("witness", "witness");
        let host = bench.start(&[]).await;
        let is_synced = |line: &Line| line.message() == "synced";
        host.await_line("that it has synced", LINES_DEADLINE, is_synced).await.unwrap();
        let lines = host.lines_of("witness");
        let before = lines.iter().take_while(|line| !is_synced(line));
        let told = before.filter(|line| line.message().starts_with("told ")).count();
        assert!(told >= 3, "all that was there comes before: {lines:?}");
        assert_eq!(lines.iter().filter(|line| is_synced(line)).count(), 1);
    });
}

#[test]
fn attacker_hurts_nobody() {
    // `attacks` tests its tries.
    check_hurts_nobody("attacker", |plugin| {
        plugin["counters"]["ok"].as_u64() >= Some(2) && !is_hurt(plugin)
    });
}

/// The heap of Rust's SDK, beside another user of the same memory. The guest runs if no byte was lost.
#[test]
fn uses_heap_hurts_nobody() {
    check_hurts_nobody("uses-heap", |plugin| plugin["state"] == "running");
}

#[test]
fn answers_hurts_nobody() {
    // `election.rs` uses it.
    check_hurts_nobody("answers", |plugin| plugin["state"] == "running");
}

/// The good plugin of the soak. It would trap if it did not get the promised events.
#[test]
fn witness_hurts_nobody() {
    check_hurts_nobody("witness", |plugin| {
        plugin["counters"]["ok"].as_u64() >= Some(22) && !is_hurt(plugin)
    });
}

fn is_hurt(plugin: &Value) -> bool {
    plugin["state"] != "running" || plugin["counters"]["retry"].as_u64() > Some(0)
}
