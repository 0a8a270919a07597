//! Calls that fail or panic while a write lacks the cluster or a grant, whether they are for an event, a key or a moment.

use super::{Given, event, run};

const ALL: [&str; 3] = ["handler", "controller", "timer"];
const GRANT: &str = "writes: [{resources: [v1/configmaps], verbs: [patch]}]";

/// Seconds: when the plugin is called first, when the cluster answers again, and when the run ends, before the next moment of a timer.
#[derive(Clone, Copy)]
struct Times {
    begin: u64,
    back: u64,
    end: u64,
}

const SHORT: Times = Times { begin: 100, back: 120, end: 195 };
/// Away for two hours.
const LONG: Times = Times { begin: 10_000, back: 17_200, end: 19_000 };

/// How often the plugin was called while the cluster was away, how often in all, and the second at which the call was given up. The cluster answers each
/// write with 503 until it is back.
async fn run_of(
    kind: &str,
    (mood, does, grant): (&str, &str, &str),
    times: Times,
) -> (usize, usize, Option<f64>) {
    let Times { begin, back, end } = times;
    let wait = |from: u64, to: u64| format!("{{\"wait\":\"{}s\"}}\n", to - from);
    let answer = |text: &str| format!("{{\"kube\":{{\"verb\":\"patch\"}},\"answer\":{text}}}\n");
    let events = [
        answer(r#"{"status":503,"reason":"ServiceUnavailable","message":"it starts"}"#),
        wait(0, begin),
        event("added", "web"),
        wait(begin, back),
        answer(r#"{"object":{"metadata":{"labels":{}}}}"#),
        wait(back, end),
    ];
    let every = begin * 1_000;
    let config = format!("as: {kind}, resource: v1/pods, namespace: a, mood: {mood}");
    let config = format!("config: {{{config}, {does}, every: {every}}}");
    let sidecar = format!("{config}\nlimits: {{attempts: 3}}\n{grant}");
    let given = Given { events: &events.concat(), sidecar: Some(&sidecar), ..Given::default() };
    let shown = run("moods", given).await.expect("it runs");
    let times = |what: &str| -> Vec<f64> {
        let lines = shown.lines().filter(|line| line.contains(what));
        lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    let calls = [" call handle ", " call reconcile ", " call fire "].map(times).concat();
    let while_away = calls.iter().filter(|at| **at < back as f64).count();
    (while_away, calls.len(), times(" gave up").first().copied())
}

#[track_caller]
fn check(
    kinds: &[&str],
    (mood, grant): (&str, &str),
    times: Times,
    expect: (usize, usize, Option<f64>),
) {
    check_what(kinds, (mood, "writes: true", grant), times, expect);
}

/// The same of what is not a write, too.
#[track_caller]
fn check_what(
    kinds: &[&str],
    what: (&str, &str, &str),
    times: Times,
    expect: (usize, usize, Option<f64>),
) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    for kind in kinds {
        assert_eq!(runtime.block_on(run_of(kind, what, times)), expect, "{kind}, {what:?}");
    }
}

/// A plugin may pass over what is not granted, and panic for another reason: that costs few instances, and what it was about waits for the grant.
#[test]
fn a_panic_where_something_was_missing_costs_an_instance_every_ten_minutes_at_most() {
    check(&ALL, ("traps", ""), SHORT, (1, 3, None));
    // After 30 s, 60 s and so on up to 480 s, and every 600 s from then on.
    check(&ALL, ("traps", ""), LONG, (16, 19, None));
}

#[test]
fn a_panic_counts_once_nothing_is_missing() {
    check(&ALL, ("traps", GRANT), SHORT, (1, 4, Some(133.0)));
}

#[test]
fn a_plugin_that_panics_where_its_write_fails_outlasts_a_cluster_that_is_away_however_long() {
    check(&ALL, ("unwraps", GRANT), SHORT, (1, 2, None));
    check(&ALL, ("unwraps", GRANT), LONG, (16, 17, None));
}

#[test]
fn a_failure_for_want_of_the_cluster_does_not_count_however_often() {
    check(&ALL, ("fine", GRANT), SHORT, (12, 13, None));
    check(&ALL, ("fine", GRANT), LONG, (252, 253, None));
}

/// The attempts that count come after those.
#[test]
fn however_soon_a_plugin_wants_to_be_called_again_it_waits_while_the_cluster_is_away() {
    check(&["handler", "timer"], ("fails-soon", GRANT), SHORT, (12, 15, Some(120.5)));
}

#[test]
fn a_call_that_is_never_to_come_again_comes_again_while_the_cluster_is_away() {
    check(&ALL, ("gives-up", GRANT), SHORT, (12, 13, Some(120.475)));
}

#[test]
fn a_request_that_is_not_granted_does_not_count_however_often() {
    const ASKS: &str = "asks: \"https://a.org/mood\"";
    for mood in ["fine", "gives-up"] {
        // The end of a run waits for events and keys, and for no firing.
        check_what(&["handler", "controller"], (mood, ASKS, ""), SHORT, (12, 17, None));
        check_what(&["timer"], (mood, ASKS, ""), SHORT, (12, 15, None));
    }
    // What others answer, or do not, is between them and the plugin.
    let granted = "http: [{origins: [\"https://a.org\"], methods: [GET]}]";
    check_what(&["handler", "timer"], ("fine", ASKS, granted), SHORT, (3, 3, Some(100.015)));
}
