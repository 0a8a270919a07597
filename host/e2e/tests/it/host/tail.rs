//! The log of one plugin: `informant tail`, and `/plugins/NAME/logs` for its callers.

use informant_e2e::host::Host;
use informant_e2e::poll;
use serde_json::{Value, json};

use crate::host::actions::{dead_letters, token};
use crate::host::admin::ask;
use crate::host::bench::{
    CONFIGURATION_HEAD, HostBench, LINES_DEADLINE, await_told, host_fact, pod_names,
};
use crate::host::running::RunningCommand;
use crate::host::secure::{Caller, certificate, code, options};

const LOGS: &str = "/plugins/event-printer/logs";

/// A host with event-printer, which has logged so many Pods.
async fn with_lines(bench: &HostBench<'_>, pods: usize, more: &[&str]) -> Host {
    bench.drop_plugin("event-printer", "event-printer");
    let host = bench.start(more).await;
    bench.create_pods(&pod_names(0..pods)).await;
    await_told(&host, &bench.namespace, "added", pods).await;
    host
}

/// The kept lines of the plugin about Pods of the fact.
fn kept(bench: &HostBench<'_>, host: &Host, query: &str) -> Vec<Value> {
    let answer = host.get(&format!("{LOGS}{query}")).expect("it serves");
    assert_eq!(answer.status, 200, "{}", answer.body);
    let lines: Vec<Value> = serde_json::from_str(&answer.body).expect("a list of lines");
    lines.into_iter().filter(|line| line["namespace"] == bench.namespace.as_str()).collect()
}

#[test]
fn the_log_of_a_plugin_has_the_lines_that_are_kept_and_those_that_come() {
    host_fact(async |bench| {
        let host = with_lines(&bench, 3, &[]).await;
        let lines = kept(&bench, &host, "");
        assert_eq!(lines.len(), 3, "{lines:?}");
        assert_eq!(
            (&lines[0]["level"], &lines[0]["resource"]),
            (&json!("INFO"), &json!("v1/pods"))
        );
        assert_eq!(kept(&bench, &host, "?tailLines=0").len(), 0);

        let (success, said) = ask(&bench, &host, &["tail", "event-printer", "--follow=false"]);
        let pod = format!("pod {}/{}", bench.namespace, lines[2]["name"].as_str().expect("a name"));
        assert!(success && said.contains(&pod), "{said}");
        let (_, said) =
            ask(&bench, &host, &["tail", "event-printer", "--tail", "0", "--follow=false"]);
        assert_eq!(said, "");

        let tail = RunningCommand::start(
            &bench,
            &host,
            &["tail", "event-printer", "--tail", "1", "-f", "--timestamps"],
        );
        let first = tail.next();
        let (time, _) = first.split_once(' ').expect("a time and a message");
        assert!(time.starts_with("20") && time.ends_with('Z'), "{first}");
        bench.create_pods(&["late".to_owned()]).await;
        let late = format!("pod {}/late", bench.namespace);
        while !tail.next().contains(&late) {}

        // The lines belong to the plugin's name, not to its version.
        let (success, said) = ask(&bench, &host, &["plugin", "reload", "event-printer"]);
        assert!(success, "{said}");
        assert!(kept(&bench, &host, "").len() > 3);
    });
}

#[test]
fn a_log_that_is_not_there_is_refused_with_the_nearest_name() {
    host_fact(async |bench| {
        let host = with_lines(&bench, 1, &[]).await;
        for follow in ["--follow=false", "-f"] {
            let (success, said) = ask(&bench, &host, &["tail", "event-pinter", follow]);
            assert!(!success && said.contains("did you mean event-printer?"), "{said}");
        }
        let answer = host.get(&format!("{LOGS}?tailLines=some")).expect("it serves");
        assert_eq!(answer.status, 400, "{}", answer.body);
    });
}

#[test]
fn the_oldest_lines_give_way_and_none_is_kept_where_none_is_wanted() {
    host_fact(async |bench| {
        bench.limit_plugin("event-printer", "logTail: 1Ki");
        let host = with_lines(&bench, 20, &[]).await;
        let lines = kept(&bench, &host, "");
        assert!((1..10).contains(&lines.len()), "{lines:?}");
        let plugin = host.plugin("event-printer").expect("it is there");
        let bytes = plugin["account"]["memory"]["logTail"].as_u64();
        assert!(bytes.is_some_and(|bytes| (1..=1_024).contains(&bytes)), "{bytes:?}");
        bench.limit_plugin("event-printer", "logTail: 0");
        let emptied = poll::until("the lines to be gone", LINES_DEADLINE, async || {
            kept(&bench, &host, "").is_empty().then_some(())
        });
        emptied.await.expect("they are gone");
    });
}

/// Any user of the machine may be the caller on loopback. The admin socket is its user's alone.
#[test]
fn the_log_and_the_dead_letters_of_a_plugin_with_secrets_are_for_the_host_user_alone() {
    host_fact(async |bench| {
        let grant = "plugins: {fail: {reads: [{resources: [v1/secrets, v1/pods]}]}}";
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("informant.yaml").display().to_string();
        let own = |text: &str| {
            let text = format!("{CONFIGURATION_HEAD}HostConfiguration\n{text}\n");
            std::fs::write(&file, text).expect("a file");
        };
        own(grant);
        let state = directory.path().join("state").display().to_string();
        let options = ["--config", &file, "--state-dir", &state];
        bench.limit_plugin("fail", "attempts: 5");
        bench.drop_plugin("fail", "fail");
        let mut host = bench.start(&options).await;
        bench.create_pods(&["fail-1".to_owned()]).await;
        let has_letter = |plugin: &Value| plugin["deadLetters"].as_u64() >= Some(1);
        host.await_plugin("fail", "its dead letter", has_letter).await.unwrap();
        for query in ["", "?follow=true"] {
            let answer = host.get(&format!("/plugins/fail/logs{query}")).expect("it serves");
            assert_eq!(answer.status, 403, "{}", answer.body);
            assert!(answer.body.contains("informant tail fail"), "{}", answer.body);
        }
        let (success, said) = ask(&bench, &host, &["tail", "fail", "--follow=false"]);
        assert!(success, "{said}");
        check_letters(&bench, &host);

        // The letter of the time with the grant comes back without the grant.
        host.terminate(LINES_DEADLINE).unwrap();
        own("plugins: {}");
        let host = bench.start(&options).await;
        host.await_plugin("fail", "its dead letter", has_letter).await.unwrap();
        check_letters(&bench, &host);
    });
}

/// Its `state` comes back under its name, and may have a value of a Secret.
#[test]
fn the_log_of_a_plugin_that_had_secrets_stays_closed_when_its_file_comes_back() {
    host_fact(async |bench| {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("informant.yaml").display().to_string();
        let own = |grants: &str| {
            let text = format!("{CONFIGURATION_HEAD}HostConfiguration\nplugins: {{{grants}}}\n");
            std::fs::write(&file, text).expect("a file");
        };
        own("fail: {reads: [{resources: [v1/secrets, v1/pods]}]}");
        bench.drop_plugin("fail", "fail");
        let host = bench.start(&["--config", &file]).await;
        let is_closed = || {
            let answer = host.get("/plugins/fail/logs").expect("it serves");
            assert_eq!(answer.status, 403, "{}", answer.body);
        };
        is_closed();
        own("");
        std::fs::remove_file(bench.plugins.join("fail.wasm")).expect("it is there");
        let gone = async || host.plugin("fail").is_err().then_some(());
        poll::until("its removal", LINES_DEADLINE, gone).await.expect("it goes");
        bench.drop_plugin("fail", "fail");
        let runs = |plugin: &Value| plugin["state"] == "running";
        host.await_plugin("fail", "its second start", runs).await.unwrap();
        is_closed();
    });
}

/// The token of the host alone leads to its dead letters.
#[track_caller]
fn check_letters(bench: &HostBench<'_>, host: &Host) {
    let token = token(bench, host);
    for (bearer, expect) in [("none", 401), (token.as_str(), 200)] {
        let answer = dead_letters(host, "fail", "", bearer);
        assert_eq!(answer.status, expect, "{}", answer.body);
        assert_eq!(answer.body.contains("fail-1"), expect == 200, "{}", answer.body);
    }
}

/// Invariant 42.
#[test]
fn the_right_to_plugins_is_no_right_to_their_logs() {
    host_fact(async |bench| {
        let options =
            options(&certificate("server.pem"), &certificate("server.key")).map(str::to_owned);
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        let host = with_lines(&bench, 1, &options).await;
        let caller = Caller::new(&bench, &host).await;
        let other = "/plugins/other/logs";
        caller.grant_paths("get", &["/plugins", LOGS], &[other]).await;
        let client = caller.client(&caller.token().await).await;
        let served = poll::until("the grant", LINES_DEADLINE, async || {
            (code(&client, "/plugins").await == 200).then_some(())
        });
        served.await.expect("it is granted");
        assert_eq!(code(&client, LOGS).await, 200);
        for path in [other.to_owned(), format!("{other}?follow=true")] {
            assert_eq!(code(&client, &path).await, 403, "{path}");
        }
    });
}
