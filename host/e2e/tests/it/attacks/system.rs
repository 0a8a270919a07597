//! The attempts of a plugin to use the host as its operating system.

use serde_json::Value;

use crate::host::bench::{HostBench, LINES_DEADLINE, host_fact};
use informant_e2e::host::Line;

/// A pod's name tells the guest what to do. The other plugins continue, and `/plugins` shows this of the guest.
fn check(pod: &'static str, limits: &'static str, told: impl Fn(&Value) -> bool + Copy) {
    host_fact(async |bench| {
        bench.drop_plugin("asks-system", "asks-system");
        bench.drop_plugin("event-printer", "event-printer");
        bench.limit_plugin("asks-system", limits);
        let mut host = bench.start(&[]).await;
        bench.create_pods(&[pod.to_owned()]).await;
        host.await_plugin("asks-system", "what came of it", told).await.unwrap();
        let is_well = |plugin: &Value| {
            plugin["state"] == "running" && plugin["counters"]["ok"].as_u64() >= Some(1)
        };
        host.await_plugin("event-printer", "it to go on", is_well).await.unwrap();
        host.check_running().unwrap();
    });
}

fn last_error(plugin: &Value) -> &str {
    plugin["lastError"]["message"].as_str().unwrap_or_default()
}

/// A line of the guest that contains `has`.
async fn line(bench: &HostBench<'_>, pod: &str, has: &str) -> Vec<String> {
    bench.drop_plugin("asks-system", "asks-system");
    let mut host = bench.start(&[]).await;
    bench.create_pods(&[pod.to_owned()]).await;
    let is_it = |line: &Line| line.message().contains(has);
    host.await_line("what it has to say", LINES_DEADLINE, is_it).await.unwrap();
    host.check_running().unwrap();
    host.lines_of("asks-system").iter().map(|line| line.text.clone()).collect()
}

#[test]
fn nothing_of_the_system_is_there() {
    host_fact(async |bench| {
        let lines = line(&bench, "asks-system", "system: found").await.concat();
        let nothing = "system: found [0, 1, 0, 0], denied 3, input at its end true";
        assert!(lines.contains(nothing), "{lines}");
    });
}

#[test]
fn output_of_a_plugin_is_lines_of_its_log() {
    host_fact(async |bench| {
        let lines = line(&bench, "asks-system-speaks", "three").await;
        for (message, whole) in
            [(r"\u{1b}[2Jone", "one"), ("two target=host", "two"), ("three", "three")]
        {
            let said: Vec<_> = lines.iter().filter(|line| line.contains(whole)).collect();
            assert_eq!(said.len(), 1, "{lines:?}");
            let escaped = message.replace('\\', "\\\\");
            assert!(said[0].contains(message) || said[0].contains(&escaped), "{said:?}");
            assert!(said[0].contains("stream=stdout"), "{said:?}");
        }
    });
}

#[test]
fn random_numbers_without_end_hurt_nobody() {
    let told = "random bytes at once, at most 1048576 are given";
    check("asks-system-random", "memory: 64Mi", |plugin| last_error(plugin).contains(told));
}

#[test]
fn output_without_end_is_dropped_and_counted() {
    check("asks-system-output", "logLines: 20", |plugin| {
        last_error(plugin).contains("the deadline of 1000 ms was exceeded")
            && plugin["counters"]["logLinesDropped"].as_u64() > Some(1_000)
    });
}

#[test]
fn things_to_wait_for_without_end_hurt_nobody() {
    let told = "it has 1000 moments to wait for";
    check("asks-system-pollables", "memory: 64Mi", |plugin| last_error(plugin).contains(told));
}

#[test]
fn sleep_without_end_hurts_nobody() {
    let told = "it slept for longer than a call may wait";
    check("asks-system-sleep", "waitTime: 200ms", |plugin| last_error(plugin).contains(told));
}
