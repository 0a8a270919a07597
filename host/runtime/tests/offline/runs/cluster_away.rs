//! Writes while the cluster is away: none of them is lost for that, however few attempts an event has, and objects about which nothing is written do not wait.

use super::{Given, event, run};

/// So many that their failures trip the plugin, and too few for that.
const WRITES: [usize; 2] = [40, 15];
const GRANTS: &str = "limits: {attempts: 3}
writes: [{resources: [v1/pods], verbs: [patch, create]}, {resources: [v1/configmaps], verbs: [create, update, delete]}, {resources: [events.k8s.io/v1/events], verbs: [create]}]";
/// Objects that come behind the writes, and are only logged.
const HEALTHY: usize = 50;
/// What the guest writes about each pod succeeds, or its patches do as they are answered here.
const UPDATES: &str = r#"{"kube":{"verb":"update"},"answer":{"object":{"metadata":{}}}}"#;

/// A run in which patches are answered so for 20 s. Times are seconds of its clock.
struct Run {
    /// When each of the writes was done.
    written: Vec<f64>,
    /// When each of the other objects was logged.
    healthy: Vec<f64>,
    end: String,
}

fn run_beside(writes: usize, away: &str) -> Run {
    let patches = |answer: &str| format!(r#"{{"kube":{{"verb":"patch"}},"answer":{answer}}}"#);
    let mut lines = vec![UPDATES.to_owned(), patches(away)];
    let names = (0..writes).map(|number| event("added", &format!("writer-{number}")));
    let healthy = (0..HEALTHY).map(|number| event("added", &format!("healthy-{number}")));
    lines.extend(names.chain(healthy).map(|line| line.trim_end().to_owned()));
    let done = r#"{"object":{"metadata":{"labels":{}}}}"#;
    lines.extend([r#"{"wait":"20s"}"#.to_owned(), patches(done)]);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let (events, sidecar) = (lines.join("\n"), Some(GRANTS));
    let given = Given { events: &events, sidecar, ..Given::default() };
    let shown = runtime.expect("a runtime").block_on(run("writer", given)).expect("it runs");
    let times = |said: &str| -> Vec<f64> {
        let lines = shown.lines().filter(|line| line.contains(said));
        lines.filter_map(|line| line.split_whitespace().next()?.parse().ok()).collect()
    };
    let end = shown.lines().last().and_then(|line| line.split_once("end "));
    let end = end.expect("it comes to its end").1.to_owned();
    Run { written: times("wrote about"), healthy: times("added a/healthy"), end }
}

fn last(times: &[f64]) -> f64 {
    times.iter().copied().fold(0.0, f64::max)
}

/// All are done within a retry's longest wait once the cluster is back, and what needs no cluster waits for less than a second.
#[track_caller]
fn check(away: &str) {
    for writes in WRITES {
        let Run { written, healthy, end } = run_beside(writes, away);
        let expect = (writes, HEALTHY, "waitingEvents=0 waitingKeys=0 deadLetters=0");
        assert_eq!((written.len(), healthy.len(), end.as_str()), expect, "{away}");
        let (written, healthy) = (last(&written), last(&healthy));
        assert!((20.0..50.0).contains(&written), "{away}: the last was written after {written} s");
        assert!(healthy < 1.0, "{away}: the last that needs no cluster came after {healthy} s");
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
    let Run { written, end, .. } = run_beside(15, refused);
    assert_eq!((written.len(), end.as_str()), (0, "waitingEvents=0 waitingKeys=0 deadLetters=15"));
}
