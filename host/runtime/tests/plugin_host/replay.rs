//! Objects that were there before a subscription, told to plugins that take their time.

use super::admin::REFUSES;
use super::limits::guest;
use super::{Bench, handled, hello, hello_again, hello_with, is, pod};
use informant_runtime::{PluginName, PluginStatus, ReplaySnapshot};

/// More than wait for a plugin that takes nothing.
const PODS: usize = 1_000;

impl Bench {
    fn with_many_pods() -> Self {
        let bench = Self::start();
        (0..PODS).for_each(|number| _ = bench.source.add(&pod(&format!("p{number:04}"))));
        bench
    }
}

/// The same with another content hash.
fn again(mut module: Vec<u8>) -> Vec<u8> {
    // A custom section: id 0, its size, the name's length and the name.
    module.extend([0, 2, 1, b'v']);
    module
}

/// Told and left of the only replay, and what else waits.
fn waits(status: Option<&PluginStatus>) -> (Option<(usize, usize)>, usize) {
    let replay = |status: &PluginStatus| status.replays.first().map(|it| (it.told, it.left));
    (status.and_then(replay), status.map_or(0, |status| status.queue.depth))
}

/// Invariant 1.
#[tokio::test]
async fn a_replay_waits_for_a_paused_plugin_and_what_happens_does_not_wait_for_it() {
    let bench = Bench::with_many_pods();
    let name: PluginName = "hello".parse().expect("a name");
    let guest = hello_with(r#""replay":"initial-and-reload""#);
    bench.drop_in("hello.wasm", &guest);
    bench.until("hello", |status| handled(status) == 1_000 && waits(status) == (None, 0)).await;
    bench.admin.pause(&name).await.expect("it is paused");
    bench.drop_in("hello.wasm", &again(guest));
    bench.until("hello", |status| waits(status) == (Some((0, PODS)), 0)).await;
    bench.source.modify(&pod("p0999"));
    // The object as it was, and its change.
    bench.until("hello", |status| waits(status) == (Some((0, PODS)), 2)).await;
    let status = bench.status("hello").expect("it is there").to_json();
    let expect = serde_json::json!([{ "subscription": "v1/pods", "told": 0, "left": PODS }]);
    assert_eq!(status["replays"], expect);
    bench.admin.resume(&name).await.expect("it is resumed");
    bench.until("hello", |status| handled(status) == 2_001 && waits(status) == (None, 0)).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_version_that_wants_no_replay_goes_on_with_the_one_that_is_under_way() {
    let bench = Bench::with_many_pods();
    let refuses = guest("", REFUSES);
    bench.drop_in("hello.wasm", &refuses);
    // The breaker may open while the first list still comes in, and more and more slowly the others are tried.
    let all_known = |status: &PluginStatus| {
        let (subscription, told) = ("v1/pods".to_owned(), status.dead_letters);
        status.replays == [ReplaySnapshot { subscription, told, left: PODS - told }]
            && status.queue.depth == 0
    };
    bench.until("hello", |status| is(status, "tripped") && status.is_some_and(all_known)).await;
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| waits(status) == (None, 0)).await;
    let dead = |status: Option<&PluginStatus>| status.map_or(0, |it| it.dead_letters as u64);
    let all = |status: Option<&PluginStatus>| handled(status) + dead(status);
    bench.until("hello", |status| is(status, "running") && all(status) == PODS as u64).await;
    assert!(dead(bench.status("hello").as_ref()) < 200, "the others wait");
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.source.add(&pod("q"));
    bench.until("hello", |status| all(status) == PODS as u64 + 1).await;
    bench.stop().await;
}

#[tokio::test]
async fn everything_is_told_again_each_resync_period_whatever_filters_compare() {
    let bench = Bench::start();
    (0..300).for_each(|number| _ = bench.source.add(&pod(&format!("p{number:03}"))));
    let keys =
        r#""resyncPeriod":"1s","onlyIfChanged":["/spec"],"filter":"old == null || object.x""#;
    bench.drop_in("hello.wasm", &hello_with(keys));
    // More than a step of the walk.
    bench.until("hello", |status| handled(status) >= 900).await;
    let json = bench.status("hello").expect("it runs").to_json();
    assert_eq!(
        (&json["counters"]["filtered"], &json["counters"]["filterErrors"]),
        (&0.into(), &0.into())
    );
    bench.stop().await;
}

#[tokio::test]
async fn resyncs_of_a_paused_plugin_do_not_pile_up_and_end_with_its_file() {
    let bench = Bench::with_many_pods();
    let name: PluginName = "hello".parse().expect("a name");
    bench.drop_in("hello.wasm", &hello_with(r#""resyncPeriod":"1s""#));
    bench.until("hello", |status| handled(status) >= 1_000).await;
    bench.admin.pause(&name).await.expect("it is paused");
    let before = handled(bench.status("hello").as_ref());
    let left = |status: Option<&PluginStatus>| waits(status).0.map_or(0, |(_, left)| left);
    bench.until("hello", |status| left(status) >= 256).await;
    let (replay, depth) = waits(bench.status("hello").as_ref());
    assert!(replay.is_some_and(|(_, left)| left < 512) && depth == 0, "{replay:?}, {depth}");
    bench.admin.resume(&name).await.expect("it goes on");
    bench.until("hello", |status| handled(status) >= before + 2_000).await;
    std::fs::remove_file(bench.directory().join("hello.wasm")).expect("it was there");
    bench.until("hello", |status| status.is_none()).await;
    bench.stop().await;
}
