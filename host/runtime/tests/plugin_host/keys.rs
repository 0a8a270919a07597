//! Guests that work on keys: `hello` with `reconciler`, and with keys that its events become or that it adds itself.

use super::{
    Bench, HELLO, described, handled, hello_again, hello_text_with, hello_with, is, last_load, pod,
    swap,
};
use informant_cache::testing::WatchLists;
use informant_runtime::{Limits, PluginName, PluginStatus};
use serde_json::Value;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

/// Pods become keys.
const ENQUEUE: &str = r#""enqueue":["self"]"#;
/// `handle` adds the pod's name as a key.
pub(super) const ADDS: &str = "(call $add (i32.load offset=24 (local.get $event))
    (i32.load offset=28 (local.get $event)))";
/// Answers with a failure in the key's own words: `retry` is 0 for the rate limiter, 2 for never.
const FAILS: &str = "(i32.store8 (i32.const 400) (i32.const 1))
    (i32.store (i32.const 408) (local.get $key)) (i32.store (i32.const 412) (local.get $length))
    (i32.store8 (i32.const 416) (i32.const retry))
    (return (i32.const 400))";
/// Whether the key ends with an `a`.
const IS_A: &str = "(i32.eq (i32.const 97) (i32.load8_u
    (i32.sub (i32.add (local.get $key) (local.get $length)) (i32.const 1))))";

fn fails(retry: u8) -> String {
    FAILS.replace("retry", &retry.to_string())
}

/// `hello` as it is, or with other words, with `reconcile`, which ends well if this does not return, and with this in `handle`.
fn text(hello: &str, reconcile: &str, handle: &str) -> String {
    let memory = r#"(memory (export "memory") 1)"#;
    let reconciler = format!(
        r#"(import "informant:plugin/workqueue@0.1.0" "add" (func $add (param i32 i32)))
        (import "informant:plugin/workqueue@0.1.0" "add-after"
          (func $add_after (param i32 i32 i64)))
        {memory}
        (func (export "informant:plugin/reconciler@0.1.0#reconcile")
          (param $key i32) (param $length i32) (param $attempt i32) (result i32)
          {reconcile}
          (i64.store (i32.const 400) (i64.const 0)) (i64.store (i32.const 408) (i64.const 0))
          (i32.const 400))
        (func (export "cabi_post_informant:plugin/reconciler@0.1.0#reconcile") (param i32)
          (call $free_all (local.get 0)))"#
    );
    let begin = "(local $line i32) (local $end i32)\n";
    swap(&swap(hello, memory, &reconciler), begin, &format!("{begin}{handle}\n"))
}

fn assembled(text: &str) -> Vec<u8> {
    wat::parse_str(text).expect("it is well formed")
}

/// Pods become keys, which are worked on so.
pub(super) fn worker(reconcile: &str) -> Vec<u8> {
    assembled(&text(&hello_text_with(ENQUEUE), reconcile, ""))
}

/// Pods are told, and their names are keys, which are worked on so.
pub(super) fn adder(reconcile: &str, handle: &str) -> Vec<u8> {
    assembled(&text(HELLO, reconcile, handle))
}

/// The same with another content.
fn again(mut module: Vec<u8>) -> Vec<u8> {
    module.extend([0, 2, 1, b'v']);
    module
}

fn json(status: Option<&PluginStatus>) -> Value {
    status.map(PluginStatus::to_json).unwrap_or_default()
}

fn count(status: Option<&PluginStatus>, counter: &str) -> u64 {
    json(status)["counters"][counter].as_u64().unwrap_or_default()
}

/// Keys that succeeded, were put back and were given up.
pub(super) fn keys(status: Option<&PluginStatus>) -> [u64; 3] {
    ["keysOk", "keysRetry", "keysDead"].map(|counter| count(status, counter))
}

fn workqueue(status: Option<&PluginStatus>, key: &str) -> Value {
    json(status)["workqueue"][key].clone()
}

/// The number of keys that `/plugins` shows as given up. Each is counted a moment before that.
fn given_up(status: Option<&PluginStatus>) -> usize {
    workqueue(status, "givenUp").as_array().map_or(0, Vec::len)
}

impl Bench {
    /// A host with pods of these names and this plugin, called `worker`.
    fn working(names: &[&str], limits: Limits, plugin: &[u8]) -> Self {
        let bench = Self::start_with(None, &limits);
        for name in names {
            bench.source.add(&pod(name));
        }
        bench.drop_in("worker.wasm", plugin);
        bench
    }
}

#[tokio::test]
async fn objects_become_keys_and_each_costs_one_call() {
    let names: Vec<String> = (0..500).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = Bench::working(&names, Limits::default(), &worker(""));
    bench.until("worker", |status| keys(status) == [500, 0, 0]).await;
    bench.source.modify(&pod("p1"));
    bench.until("worker", |status| keys(status) == [501, 0, 0]).await;
    let status = bench.status("worker").expect("it runs");
    let calls = |histogram: &informant_runtime::Histogram| histogram.counts().iter().sum::<u64>();
    assert_eq!(calls(&status.counters.reconcile_seconds), 501);
    assert_eq!(calls(&status.counters.handle_seconds), 0, "no event was told");
    assert_eq!(count(Some(&status), "enqueued"), 501);
    assert_eq!(workqueue(Some(&status), "keys"), 0);
    bench.stop().await;
}

/// What `enqueue` rules promise, for far more objects than the queue's mark: nothing is told, and no key costs more than one call each time that it was made.
#[tokio::test]
async fn five_thousand_reconciles_cost_at_most_one_call_each() {
    const OBJECTS: u64 = 5_000;
    let names: Vec<String> = (0..OBJECTS).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = Bench::working(&names, Limits::default(), &worker(""));
    bench.until("worker", |status| keys(status) == [OBJECTS, 0, 0]).await;
    // All of them change, and a tenth of them again: a key that waits is made once.
    for name in names.iter().chain(names.iter().step_by(10)) {
        bench.source.modify(&pod(name));
    }
    let made = OBJECTS * 2 + OBJECTS / 10;
    // Above the queue's mark a later event of an object is merged into the one that waits.
    let is_through = |of: Option<&PluginStatus>| {
        let told = count(of, "enqueued") + count(of, "coalesced");
        told == made && workqueue(of, "keys") == 0
    };
    bench.until("worker", is_through).await;
    let status = bench.status("worker").expect("it runs");
    let calls = |histogram: &informant_runtime::Histogram| histogram.counts().iter().sum::<u64>();
    let reconciles = calls(&status.counters.reconcile_seconds);
    assert_eq!(keys(Some(&status)), [reconciles, 0, 0]);
    let enqueued = count(Some(&status), "enqueued");
    assert!((OBJECTS * 2..=enqueued).contains(&reconciles), "{reconciles} of {enqueued}");
    assert_eq!(calls(&status.counters.handle_seconds), 0, "no event was told");
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_may_work_on_keys_alone() {
    let alone = |key: &str| {
        let whole = text(&hello_text_with(key), "", "");
        let handler = r#"(export "informant:plugin/handler@0.1.0#handle") "#;
        let post = r#"(export "cabi_post_informant:plugin/handler@0.1.0#handle") "#;
        assembled(&swap(&swap(&whole, handler, ""), post, ""))
    };
    let bench = Bench::working(&["a"], Limits::default(), &alone(ENQUEUE));
    bench.until("worker", |status| is(status, "running") && keys(status) == [1, 0, 0]).await;
    // What it cannot be called with is refused.
    bench.drop_in("worker.wasm", &alone(r#""withOld":true"#));
    let reason = "has no `enqueue` rules, and the plugin exports no handler";
    bench.until("worker", |status| last_load(status).contains(reason)).await;
    bench.drop_in("worker.wasm", &hello_with(ENQUEUE));
    let reason = "has `enqueue` rules, and the plugin exports no reconciler";
    bench.until("worker", |status| last_load(status).contains(reason)).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_key_that_fails_comes_again_until_it_succeeds() {
    let third = format!("(if (i32.lt_u (local.get $attempt) (i32.const 3)) (then {}))", fails(0));
    let bench = Bench::working(&["a"], Limits::default(), &worker(&third));
    bench.until("worker", |status| keys(status) == [1, 2, 0]).await;
    assert_eq!(workqueue(bench.status("worker").as_ref(), "keys"), 0);
    bench.stop().await;
}

/// Its object may be gone, and then no event would bring it back.
#[tokio::test]
async fn a_key_that_only_fails_comes_again_however_often() {
    let limits = Limits { attempts_max: 2, ..Limits::default() };
    let bench = Bench::working(&["a"], limits, &worker(&fails(0)));
    let tried = |status: Option<&PluginStatus>| keys(status)[1] >= 5;
    bench.until("worker", tried).await;
    assert_eq!(keys(bench.status("worker").as_ref())[2], 0, "it is not given up");
    bench.stop().await;
}

#[tokio::test]
async fn a_key_that_is_not_to_come_again_does_not_until_somebody_adds_it() {
    let bench = Bench::working(&["a", "b"], Limits::default(), &worker(&fails(2)));
    bench.until("worker", |status| keys(status) == [0, 0, 2] && given_up(status) == 2).await;
    let shown = workqueue(bench.status("worker").as_ref(), "givenUp");
    assert_eq!((&shown[0]["key"], &shown[0]["attempts"]), (&"default/a".into(), &1.into()));
    assert_eq!(shown[0]["error"], "the plugin answered: default/a");
    bench.source.modify(&pod("a"));
    bench.until("worker", |status| keys(status) == [0, 0, 3]).await;
    bench.stop().await;
}

/// Invariant 29.
#[tokio::test]
async fn a_key_that_ends_instances_is_given_up_and_the_others_go_on() {
    let traps = format!("(if {IS_A} (then unreachable))");
    let bench = Bench::working(&["a", "b"], Limits::default(), &worker(&traps));
    let restarts =
        |status: Option<&PluginStatus>| json(status)["counters"]["restarts"]["trap"].clone();
    let is_over =
        |status: Option<&PluginStatus>| keys(status) == [1, 2, 1] && restarts(status) == 3;
    bench.until("worker", |status| is_over(status) && is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_key_that_is_done_for_now_comes_again() {
    let thrice = "(i32.store (i32.const 440) (i32.add (i32.load (i32.const 440)) (i32.const 1)))
        (if (i32.lt_u (i32.load (i32.const 440)) (i32.const 3)) (then
          (i64.store (i32.const 400) (i64.const 0))
          (i64.store (i32.const 408) (i64.const 1))
          (i64.store (i32.const 416) (i64.const 2))
          (return (i32.const 400))))";
    let bench = Bench::working(&["a"], Limits::default(), &worker(thrice));
    bench.until("worker", |status| keys(status) == [3, 0, 0]).await;
    assert_eq!(workqueue(bench.status("worker").as_ref(), "keys"), 0);
    bench.stop().await;
}

#[tokio::test]
async fn a_guest_adds_keys_and_events_and_keys_both_come() {
    let bench = Bench::working(&["a", "b"], Limits::default(), &adder("", ADDS));
    bench.until("worker", |status| keys(status) == [2, 0, 0] && handled(status) == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn events_wait_while_the_workqueue_is_full_and_none_is_lost() {
    let limits = Limits { workqueue_keys_max: 1, ..Limits::default() };
    let sixth = format!("(if (i32.lt_u (local.get $attempt) (i32.const 6)) (then {}))", fails(0));
    let bench = Bench::working(&[], limits, &worker(&sixth));
    bench.until("worker", |status| is(status, "running")).await;
    for name in ["a", "b", "c", "d", "e"] {
        bench.source.add(&pod(name));
    }
    let waits = |status: Option<&PluginStatus>| {
        let depth = status.map(|status| status.queue.depth);
        (depth, count(status, "enqueued")) == (Some(4), 1)
            && workqueue(status, "holdsEvents") == true
    };
    bench.until("worker", waits).await;
    bench.until("worker", |status| keys(status) == [5, 25, 0]).await;
    bench.stop().await;
}

/// Two keys fit, and whatever is worked on is for tomorrow: those of two more events find room, and the last event waits.
#[tokio::test]
async fn events_do_not_wait_for_keys_of_tomorrow_while_there_is_twice_the_room() {
    let tomorrow =
        "(i64.store (i32.const 400) (i64.const 0)) (i64.store (i32.const 408) (i64.const 1))
        (i64.store (i32.const 416) (i64.const 86400000)) (return (i32.const 400))";
    let limits = Limits { workqueue_keys_max: 2, ..Limits::default() };
    let bench = Bench::working(&["a", "b", "c", "d", "e"], limits, &worker(tomorrow));
    let is_full = |status: Option<&PluginStatus>| {
        keys(status) == [4, 0, 0] && workqueue(status, "holdsEvents") == true
    };
    bench.until("worker", is_full).await;
    assert_eq!(count(bench.status("worker").as_ref(), "enqueued"), 4);
    bench.stop().await;
}

#[tokio::test]
async fn what_happens_to_one_object_while_its_key_waits_is_one_call() {
    let bench = Bench::working(&["a"], Limits::default(), &worker(""));
    bench.until("worker", |status| keys(status) == [1, 0, 0] && is(status, "running")).await;
    let name: PluginName = "worker".parse().expect("a name");
    bench.admin.pause(&name).await.expect("it is held");
    for _ in 0..50 {
        bench.source.modify(&pod("a"));
    }
    bench.until("worker", |status| status.is_some_and(|it| it.queue.depth == 50)).await;
    bench.admin.resume(&name).await.expect("it goes on");
    bench.until("worker", |status| count(status, "enqueued") == 51).await;
    bench.until("worker", |status| workqueue(status, "keys") == 0).await;
    assert_eq!(keys(bench.status("worker").as_ref()), [2, 0, 0]);
    bench.stop().await;
}

/// The first key is for tomorrow, and there is no room for another.
#[tokio::test]
async fn a_call_that_cannot_add_a_key_has_not_succeeded() {
    let tomorrow = "(call $add_after (i32.const 512) (i32.const 4) (i64.const 86400000))";
    let limits = Limits { workqueue_keys_max: 1, ..Limits::default() };
    let plugin = adder("", &format!("{tomorrow} {ADDS}"));
    let bench = Bench::working(&["a"], limits, &plugin);
    let error = "workqueue.add: the workqueue is full: it has 1 keys of 260 bytes";
    let failed = |status: Option<&PluginStatus>| json(status)["lastError"]["message"] == error;
    bench.until("worker", |status| failed(status) && count(status, "retry") == 1).await;
    let status = bench.status("worker");
    assert_eq!((handled(status.as_ref()), keys(status.as_ref())), (0, [0, 0, 0]));
    assert_eq!(json(status.as_ref())["counters"]["restarts"], serde_json::json!({}));
    bench.stop().await;
}

/// Nothing makes it shorter.
#[tokio::test]
async fn an_event_whose_call_adds_a_key_that_is_too_long_is_given_up() {
    let long = "(call $add (i32.const 512) (i32.const 513))";
    let bench = Bench::working(&["a"], Limits::default(), &adder("", long));
    let error = "workqueue.add: a key of 513 bytes: keys have 1 to 512";
    let failed = |status: Option<&PluginStatus>| json(status)["lastError"]["message"] == error;
    bench.until("worker", |status| failed(status) && count(status, "dead") == 1).await;
    assert_eq!(count(bench.status("worker").as_ref(), "retry"), 0);
    bench.stop().await;
}

#[tokio::test]
async fn keys_are_not_added_before_a_version_is_in_charge() {
    let whole = text(HELLO, "", "");
    let start = r#"#start") (param $config i32) (param $len i32) (result i32)"#;
    let adds = swap(&whole, start, &format!("{start} (call $add (i32.const 512) (i32.const 4))"));
    let bench = Bench::working(&[], Limits::default(), &assembled(&adds));
    bench.until("worker", |status| last_load(status).contains("workqueue.add in start")).await;
    bench.stop().await;
}

#[tokio::test]
async fn keys_wait_over_a_reload_and_are_dropped_for_a_version_that_works_on_none() {
    let tomorrow = "(call $add_after (i32.const 512) (i32.const 4) (i64.const 86400000))";
    let bench = Bench::working(&["a"], Limits::default(), &adder("", tomorrow));
    bench.until("worker", |status| workqueue(status, "delayed") == 1).await;
    bench.drop_in("worker.wasm", &again(adder("", tomorrow)));
    let reloads = |status: Option<&PluginStatus>| count(status, "reloads");
    bench.until("worker", |status| reloads(status) == 1 && is(status, "running")).await;
    assert_eq!(workqueue(bench.status("worker").as_ref(), "delayed"), 1);
    bench.drop_in("worker.wasm", &hello_again(2));
    bench.until("worker", |status| reloads(status) == 2 && is(status, "running")).await;
    let status = bench.status("worker");
    assert_eq!(workqueue(status.as_ref(), "keys"), 0);
    assert_eq!(count(status.as_ref(), "keysDropped"), 1);
    bench.stop().await;
}

#[tokio::test]
async fn a_new_version_works_on_the_keys_of_all_objects_again() {
    let bench = Bench::working(&["a", "b"], Limits::default(), &worker(""));
    bench.until("worker", |status| keys(status) == [2, 0, 0]).await;
    bench.drop_in("worker.wasm", &again(worker("")));
    bench.until("worker", |status| keys(status) == [4, 0, 0]).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_new_version_makes_keys_by_its_own_rules() {
    let bench = Bench::working(&["a"], Limits::default(), &worker(""));
    bench.until("worker", |status| keys(status) == [1, 0, 0]).await;
    let rules = r#""enqueue":[{"self":true,"prefix":"p:"}]"#;
    bench.drop_in("worker.wasm", &assembled(&text(&hello_text_with(rules), &fails(2), "")));
    bench.until("worker", |status| keys(status) == [1, 0, 1] && given_up(status) == 1).await;
    assert_eq!(workqueue(bench.status("worker").as_ref(), "givenUp")[0]["key"], "p:default/a");
    bench.stop().await;
}

#[tokio::test]
async fn keys_that_a_call_has_added_stay_added_if_it_traps() {
    let traps = adder("", &format!("{ADDS} unreachable"));
    let bench = Bench::working(&["a"], Limits::default(), &traps);
    let is_worked_on = |status: Option<&PluginStatus>| {
        count(status, "dead") == 1 && keys(status)[0] > 0 && workqueue(status, "keys") == 0
    };
    bench.until("worker", is_worked_on).await;
    assert_eq!(handled(bench.status("worker").as_ref()), 0);
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_is_held_works_on_no_keys() {
    let soon = "(i64.store (i32.const 400) (i64.const 0)) (i64.store (i32.const 408) (i64.const 1))
        (i64.store (i32.const 416) (i64.const 20)) (return (i32.const 400))";
    let bench = Bench::working(&["a"], Limits::default(), &worker(soon));
    bench.until("worker", |status| keys(status)[0] > 0 && is(status, "running")).await;
    let name: PluginName = "worker".parse().expect("a name");
    bench.admin.pause(&name).await.expect("it is held");
    let [worked, ..] = keys(bench.status("worker").as_ref());
    bench.until("worker", |status| workqueue(status, "depth") == 1).await;
    assert_eq!(keys(bench.status("worker").as_ref()), [worked, 0, 0]);
    bench.admin.resume(&name).await.expect("it goes on");
    bench.until("worker", |status| keys(status)[0] > worked).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_whose_keys_only_fail_is_tripped() {
    let names: Vec<String> = (0..300).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = Bench::working(&names, Limits::default(), &worker(&fails(2)));
    bench.until("worker", |status| is(status, "tripped")).await;
    let [ok, retry, dead] = keys(bench.status("worker").as_ref());
    assert_eq!((ok, retry), (0, 0));
    // In a minute there are no more than 110 pauses.
    assert!(dead < 200, "the others wait: {dead}");
    bench.stop().await;
}

/// One of its events is of another kind of work: the descriptor has both.
#[tokio::test]
async fn a_plugin_may_be_told_of_one_view_and_work_on_the_keys_of_another() {
    let both = r#"{"version":"1","subscriptions":[{"resource":"v1/pods","enqueue":[{"self":true,"prefix":"p:"}]},{"name":"told","resource":"v1/pods"}]}"#;
    let plugin = assembled(&text(&described(both), &fails(2), ""));
    let bench = Bench::working(&["a"], Limits::default(), &plugin);
    let is_done = |status: Option<&PluginStatus>| {
        handled(status) == 1 && keys(status) == [0, 0, 1] && given_up(status) == 1
    };
    bench.until("worker", is_done).await;
    assert_eq!(workqueue(bench.status("worker").as_ref(), "givenUp")[0]["key"], "p:default/a");
    bench.stop().await;
}

/// A plugin whose file is removed once it is as wanted: its keys that succeeded when it has ended, and how long that took.
async fn removed(bench: Bench, wanted: impl Fn(Option<&PluginStatus>) -> bool) -> (u64, Duration) {
    bench.until("worker", wanted).await;
    let counters = bench.status("worker").expect("it runs").counters;
    let began = Instant::now();
    std::fs::remove_file(bench.directory().join("worker.wasm")).expect("the file was there");
    bench.until("worker", |status| status.is_none()).await;
    let took = began.elapsed();
    bench.stop().await;
    (counters.keys_ok.load(Relaxed), took)
}

#[tokio::test]
async fn keys_that_wait_are_worked_on_before_a_removed_plugin_ends() {
    let later =
        "(i32.store8 (i32.const 400) (i32.const 1)) (i32.store8 (i32.const 416) (i32.const 1))
        (i64.store (i32.const 424) (i64.const 2000)) (return (i32.const 400))";
    let second = format!("(if (i32.eq (local.get $attempt) (i32.const 1)) (then {later}))");
    let limits = Limits { drain_time: Duration::from_secs(60), ..Limits::default() };
    let bench = Bench::working(&["a", "b", "c"], limits, &worker(&second));
    let (succeeded, _) = removed(bench, |status| keys(status) == [0, 3, 0]).await;
    assert_eq!(succeeded, 3, "those that failed, too");
}

#[tokio::test]
async fn keys_that_are_for_later_are_not_waited_for() {
    let later = "(call $add_after (i32.load offset=24 (local.get $event))
        (i32.load offset=28 (local.get $event)) (i64.const 3600000))";
    let limits = Limits { drain_time: Duration::from_secs(60), ..Limits::default() };
    let bench = Bench::working(&["a"], limits, &adder("", later));
    let waits =
        |status: Option<&PluginStatus>| handled(status) == 1 && workqueue(status, "delayed") == 1;
    let (succeeded, took) = removed(bench, waits).await;
    assert!(succeeded == 0 && took < Duration::from_secs(40), "{took:?}");
}

/// As the workers of client-go's controllers, which start after `WaitForCacheSync`.
/// Invariant 21.
#[tokio::test]
async fn no_key_is_worked_on_before_all_that_is_read_has_synced() {
    let bench = Bench::working(&["a"], Limits::default(), &worker(""));
    bench.until("worker", |status| keys(status) == [1, 0, 0]).await;
    // Of what is asked for from now on the list never ends.
    bench.source.set_watch_lists(WatchLists::WithoutBookmark);
    let more = r#""enqueue":["self"]},{"name":"more","resource":"v1/nodes","namespaces":["x"]"#;
    let both = assembled(&text(&hello_text_with(more), "", ""));
    bench.drop_in("reader.wasm", &both);
    for round in 1..=5 {
        bench.until("reader", |status| count(status, "enqueued") >= round).await;
        bench.source.modify(&pod("a"));
    }
    bench.until("worker", |status| keys(status) == [6, 0, 0]).await;
    let waits = |status: Option<&PluginStatus>| keys(status) == [0, 0, 0];
    assert!(waits(bench.status("reader").as_ref()), "events became keys, which wait");
    // The actor may still be at its last event, and then it is not stuck.
    let has_work = || {
        let pulses = bench.plugins.pulses(std::time::Instant::now());
        let mut pulses = pulses.iter().filter(|(task, _)| task.ends_with("the plugin reader"));
        pulses.any(|(_, pulse)| pulse.has_work)
    };
    bench.until("reader", |_| !has_work()).await;
    bench.source.set_watch_lists(WatchLists::Served);
    bench.source.end_watches(None);
    bench.until("reader", |status| keys(status)[0] >= 1).await;
    assert_eq!(keys(bench.status("reader").as_ref())[1..], [0, 0], "no attempt failed");
    bench.stop().await;
}
