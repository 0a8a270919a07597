//! A plugin is its file: the file is replaced, broken, removed and restored while events flow.

use std::time::Duration;

use serde_json::Value;

use crate::host::bench::{
    HostBench, LINES_DEADLINE, await_told, built_plugin, drop_file, host_fact, pod_names, told,
};
use informant_e2e::host::Host;
use informant_e2e::poll;

/// Creates a pod every few milliseconds until the other work is done.
async fn while_pods_come<T>(
    bench: &HostBench<'_>,
    from: usize,
    other: impl Future<Output = T>,
) -> T {
    let mut other = std::pin::pin!(other);
    let mut number = from;
    loop {
        let names = pod_names(number..number + 1);
        tokio::select! {
            done = &mut other => return done,
            () = bench.create_pods(&names) => number += 1,
        }
    }
}

/// Whether this is hello-wat's line about a pod.
fn is_hello(message: &str) -> bool {
    message.starts_with("hello from WAT: ")
}

#[test]
fn replaced_file_takes_over_while_events_flow() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "printer");
        let host = bench.start(&[]).await;
        let first = |line: &informant_e2e::host::Line| line.message().starts_with("added pod");
        while_pods_come(&bench, 0, async {
            host.await_line("the first version's line", LINES_DEADLINE, first).await.unwrap();
            bench.drop_plugin("hello-wat", "printer");
            let hello = |line: &informant_e2e::host::Line| is_hello(line.message());
            host.await_line("the second version's line", LINES_DEADLINE, hello).await.unwrap();
        })
        .await;

        let lines = host.lines_of("printer");
        let first_hello = lines.iter().position(|line| is_hello(line.message())).expect("a hello");
        let late = lines[first_hello..].iter().find(|line| line.message().contains(" pod "));
        assert!(late.is_none(), "the old version spoke after the new one: {late:?}");
    });
}

#[test]
fn file_that_is_written_slowly_is_loaded_when_it_is_complete() {
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let bytes = std::fs::read(built_plugin("event-printer")).unwrap();
        let path = bench.plugins.join("event-printer.wasm");
        let mut written = std::fs::File::create(&path).unwrap();
        for chunk in bytes.chunks(bytes.len().div_ceil(8)) {
            std::io::Write::write_all(&mut written, chunk).unwrap();
            // The pause must be shorter than the quiet time after which a file counts as complete.
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        drop(written);
        host.await_plugin("event-printer", "to run", is_running).await.unwrap();
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
    });
}

fn is_running(plugin: &Value) -> bool {
    plugin["state"] == "running"
}

/// Invariant 24.
#[test]
fn broken_file_changes_nothing_but_a_line_that_says_why() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        bench.create_pods(&pod_names(0..10)).await;
        await_told(&host, &bench.namespace, "added", 10).await;
        let before = host.plugin("event-printer").unwrap();

        break_file(&bench, &host, b"this is no WebAssembly").await;
        let half = std::fs::read(built_plugin("event-printer")).unwrap();
        break_file(&bench, &host, &half[..half.len() / 2]).await;

        bench.create_pods(&pod_names(10..20)).await;
        await_told(&host, &bench.namespace, "added", 20).await;
        let told = told(&host.lines_of("event-printer"), &bench.namespace);
        assert!(told.values().all(|changes| *changes == ["added"]), "nothing came twice: {told:?}");
        let after = host.plugin("event-printer").unwrap();
        assert_eq!((&after["state"], &after["sha256"]), (&before["state"], &before["sha256"]));

        // The good file again, with no further effects of the broken one.
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(20..30)).await;
        await_told(&host, &bench.namespace, "added", 30).await;
    });
}

async fn break_file(bench: &HostBench<'_>, host: &Host, bytes: &[u8]) {
    let lines_before = host.lines().len();
    let seen_before = host.plugin("event-printer").unwrap()["lastLoad"]["sha256"].clone();
    let broken = bench.plugins.join("broken-bytes");
    std::fs::write(&broken, bytes).unwrap();
    drop_file(&broken, &bench.plugins.join("event-printer.wasm"));
    let refused = |plugin: &Value| {
        let last = &plugin["lastLoad"];
        last["sha256"] != seen_before && last["reason"].as_str().is_some_and(|why| !why.is_empty())
    };
    let plugin = host.await_plugin("event-printer", "a refused load", refused).await.unwrap();
    assert!(is_running(&plugin), "the old version goes on: {plugin}");
    let said = || {
        let lines = host.lines();
        let of_plugin = lines[lines_before..]
            .iter()
            .filter(|line| line.field("plugin") == Some("event-printer"));
        let levels = of_plugin.filter_map(|line| line.field("level"));
        levels.filter(|level| matches!(*level, "WARN" | "ERROR" | "warn" | "error")).count()
    };
    // A separate thread writes the lines.
    let is_said = async || (said() > 0).then_some(());
    poll::until("a line that says why", LINES_DEADLINE, is_said).await.unwrap();
    assert_eq!(said(), 1, "one line says why:\n{}", host.tail());
}

#[test]
fn removed_file_ends_the_plugin_and_a_new_one_starts_it() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
        std::fs::remove_file(bench.plugins.join("event-printer.wasm")).unwrap();
        let gone = async || {
            let plugin = host.plugin("event-printer");
            plugin.map_or(true, |plugin| plugin["state"] == "stopped").then_some(())
        };
        informant_e2e::poll::until("the plugin to end", LINES_DEADLINE, gone).await.unwrap();
        bench.create_pods(&pod_names(1..2)).await;

        bench.drop_plugin("event-printer", "event-printer");
        await_told(&host, &bench.namespace, "added", 2).await;
    });
}
