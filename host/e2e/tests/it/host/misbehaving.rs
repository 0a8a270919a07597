//! Plugins that misbehave hurt nobody else, and `/plugins` says what happened. What each sin does is
//! written in `plugins/test-guests`.

use serde_json::Value;

use crate::host::bench::{await_told, built_plugin, host_fact, pod_names, told};

/// The sinner beside event-printer: all of event-printer's lines come, and `/plugins` tells of the sin.
fn check_hurts_nobody(sin: &'static str, tells: impl Fn(&Value) -> bool + Copy) {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        bench.drop_plugin(sin, sin);
        let mut host = bench.start(&[]).await;
        let names = pod_names(0..20);
        let sinful = vec![sin.to_owned(), format!("{sin}-again")];
        bench.create_pods(&names).await;
        bench.create_pods(&sinful).await;
        host.await_plugin(sin, "its sin to be told", tells).await.unwrap();
        // A sin may be told before event-printer runs; what it does not see it cannot tell.
        await_told(&host, &bench.namespace, "added", names.len()).await;
        bench.label_pods(&names).await;
        bench.delete_pods(&names).await;
        await_told(&host, &bench.namespace, "deleted", names.len()).await;

        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        for name in &names {
            let mut changes = told[name].clone();
            // Labelled, and on most servers marked as being deleted.
            changes.dedup();
            assert_eq!(changes, ["added", "updated", "deleted"], "{name}");
        }
        let printer = host.plugin("event-printer").unwrap();
        assert_eq!(printer["state"], "running", "{printer}");
        host.check_running().unwrap();
    });
}

/// The reason that `/plugins` gives has one of these words.
fn reason_has(plugin: &Value, words: &[&str]) -> bool {
    let reason = plugin["reason"].as_str().unwrap_or_default();
    let last = plugin["lastLoad"]["reason"].as_str().unwrap_or_default();
    let told = format!("{reason} {last}").to_lowercase();
    words.iter().any(|word| told.contains(word))
}

#[test]
fn trap_hurts_nobody() {
    check_hurts_nobody("trap", |plugin| reason_has(plugin, &["trap", "panic", "unreachable"]));
}

#[test]
fn absent_resource_hurts_nobody() {
    let waits = |plugin: &Value| plugin["subscriptions"][0]["informer"]["state"] == "waiting";
    check_hurts_nobody("absent-resource", waits);
}

#[test]
fn spin_hurts_nobody() {
    check_hurts_nobody("spin", |plugin| reason_has(plugin, &["deadline", "time"]));
}

#[test]
fn allocate_hurts_nobody() {
    check_hurts_nobody("allocate", |plugin| reason_has(plugin, &["memory", "trap"]));
}

#[test]
fn fail_hurts_nobody() {
    check_hurts_nobody("fail", |plugin| !plugin["counters"].is_null());
}

#[test]
fn log_flood_hurts_nobody() {
    check_hurts_nobody("log-flood", |plugin| plugin["state"] == "running");
}

#[test]
fn start_fails_hurts_nobody() {
    check_hurts_nobody("start-fails", |plugin| reason_has(plugin, &["start"]));
}

#[test]
fn restore_fails_hurts_nobody() {
    let runs = |plugin: &Value| plugin["state"] == "running";
    host_fact(async |bench| {
        let file = bench.plugins.join("restorer.wasm");
        let content = std::fs::read(built_plugin("restore-fails")).expect("it is built");
        let put = |content: &[u8]| {
            let partial = file.with_extension("partial");
            std::fs::write(&partial, content).expect("a file");
            std::fs::rename(&partial, &file).expect("a rename");
        };
        put(&content);
        let mut host = bench.start(&[]).await;
        host.await_plugin("restorer", "it to run", runs).await.unwrap();
        // The same code: the last section is one that nobody reads.
        put(&[content.as_slice(), &[0, 2, 1, b'v']].concat());
        let refused = |plugin: &Value| {
            let reason = plugin["lastLoad"]["reason"].as_str().unwrap_or_default();
            reason.contains(
                r#"restore failed: the plugin answered: asked to refuse "what I know" of"#,
            )
        };
        host.await_plugin("restorer", "the refusal", refused).await.unwrap();
        host.await_plugin("restorer", "it to go on", runs).await.unwrap();
        host.check_running().unwrap();
    });
}

#[test]
fn describe_garbage_hurts_nobody() {
    check_hurts_nobody("describe-garbage", |plugin| {
        reason_has(plugin, &["describe", "descriptor"])
    });
}

#[test]
fn describe_unknown_key_hurts_nobody() {
    check_hurts_nobody("describe-unknown-key", |plugin| reason_has(plugin, &["unknown", "key"]));
}

#[test]
fn no_exports_hurts_nobody() {
    check_hurts_nobody("no-exports", |plugin| reason_has(plugin, &["export"]));
}

#[test]
fn wrong_version_hurts_nobody() {
    check_hurts_nobody("wrong-version", |plugin| reason_has(plugin, &["0.2.0"]));
}

#[test]
fn not_wasm_hurts_nobody() {
    check_hurts_nobody("not-wasm", |plugin| reason_has(plugin, &["wasm", "webassembly"]));
}
