//! The user of a running host changes it with the program itself.

use crate::host::bench::{HostBench, await_told, host_fact, pod_names};
use informant_e2e::host::{Host, run_to_end};
use informant_e2e::process_stats;
use serde_json::Value;

/// A command's output about the host, and whether the command succeeded.
pub(super) fn ask(bench: &HostBench<'_>, host: &Host, arguments: &[&str]) -> (bool, String) {
    let socket = host.admin_socket().display().to_string();
    let arguments = [arguments, &["--admin-socket", &socket]].concat();
    let output = run_to_end(&bench.program, &arguments).expect("it runs");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8(text).expect("it is text").trim().to_owned())
}

/// The command succeeds with this output.
#[track_caller]
pub fn check(bench: &HostBench<'_>, host: &Host, arguments: &[&str], expect: &str) {
    let (success, said) = ask(bench, host, arguments);
    assert!(success && said.contains(expect), "{arguments:?} said: {said}");
}

/// The command fails with this output.
#[track_caller]
fn check_refused(bench: &HostBench<'_>, host: &Host, arguments: &[&str], expect: &str) {
    let (success, said) = ask(bench, host, arguments);
    assert!(!success && said.contains(expect), "{arguments:?} said: {said}");
}

#[test]
fn plugins_are_paused_resumed_reloaded_and_rolled_back() {
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let mut host = bench.start(&[]).await;
        check(&bench, &host, &["plugin", "list"], "event-printer  running");
        check(&bench, &host, &["plugin", "pause", "event-printer"], "paused; its events wait");
        bench.create_pods(&pod_names(0..3)).await;
        let waits = |plugin: &Value| {
            plugin["state"] == "paused" && plugin["queue"]["depth"].as_u64() >= Some(3)
        };
        host.await_plugin("event-printer", "its events to wait", waits).await.unwrap();
        check(&bench, &host, &["plugin", "resume", "event-printer"], "resumed");
        await_told(&host, &bench.namespace, "added", 3).await;

        check(&bench, &host, &["plugin", "reload", "event-printer"], "took over");
        let rollback = ["plugin", "rollback", "event-printer"];
        // The same content is not another version.
        check_refused(&bench, &host, &rollback, "there is no version before this one");
        bench.drop_plugin("counter", "event-printer");
        let replaced = |plugin: &Value| plugin["counters"]["reloads"].as_u64() >= Some(2);
        host.await_plugin("event-printer", "another to take its place", replaced).await.unwrap();
        check(&bench, &host, &rollback, "took over");
        let nobody = ["plugin", "pause", "nobody"];
        check_refused(&bench, &host, &nobody, "error: there is no plugin nobody");
        check_refused(&bench, &host, &["plugin", "pause", "a/b"], "cannot be a plugin's name");
        host.check_running().unwrap();
    });
}

#[test]
fn dead_letters_are_listed_shown_sent_again_and_thrown_away() {
    host_fact(async |bench| {
        bench.limit_plugin("fail", "attempts: 5");
        bench.drop_plugin("fail", "fail");
        let mut host = bench.start(&[]).await;
        bench.create_pods(&["fail-1".to_owned()]).await;
        let dead = |plugin: &Value| plugin["deadLetters"].as_u64() >= Some(1);
        host.await_plugin("fail", "a dead letter", dead).await.unwrap();
        check(&bench, &host, &["dlq", "list", "fail"], "fail-1");
        let (_, letter) = ask(&bench, &host, &["dlq", "show", "fail", "1"]);
        let letter: Value = serde_json::from_str(&letter).expect("it is JSON");
        assert_eq!(letter["object"]["metadata"]["name"], "fail-1", "{letter}");
        check(&bench, &host, &["dlq", "redrive", "fail", "--all"], "sent again");
        let again = |plugin: &Value| {
            plugin["deadLetters"].as_u64() >= Some(1)
                && plugin["counters"]["dead"].as_u64() >= Some(2)
        };
        host.await_plugin("fail", "it to fail again", again).await.unwrap();
        check(&bench, &host, &["dlq", "purge", "fail", "--all"], "thrown away");
        check_refused(&bench, &host, &["dlq", "show", "fail", "1"], "fail has no dead letter 1");
        host.check_running().unwrap();
    });
}

#[test]
fn socket_is_its_users_alone() {
    use std::os::unix::fs::PermissionsExt as _;
    host_fact(async |bench| {
        let host = bench.start(&[]).await;
        let socket = host.admin_socket();
        let mode = std::fs::metadata(&socket).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        check(
            &bench,
            &host,
            &["plugin", "list"],
            "no plugins: the host's directories have no plugin file yet",
        );
    });
}

/// Each connection takes the place of another.
#[test]
fn connections_to_the_socket_that_say_nothing_leave_room_for_others() {
    use std::os::unix::net::UnixStream;
    const SILENT: usize = 200;
    // Waiting connections, and connections that have lost their places and have not ended yet.
    const KEPT_MAX: u64 = 128;
    host_fact(async |bench| {
        bench.drop_plugin("event-printer", "event-printer");
        let host = bench.start(&[]).await;
        let before = process_stats::open_files(host.id()).unwrap();
        let connect = |_| UnixStream::connect(host.admin_socket()).expect("it listens");
        let silent: Vec<UnixStream> = (0..SILENT).map(connect).collect();
        check(&bench, &host, &["plugin", "list"], "event-printer  running");
        let open = process_stats::open_files(host.id()).unwrap();
        assert!(open < before + KEPT_MAX, "{open} files are open, {before} were before");
        let refused =
            r#"informant_http_refused_total{listener="admin-socket",refused="connection"}"#;
        let count = host.get("/metrics").expect("a page").series(refused).expect("it is there");
        assert!(count > SILENT as f64 / 2.0, "{count} connections gave their places to others");
        drop(silent);
    });
}
