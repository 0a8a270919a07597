//! The state that survives the kill of a host: waiting retries, dead letters, a pause.

use crate::host::admin::{ask, check};
use crate::host::bench::{HostBench, await_told, host_fact, pod_names};
use informant_e2e::host::{Host, run_to_end};
use serde_json::Value;
use std::collections::BTreeSet;
use std::time::{Duration, Instant};

/// Pods whose event the guest gives up at once, and pods whose event is retried. They are fewer than would trip the
/// guest's breaker.
const GIVEN_UP: usize = 6;
const TRIED_AGAIN: usize = 12;
/// The number of attempts of each event. They take three seconds.
const ATTEMPTS: u64 = 10;

/// The dead letters, as the program lists them.
fn letters(bench: &HostBench<'_>, host: &Host) -> Vec<Value> {
    let (success, said) = ask(bench, host, &["dlq", "list", "fail", "-o", "json"]);
    assert!(success, "{said}");
    serde_json::from_str(&said).expect("it is JSON")
}

/// The pods of the letters with this number of attempts.
fn pods(letters: &[Value], attempts: u64) -> BTreeSet<String> {
    let of_attempts = letters.iter().filter(|letter| letter["attempts"] == attempts);
    of_attempts.map(|letter| letter["name"].as_str().expect("a name").to_owned()).collect()
}

fn dead(count: usize) -> impl Fn(&Value) -> bool {
    move |plugin| plugin["deadLetters"].as_u64() >= Some(count as u64)
}

/// A host that has delivered all pods to the guest, pauses it, and is killed. Returns the letters.
async fn killed_host(bench: &HostBench<'_>, state: &str, failing: &[String]) -> Vec<Value> {
    let host = bench.start(&["--state-dir", state]).await;
    host.await_plugin("fail", "it to run", |plugin| plugin["state"] == "running").await.unwrap();
    bench.create_pods(failing).await;
    // Each pod is a retry or a letter. On a slow machine the first ones are letters before the last ones are created.
    let waits = |plugin: &Value| {
        let [retries, letters] =
            ["retries", "deadLetters"].map(|kind| plugin["kept"][kind].as_u64().unwrap_or(0));
        retries >= 1 && retries + letters >= (GIVEN_UP + TRIED_AGAIN) as u64
    };
    host.await_plugin("fail", "its retries and letters to wait", waits).await.unwrap();
    // The answer means that the pause and everything before it is on the disk.
    check(bench, &host, &["plugin", "pause", "fail"], "paused; its events wait");
    host.await_plugin("fail", "the call in progress to end", |plugin| {
        plugin["kept"]["waitingToBeWritten"] == 0
    })
    .await
    .unwrap();
    // Dropping the host kills it.
    let letters = letters(bench, &host);
    drop(host);
    letters
}

#[test]
fn no_retry_and_no_letter_is_lost_when_the_host_is_killed() {
    host_fact(async |bench| {
        bench.limit_plugin("fail", &format!("attempts: {ATTEMPTS}"));
        bench.drop_plugin("fail", "fail");
        let directory = tempfile::tempdir().expect("a directory");
        let state = directory.path().join("state").display().to_string();
        let given_up: Vec<String> =
            (0..GIVEN_UP).map(|number| format!("fail-never-{number}")).collect();
        let again: Vec<String> = (0..TRIED_AGAIN).map(|number| format!("fail-{number}")).collect();
        // The list contains these pods first: enough events succeed before others fail.
        let well: Vec<String> = (0..50).map(|number| format!("all-well-{number}")).collect();
        bench.create_pods(&well).await;
        let before =
            killed_host(&bench, &state, &[given_up.as_slice(), again.as_slice()].concat()).await;
        assert!(pods(&before, 1).is_superset(&given_up.iter().cloned().collect()), "{before:?}");

        // Half of the waiting objects are gone when the next host starts.
        bench.delete_pods(&again[..TRIED_AGAIN / 2]).await;
        let host = bench.start(&["--state-dir", &state]).await;
        let held = host.await_plugin("fail", "it to be paused still", |plugin| {
            plugin["state"] == "paused" && plugin["queue"]["depth"].as_u64() >= Some(1)
        });
        held.await.unwrap();
        assert_eq!(letters(&bench, &host), before, "the letters are those there were");

        check(&bench, &host, &["plugin", "resume", "fail"], "resumed");
        // The new host's list delivers the given-up objects again, and they are given up again.
        let all = |plugin: &Value| {
            dead(2 * GIVEN_UP + TRIED_AGAIN)(plugin) && plugin["queue"]["depth"] == 0
        };
        host.await_plugin("fail", "all to be given up", all).await.unwrap();
        let after = letters(&bench, &host);
        assert_eq!(after[..before.len()], before, "ids and all");
        assert_eq!(pods(&after, ATTEMPTS), again.iter().cloned().collect(), "after all attempts");
        let ids: BTreeSet<u64> = after.iter().filter_map(|letter| letter["id"].as_u64()).collect();
        assert_eq!(ids.len(), after.len(), "no id stands for two");

        check(&bench, &host, &["dlq", "redrive", "fail", "--all"], "sent again");
        // The guest succeeds for deleted objects. Existing ones are given up again.
        let ended = |plugin: &Value| {
            let lives = GIVEN_UP + TRIED_AGAIN / 2;
            dead(lives)(plugin) && plugin["queue"]["depth"] == 0
        };
        host.await_plugin("fail", "the redrive to end", ended).await.unwrap();
        let told: BTreeSet<String> = host
            .lines_of("fail")
            .iter()
            .filter_map(|line| line.message().strip_prefix("deleted ")?.split_once('/'))
            .map(|(_, name)| name.to_owned())
            .collect();
        assert!(told.is_superset(&again[..TRIED_AGAIN / 2].iter().cloned().collect()), "{told:?}");
    });
}

#[test]
fn second_host_is_refused_another_hosts_state_directory() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let state = directory.path().join("state").display().to_string();
        let mut host = bench.start(&["--state-dir", &state]).await;
        let plugins = bench.plugins.display().to_string();
        let arguments = ["dev", &plugins, "--listen", "127.0.0.1:0", "--state-dir", &state];
        let output = run_to_end(&bench.program, &arguments).expect("it runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success());
        assert!(said.contains("another host is using it; stop that one, or give each"), "{said}");
        host.check_running().unwrap();
        bench.drop_plugin("event-printer", "event-printer");
        bench.create_pods(&pod_names(0..1)).await;
        await_told(&host, &bench.namespace, "added", 1).await;
    });
}

/// The number of hosts that are killed one after the other, and the largest time from a host's first shown letters to
/// its end.
const KILLS: u64 = 8;
const LIFE_MAX: u64 = 700;

/// Runs a host for a while and kills it during its work. Returns the letters that it has shown by then.
async fn live_and_be_killed(
    bench: &HostBench<'_>,
    host: Host,
    life: Duration,
    number: u64,
) -> Vec<Value> {
    let end = Instant::now() + life;
    let mut shown = letters(bench, &host);
    for round in 0.. {
        let names = [format!("fail-never-{number}-{round}"), format!("fail-{number}-{round}")];
        bench.create_pods(&names).await;
        // The last shown list counts: the host may not answer the next request.
        shown = letters(bench, &host);
        if Instant::now() >= end {
            break;
        }
    }
    drop(host);
    shown
}

#[test]
fn letter_that_was_shown_outlives_hosts_that_are_killed_at_any_moment() {
    host_fact(async |bench| {
        bench.drop_plugin("fail", "fail");
        let directory = tempfile::tempdir().expect("a directory");
        let state = directory.path().join("state").display().to_string();
        let mut moments = fastrand::Rng::with_seed(8);
        let mut shown: Vec<Value> = Vec::new();
        for number in 0..KILLS {
            let host = bench.start(&["--state-dir", &state]).await;
            let loaded = |plugin: &Value| plugin["state"] != "loading";
            host.await_plugin("fail", "it to be loaded", loaded).await.unwrap();
            let kept = letters(&bench, &host);
            assert!(shown.iter().all(|letter| kept.contains(letter)), "{shown:?}\n{kept:?}");
            let life = Duration::from_millis(moments.u64(0..LIFE_MAX));
            shown = live_and_be_killed(&bench, host, life, number).await;
            assert!(shown.len() >= kept.len());
        }
        let ids: BTreeSet<u64> = shown.iter().filter_map(|letter| letter["id"].as_u64()).collect();
        assert_eq!(ids.len(), shown.len(), "no id stands for two");
        assert!(ids.len() as u64 >= KILLS, "{ids:?}");
    });
}
