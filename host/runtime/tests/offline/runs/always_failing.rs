//! Objects that always fail, and others that come behind them: how much later those are handled than alone.

use super::{Given, event, run};
use std::time::Duration;

/// Objects that are told of in this order, and a pause.
enum Told {
    Failing(usize),
    Healthy(usize),
    Pause(Duration),
}
use Told::{Failing, Healthy, Pause};

/// A plugin, the names that it fails on, and what it says of others.
struct Plugin {
    name: &'static str,
    fails: &'static str,
    says: &'static str,
}

const EVENTS: Plugin = Plugin { name: "fail", fails: "fail", says: "added a/healthy" };
const KEYS: Plugin = Plugin { name: "trap-keys", fails: "fail-keys", says: "worked on a/healthy" };
/// These end their instances.
const TRAPS: Plugin = Plugin { name: "trap", fails: "trap", says: "added a/healthy" };
const KEY_TRAPS: Plugin = Plugin { name: "trap-keys", fails: "trap-keys", says: KEYS.says };

/// Seconds of the run's clock at which each healthy object was handled, since it came.
async fn waits(plugin: &Plugin, told: &[Told]) -> Vec<f64> {
    let (mut events, mut came, mut now) = (String::new(), Vec::new(), Duration::ZERO);
    for (block, told) in told.iter().enumerate() {
        match told {
            Failing(count) => {
                let name = |number| format!("{}-{block}-{number}", plugin.fails);
                events.extend((0..*count).map(|number| event("added", &name(number))));
            }
            Healthy(count) => {
                let name = |number| format!("healthy-{block}-{number}");
                events.extend((0..*count).map(|number| event("added", &name(number))));
                came.extend((0..*count).map(|_| now.as_secs_f64()));
            }
            Pause(time) => {
                events.push_str(&format!("{{\"wait\":\"{}s\"}}\n", time.as_secs()));
                now += *time;
            }
        }
    }
    let sidecar = Some("limits: {attempts: 40}");
    let shown = run(plugin.name, Given { events: &events, sidecar, ..Given::default() }).await;
    let shown = shown.expect("it runs");
    let said = shown.lines().filter(|line| line.contains(plugin.says));
    let at = said.filter_map(|line| line.split_whitespace().next()?.parse::<f64>().ok());
    let waits: Vec<f64> = at.zip(&came).map(|(at, came)| at - came).collect();
    assert_eq!(waits.len(), came.len(), "each healthy object is handled, and once");
    waits
}

/// The healthy ones wait for no longer than so many seconds, whether they are told or become keys: where the others fail, and where they end their instances.
#[track_caller]
fn check(told: &[Told], fail: f64, trap: f64) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.expect("a runtime");
    for (plugin, most) in [(EVENTS, fail), (KEYS, fail), (TRAPS, trap), (KEY_TRAPS, trap)] {
        let waits = runtime.block_on(waits(&plugin, told));
        let longest = waits.iter().copied().fold(0.0, f64::max);
        let Plugin { name, fails, .. } = plugin;
        assert!(longest <= most, "{name}, {fails}: one waited for {longest} s");
    }
}

#[test]
fn healthy_objects_wait_less_than_a_second_for_thirty_that_always_fail() {
    check(&[Failing(30), Healthy(50)], 0.2, 0.8);
}

#[test]
fn healthy_objects_do_not_wait_for_what_has_failed_long_ago() {
    check(&[Failing(30), Pause(Duration::from_secs(1_200)), Healthy(50)], 0.0, 0.0);
}

#[test]
fn a_burst_that_fails_between_healthy_objects_holds_up_few_of_them_and_not_for_long() {
    check(&[Healthy(100), Failing(60), Healthy(100)], 0.2, 3.3);
    check(&[Failing(30), Healthy(1), Failing(30), Healthy(50)], 0.3, 1.6);
}

/// The pauses grow with each.
#[test]
fn many_that_always_fail_hold_up_others_for_as_long_as_their_pauses() {
    // 2 ms, 4 ms and so on for each of a hundred, or of those that are left after four instances, and for some that are tried again meanwhile.
    let pauses = |count: f64| 0.002 * count * (count + 1.0) / 2.0;
    check(&[Failing(120), Healthy(50)], pauses(102.0), pauses(118.0));
}
