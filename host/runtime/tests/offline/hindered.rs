//! Calls that fail or panic while a write lacks the cluster or a grant, whether they are for an event, a key or a moment.

use super::{Given, event, run};

const ALL: [&str; 3] = ["handler", "controller", "timer"];
const GRANT: &str = "writes: [{resources: [v1/configmaps], verbs: [patch]}]";
/// Seconds: when the plugin is called first, when the cluster answers again, and when the run ends, before the next moment of a timer.
const BEGIN: u64 = 100;
const BACK: u64 = 120;
const END: u64 = 190;

/// How often the plugin was called while the cluster was away, how often in all, and the second at which the call was given up. The cluster answers each
/// write with 503 until it is back.
async fn run_of(kind: &str, mood: &str, grant: &str) -> (usize, usize, Option<f64>) {
    let wait = |from: u64, to: u64| format!("{{\"wait\":\"{}s\"}}\n", to - from);
    let answer = |text: &str| format!("{{\"kube\":{{\"verb\":\"patch\"}},\"answer\":{text}}}\n");
    let events = [
        answer(r#"{"status":503,"reason":"ServiceUnavailable","message":"it starts"}"#),
        wait(0, BEGIN),
        event("added", "web"),
        wait(BEGIN, BACK),
        answer(r#"{"object":{"metadata":{"labels":{}}}}"#),
        wait(BACK, END),
    ];
    let every = BEGIN * 1_000;
    let config = format!("as: {kind}, resource: v1/pods, namespace: a, mood: {mood}");
    let config = format!("config: {{{config}, writes: true, every: {every}}}");
    let sidecar = format!("{config}\nlimits: {{attempts: 3}}\n{grant}");
    let given = Given { events: &events.concat(), sidecar: Some(&sidecar), ..Given::default() };
    let shown = run("moods", given).await.expect("it runs");
    let times = |what: &str| -> Vec<f64> {
        let lines = shown.lines().filter(|line| line.contains(what));
        lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    let calls = [" call handle ", " call reconcile ", " call fire "].map(times).concat();
    let while_away = calls.iter().filter(|at| **at < BACK as f64).count();
    (while_away, calls.len(), times(" gave up").first().copied())
}

#[track_caller]
fn check(kinds: &[&str], mood: &str, grant: &str, expect: (usize, usize, Option<f64>)) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    for kind in kinds {
        assert_eq!(runtime.block_on(run_of(kind, mood, grant)), expect, "{kind}, {mood}");
    }
}

/// A plugin may pass over what is not granted, and panic for another reason.
#[test]
fn a_panic_counts_whatever_was_missing() {
    check(&ALL, "traps", "", (1, 3, Some(160.0)));
    check(&ALL, "traps", GRANT, (1, 3, Some(132.0)));
}

#[test]
fn a_plugin_that_panics_where_its_write_fails_outlasts_a_cluster_that_is_away_for_a_while() {
    check(&ALL, "unwraps", GRANT, (1, 2, None));
}

#[test]
fn a_failure_for_want_of_the_cluster_does_not_count() {
    check(&ALL, "fine", GRANT, (12, 13, None));
}

/// The attempts that count come after those.
#[test]
fn however_soon_a_plugin_wants_to_be_called_again_it_waits_while_the_cluster_is_away() {
    check(&["handler", "timer"], "fails-soon", GRANT, (12, 15, Some(120.5)));
}
