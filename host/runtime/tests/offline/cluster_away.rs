//! Writes while the cluster is away: none of them is lost for that, however few attempts an event has.

use super::{Given, event, run};

/// So many that their failures trip the plugin, and too few for that.
const WRITES: [usize; 2] = [40, 15];
const GRANTS: &str = "limits: {attempts: 3}
writes: [{resources: [v1/pods], verbs: [patch, create]}, {resources: [v1/configmaps], verbs: [create, update, delete]}, {resources: [events.k8s.io/v1/events], verbs: [create]}]";
/// What the guest writes about each pod succeeds, or its patches do as they are answered here.
const UPDATES: &str = r#"{"kube":{"verb":"update"},"answer":{"object":{"metadata":{}}}}"#;

/// The seconds of the run's clock at which each of the writes was done, and how the run ended, where patches are answered so for 20 s.
fn run_beside(writes: usize, away: &str) -> (Vec<f64>, String) {
    let patches = |answer: &str| format!(r#"{{"kube":{{"verb":"patch"}},"answer":{answer}}}"#);
    let mut lines = vec![UPDATES.to_owned(), patches(away)];
    let names = (0..writes).map(|number| event("added", &format!("writer-{number}")));
    lines.extend(names.map(|line| line.trim_end().to_owned()));
    let done = r#"{"object":{"metadata":{"labels":{}}}}"#;
    lines.extend([r#"{"wait":"20s"}"#.to_owned(), patches(done)]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (events, sidecar) = (lines.join("\n"), Some(GRANTS));
    let given = Given { events: &events, sidecar, ..Given::default() };
    let shown = runtime.expect("a runtime").block_on(run("writer", given)).expect("it runs");
    let done = shown.lines().filter(|line| line.contains("wrote about"));
    let at = done.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect();
    let end = shown.lines().last().and_then(|line| line.split_once("end "));
    (at, end.expect("it comes to its end").1.to_owned())
}

/// All are done, soon after the cluster is back.
#[track_caller]
fn check(away: &str) {
    for writes in WRITES {
        let (done, end) = run_beside(writes, away);
        let expect = (writes, "events=0 keys=0 deadLetters=0");
        assert_eq!((done.len(), end.as_str()), expect, "{away}");
        let last = done.iter().copied().fold(0.0, f64::max);
        assert!((20.0..50.0).contains(&last), "{away}: the last was done after {last} s");
    }
}

#[test]
fn no_write_is_lost_for_a_cluster_that_is_away() {
    check(r#"{"error":"connection refused"}"#);
    check(r#"{"status":503,"reason":"ServiceUnavailable","message":"it starts"}"#);
    check(r#"{"status":429,"reason":"TooManyRequests","message":"too many"}"#);
    check(r#"{"status":403,"reason":"Forbidden","message":"no role says so"}"#);
}

#[test]
fn what_the_cluster_refuses_for_good_is_given_up() {
    let refused = r#"{"status":422,"reason":"Invalid","message":"no label"}"#;
    let (done, end) = run_beside(15, refused);
    assert_eq!((done.len(), end.as_str()), (0, "events=0 keys=0 deadLetters=15"));
}
