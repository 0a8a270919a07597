//! Plugins that run in several instances.

use super::configuration::{host, yaml};
use super::keys::{ADDS, adder, keys, worker};
use super::writes::{Answer, Cluster, PODS, patches};
use super::{Bench, HELLO, described, handled, hello_again, is, last_load, pod, stateful, swap};
use informant_runtime::configuration::Configurations;
use informant_runtime::{DeadLetter, Limits, PluginName, PluginStatus, Selection};
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Fails in these words, which stand at 464 and have three bytes; `retry` is 0 for the rate limiter, 2 for never.
const FAILS: &str = "(i32.store8 (i32.const 320) (i32.const 1))
    (i32.store (i32.const 328) (i32.const 464)) (i32.store (i32.const 332) (i32.const 3))
    (i32.store8 (i32.const 336) (i32.const retry))
    (return (i32.const 320))";
/// Writes the shard's number, a slash and how many there are to 464.
const SHARD: &str = "(call $shard (i32.const 400))
    (i32.store8 (i32.const 464) (i32.add (i32.const 48) (i32.load (i32.const 400))))
    (i32.store8 (i32.const 465) (i32.const 47))
    (i32.store8 (i32.const 466) (i32.add (i32.const 48) (i32.load (i32.const 404))))";
/// The last byte of the object's name.
const LAST: &str = "(i32.load8_u (i32.sub (i32.add (i32.load offset=24 (local.get $event))
    (i32.load offset=28 (local.get $event))) (i32.const 1)))";

fn fails(retry: u8) -> String {
    FAILS.replace("retry", &retry.to_string())
}

/// `hello` with these words, which can ask for its shard, and with this in `handle`.
fn guest_of(hello: &str, handle: &str) -> Vec<u8> {
    let memory = r#"(memory (export "memory") 1)"#;
    let more = format!(
        r#"(import "informant:plugin/host-info@0.1.0" "shard" (func $shard (param i32)))
        {memory}
        (func $number (param $text i32) (param $length i32) (result i32)
          (local $number i32)
          (block $end
            (loop $next
              (br_if $end (i32.eqz (local.get $length)))
              (local.set $number (i32.add (i32.mul (local.get $number) (i32.const 10))
                (i32.sub (i32.load8_u (local.get $text)) (i32.const 48))))
              (local.set $text (i32.add (local.get $text) (i32.const 1)))
              (local.set $length (i32.sub (local.get $length) (i32.const 1)))
              (br $next)))
          (local.get $number))"#
    );
    let begin = "(local $line i32) (local $end i32)\n";
    let locals = "(local $line i32) (local $end i32) (local $version i32) (local $slot i32)\n";
    let handle = format!("{locals}(i32.store8 (i32.const 320) (i32.const 0))\n{handle}\n");
    let text = swap(&swap(hello, memory, &more), begin, &handle);
    wat::parse_str(text).expect("it is well formed")
}

fn guest(handle: &str) -> Vec<u8> {
    guest_of(HELLO, handle)
}

/// Fails for good where an object's version is not above the last one that it took, and for now with every third event's first attempt.
fn judge() -> Vec<u8> {
    let version = "(call $number (i32.load offset=40 (local.get $event)) (i32.load offset=44 (local.get $event)))";
    guest(&format!(
        "(local.set $version {version})
        (local.set $slot (i32.add (i32.const 60000) (i32.mul (i32.const 4) {LAST})))
        (if (i32.le_s (local.get $version) (i32.load (local.get $slot))) (then {}))
        (if (i32.and (i32.eq (i32.load offset=56 (local.get $event)) (i32.const 1))
              (i64.eqz (i64.rem_u (i64.load (local.get $event)) (i64.const 3)))) (then {}))
        (i32.store (local.get $slot) (local.get $version))",
        fails(2),
        fails(0)
    ))
}

/// The same with another content.
fn again(mut module: Vec<u8>, number: u8) -> Vec<u8> {
    module.extend([0, 3, 1, b'v', number]);
    module
}

fn json(status: Option<&PluginStatus>) -> Value {
    status.map(PluginStatus::to_json).unwrap_or_default()
}

fn count(status: Option<&PluginStatus>, counter: &str) -> u64 {
    json(status)["counters"][counter].as_u64().unwrap_or_default()
}

/// Which of its shards lack their instance.
fn lost(status: Option<&PluginStatus>) -> Vec<bool> {
    status.iter().flat_map(|status| &status.shards).map(|shard| shard.is_lost).collect()
}

fn runs_in(status: Option<&PluginStatus>, shards: usize) -> bool {
    is(status, "running") && lost(status).len() == shards
}

/// As the contract has it, worked out once more.
fn shard_of(key: &str, shards: u64) -> u64 {
    let mut hash = 14_695_981_039_346_656_037_u64;
    for byte in key.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(1_099_511_628_211);
    }
    hash % shards
}

impl Bench {
    /// A host with `hello` in so many shards, and with pods of these names.
    fn sharded(shards: usize, names: &[&str], plugin: &[u8]) -> Self {
        Self::sharded_with(shards, names, plugin, Configurations::default())
    }

    fn sharded_with(
        shards: usize,
        names: &[&str],
        plugin: &[u8],
        configurations: Configurations,
    ) -> Self {
        let bench = Self::start_configured(None, configurations);
        for name in names {
            bench.source.add(&pod(name));
        }
        bench.drop_in("hello.yaml", &yaml(&format!("shards: {shards}")));
        bench.drop_in("hello.wasm", plugin);
        bench
    }

    fn given_up(&self) -> Vec<DeadLetter> {
        let name: PluginName = "hello".parse().expect("a name");
        self.plugins.dead_letters(&name, 0, usize::MAX).expect("it is there")
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "d"];

#[tokio::test]
async fn objects_go_by_the_hash_of_their_names_and_each_instance_knows_its_number() {
    let bench = Bench::sharded(4, &NAMES, &guest(&format!("{SHARD} {}", fails(2))));
    bench.until("hello", |status| status.is_some_and(|it| it.dead_letters == 4)).await;
    let told: BTreeMap<String, String> = bench
        .given_up()
        .iter()
        .map(|letter| {
            let json = letter.to_json();
            let text = |key: &str| json[key].as_str().unwrap_or_default().to_owned();
            (text("name"), text("error"))
        })
        .collect();
    for name in NAMES {
        let shard = shard_of(&format!("default/{name}"), 4);
        assert_eq!(told[name], format!("the plugin answered: {shard}/4"), "{name}");
    }
    let numbers = NAMES.map(|name| shard_of(&format!("default/{name}"), 4));
    assert_eq!(numbers.iter().sum::<u64>(), 6, "each is in another");
    assert!(runs_in(bench.status("hello").as_ref(), 4));
    bench.stop().await;
}

/// Both wait for the cluster at once; there is one thread.
#[tokio::test]
async fn two_objects_are_handled_at_once_in_two_shards() {
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(host(&format!("hello: {{shards: 2, writes: [{PODS}]}}")));
    bench.source.add(&pod("b"));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |_| cluster.asked().len() == 2).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 0);
    // One more of each waits behind them.
    bench.source.modify(&pod("a"));
    bench.source.modify(&pod("b"));
    bench.until("hello", |status| status.is_some_and(|it| it.queue.depth == 2)).await;
    assert_eq!(cluster.asked().len(), 2);
    cluster.answer.send_replace(Answer::Done);
    bench.until("hello", |status| handled(status) == 4).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_shard_whose_instance_ends_leaves_the_others_alone() {
    let traps = format!("(if (i32.eq (i32.const 97) {LAST}) (then unreachable))");
    let limits = Limits { crashes_per_event_max: 100, attempts_max: 100, ..Limits::default() };
    let with = Configurations::with_limits(&limits);
    let bench = Bench::sharded_with(2, &["a", "b"], &guest(&traps), with);
    let of_a = shard_of("default/a", 2) as usize;
    // The next instance starts at once: nobody need have seen that there was none.
    let has_trapped =
        |status: Option<&PluginStatus>| json(status)["counters"]["restarts"]["trap"] != Value::Null;
    bench.until("hello", has_trapped).await;
    for number in 1..=20 {
        bench.source.modify(&pod("b"));
        bench.until("hello", |status| handled(status) > number).await;
    }
    let status = bench.status("hello");
    assert!(!lost(status.as_ref())[1 - of_a]);
    assert_eq!(handled(status.as_ref()), 21);
    assert_eq!(count(status.as_ref(), "trips"), 0);
    bench.stop().await;
}

/// Invariant 25.
#[tokio::test]
async fn each_objects_events_come_in_order_over_retries_and_other_numbers_of_shards() {
    let names = ["a", "b", "c", "d", "e", "f", "g"];
    let bench = Bench::sharded(3, &names, &judge());
    let total = names.len() as u64;
    bench.until("hello", |status| runs_in(status, 3) && handled(status) == total).await;
    let mut total = total;
    for (shards, version) in [(1, None), (5, Some(1)), (2, Some(2)), (2, Some(3)), (4, None)] {
        let change = |round: usize| bench.source.modify(&pod(names[round % names.len()]));
        (0..50).for_each(|round| _ = change(round));
        bench.drop_in("hello.yaml", &yaml(&format!("shards: {shards}")));
        if let Some(number) = version {
            bench.drop_in("hello.wasm", &again(judge(), number));
        }
        let mut rounds = 50;
        while !runs_in(bench.status("hello").as_ref(), shards) {
            change(rounds);
            rounds += 1;
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        total += rounds as u64;
        bench.until("hello", |status| handled(status) == total).await;
    }
    let status = bench.status("hello");
    assert_eq!((count(status.as_ref(), "dead"), count(status.as_ref(), "coalesced")), (0, 0));
    assert!(count(status.as_ref(), "retry") > 0);
    bench.stop().await;
}

/// Invariant 26.
#[tokio::test]
async fn no_shard_of_the_old_version_is_called_once_the_new_one_is() {
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(host(&format!("hello: {{shards: 4, writes: [{PODS}]}}")));
    for name in &NAMES[1..] {
        bench.source.add(&pod(name));
    }
    bench.drop_in("hello.wasm", &patches("shop", "old", ""));
    bench.until("hello", |_| cluster.asked().len() == 4).await;
    bench.drop_in("hello.wasm", &patches("shop", "new", ""));
    bench.until("hello", |status| is(status, "reloading")).await;
    cluster.answer.send_replace(Answer::Done);
    let is_new = |asked: &String| asked.contains("/pods/new");
    let mut changes = 0;
    // All shards have something to do while the version changes.
    while changes < 40 || !cluster.asked().iter().any(is_new) {
        NAMES.iter().for_each(|name| _ = bench.source.modify(&pod(name)));
        changes += 4;
        bench.until("hello", |status| handled(status) + 40 >= changes).await;
    }
    let all = 4 + changes;
    bench.until("hello", |status| handled(status) == all && runs_in(status, 4)).await;
    let asked = cluster.asked();
    let first = asked.iter().position(is_new).expect("it is called");
    assert!(asked[first..].iter().all(is_new), "{asked:?}");
    assert_eq!(asked.len() as u64, all, "nothing came twice");
    bench.stop().await;
}

#[tokio::test]
async fn a_version_that_cannot_start_in_one_of_its_shards_takes_over_in_none() {
    let bench = Bench::sharded(3, &NAMES, &guest(""));
    bench.until("hello", |status| runs_in(status, 3) && handled(status) == 4).await;
    let start = r#"#start") (param $config i32) (param $len i32) (result i32)"#;
    let second = "(call $shard (i32.const 400))
        (if (i32.eq (i32.const 2) (i32.load (i32.const 400))) (then unreachable))";
    // Wherever it took over, events would be given up.
    let traps = guest_of(&swap(HELLO, start, &format!("{start} {second}")), &fails(2));
    bench.drop_in("hello.wasm", &traps);
    bench.until("hello", |status| last_load(status).contains("start failed: trap")).await;
    NAMES.iter().for_each(|name| _ = bench.source.modify(&pod(name)));
    bench.until("hello", |status| runs_in(status, 3) && handled(status) == 8).await;
    bench.drop_in("hello.yaml", &yaml("shards: 2"));
    // There is no such shard any more.
    bench.until("hello", |status| runs_in(status, 2)).await;
    assert_eq!(count(bench.status("hello").as_ref(), "dead"), 0, "it was called before");
    NAMES.iter().for_each(|name| _ = bench.source.modify(&pod(name)));
    bench.until("hello", |status| count(status, "dead") == 4).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_is_held_once_all_of_its_shards_are_and_goes_on_in_all() {
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(host(&format!("hello: {{shards: 2, writes: [{PODS}]}}")));
    bench.source.add(&pod("b"));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |_| cluster.asked().len() == 2).await;
    let (admin, name) = (bench.admin.clone(), "hello".parse::<PluginName>().expect("a name"));
    let pausing = tokio::spawn({
        let (admin, name) = (admin.clone(), name.clone());
        async move { admin.pause(&name).await }
    });
    bench.source.modify(&pod("a"));
    bench.source.modify(&pod("b"));
    bench.until("hello", |status| status.is_some_and(|it| it.queue.depth == 2)).await;
    assert!(!pausing.is_finished() && !is(bench.status("hello").as_ref(), "paused"));
    cluster.answer.send_replace(Answer::Done);
    pausing.await.expect("it ends").expect("it is held");
    let status = bench.status("hello");
    assert!(is(status.as_ref(), "paused"));
    let before = handled(status.as_ref());
    assert_eq!(before + json(status.as_ref())["queue"]["depth"].as_u64().unwrap_or_default(), 4);
    admin.resume(&name).await.expect("it goes on");
    bench.until("hello", |status| is(status, "running") && handled(status) == 4).await;
    bench.stop().await;
}

/// One shard hears of both at once, the other only when its call ends.
#[tokio::test]
async fn what_is_asked_for_last_counts_whichever_shard_hears_of_it_first() {
    let cluster = Cluster::new(Answer::Later);
    let bench = cluster.bench(host(&format!("hello: {{shards: 2, writes: [{PODS}]}}")));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |_| cluster.asked().len() == 1).await;
    let name: PluginName = "hello".parse().expect("a name");
    let mut asked = Vec::new();
    for is_pause in [true, false] {
        let (admin, of) = (bench.admin.clone(), name.clone());
        asked.push(tokio::spawn(async move {
            match is_pause {
                true => admin.pause(&of).await,
                false => admin.resume(&of).await,
            }
        }));
        // The other is asked for after it.
        bench.admin.purge(&name, Selection::All).await.expect("it is there");
    }
    // The host has carried out both.
    bench.admin.purge(&name, Selection::All).await.expect("it is there");
    assert!(!is(bench.status("hello").as_ref(), "paused"), "one shard has not heard of it");
    cluster.answer.send_replace(Answer::Done);
    for asked in asked {
        asked.await.expect("it ends").expect("it is done");
    }
    let status = bench.status("hello");
    assert!(is(status.as_ref(), "running"), "{:?}", status.map(|status| status.state));
    bench.source.modify(&pod("a"));
    bench.until("hello", |status| handled(status) == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_whose_shards_only_fail_is_tripped_as_one() {
    let names: Vec<String> = (0..200).map(|number| format!("p{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let bench = Bench::sharded(4, &names, &guest(&fails(2)));
    bench.until("hello", |status| is(status, "tripped")).await;
    let status = bench.status("hello");
    assert_eq!(count(status.as_ref(), "trips"), 1);
    let dead = count(status.as_ref(), "dead");
    assert!(dead < 180, "the others wait: {dead}");
    bench.drop_in("hello.wasm", &guest(""));
    let all = |status: Option<&PluginStatus>| handled(status) + count(status, "dead") == 200;
    bench.until("hello", |status| runs_in(status, 4) && all(status)).await;
    bench.stop().await;
}

#[tokio::test]
async fn keys_go_by_their_own_hash_and_whoever_adds_one_wakes_its_shard() {
    let names: Vec<String> = (0..100).map(|number| format!("p{number}")).collect();
    let bench = Bench::start();
    bench.drop_in("hello.yaml", &yaml("shards: 4"));
    bench.drop_in("hello.wasm", &adder("", ADDS));
    bench.until("hello", |status| runs_in(status, 4)).await;
    for (name, number) in names.iter().zip(1..) {
        bench.source.add(&pod(name));
        // It is of the shard of `p0`, most of the time another than that of `default/p0`.
        bench.until("hello", |status| keys(status) == [number, 0, 0]).await;
    }
    bench.drop_in("hello.wasm", &worker(""));
    bench.until("hello", |status| keys(status) == [200, 0, 0] && runs_in(status, 4)).await;
    assert_eq!(json(bench.status("hello").as_ref())["workqueue"]["keys"], 0);
    bench.stop().await;
}

#[tokio::test]
async fn the_clock_calls_one_shard() {
    let schedules = r#"{"version":"0.1.0","schedules":[{"name":"s","every":"100ms"}],"shards":3}"#;
    let timer = r#"(memory (export "memory") 1)
    (func (export "informant:plugin/timer@0.1.0#fire") (param i32 i32 i64) (result i32)
      (call $shard (i32.const 400))
      (if (i32.load (i32.const 400)) (then unreachable))
      (i32.const 320))
    (func (export "cabi_post_informant:plugin/timer@0.1.0#fire") (param i32)
      (call $free_all (local.get 0)))"#;
    let text = swap(&described(schedules), r#"(memory (export "memory") 1)"#, timer);
    let bench = Bench::start();
    bench.drop_in("hello.wasm", &guest_of(&text, ""));
    let fired = |status: Option<&PluginStatus>| {
        status.map_or(0, |status| status.counters.firings_ok.load(Relaxed))
    };
    bench.until("hello", |status| runs_in(status, 3) && fired(status) >= 5).await;
    assert_eq!(json(bench.status("hello").as_ref())["counters"]["restarts"], serde_json::json!({}));
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_hands_over_what_it_knows_has_one_shard() {
    let bench = Bench::sharded(2, &[], &stateful::guest("", ""));
    let reason = "shards is 2 (hello.yaml line 3) and it exports `stateful`, whose snapshot is the memory of one instance: \
                  set shards to 1, or load a version that exports no `stateful`";
    bench.until("hello", |status| last_load(status).contains(reason)).await;
    assert!(is(bench.status("hello").as_ref(), "stopped"));
    bench.drop_in("hello.yaml", &yaml("shards: 1"));
    bench.until("hello", |status| runs_in(status, 1)).await;
    bench.drop_in("hello.yaml", &yaml("shards: 2"));
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |status| runs_in(status, 2)).await;
    bench.stop().await;
}

#[tokio::test]
async fn the_memory_that_is_shown_is_that_of_all_instances() {
    let bench = Bench::sharded(4, &NAMES, &guest(""));
    bench.until("hello", |status| runs_in(status, 4) && handled(status) == 4).await;
    // Each has a page, and some kilobytes of data.
    let of_all = count(bench.status("hello").as_ref(), "memoryBytes");
    assert!((4 << 16..5 << 16).contains(&of_all), "{of_all}");
    bench.drop_in("hello.yaml", &yaml("shards: 1"));
    bench.until("hello", |status| runs_in(status, 1)).await;
    bench.until("hello", |status| count(status, "memoryBytes") * 4 == of_all).await;
    bench.stop().await;
}
