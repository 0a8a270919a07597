//! Guests that want to know when their initial objects are through.

use super::{Bench, DEADLINE, HELLO, handled, is, pod, swap};
use informant_runtime::{PluginName, PluginStatus};
use tokio::sync::oneshot;

/// Answers with a failure that is not to be tried again.
const REFUSES: &str = "(i32.store8 (i32.const 320) (i32.const 1))
    (i32.store8 (i32.const 336) (i32.const 2))
    (return (i32.const 320))";

/// `hello` with this replay, which refuses every event once `synced` was called, and with this in `synced`.
fn guest(replay: &str, synced: &str) -> Vec<u8> {
    let resource = r#"\"resource\":\"v1/pods\""#;
    let replay = format!(r#",\"replay\":\"{replay}\""#);
    let length = 0x4d + replay.replace('\\', "").len();
    let text = swap(HELLO, resource, &format!("{resource}{replay}"));
    let text = swap(&text, r"\4d\00\00\00", &format!(r"\{length:02x}\00\00\00"));
    let begin = "(local $line i32) (local $end i32)\n";
    let refuses = format!("(if (i32.load (i32.const 416)) (then {REFUSES}))");
    let text = swap(&text, begin, &format!("{begin}{refuses}\n"));
    let sync_aware = format!(
        r#"(memory (export "memory") 1)
        (func (export "informant:plugin/sync-aware@0.1.0#synced") (param i32) (result i32)
          {synced}
          (i32.store (i32.const 416) (i32.const 1))
          (i32.store8 (i32.const 320) (i32.const 0))
          (i32.const 320))"#
    );
    let text = swap(&text, r#"(memory (export "memory") 1)"#, &sync_aware);
    wat::parse_str(text).expect("it is well formed")
}

/// Another content, the same plugin.
fn again(mut module: Vec<u8>) -> Vec<u8> {
    // A custom section: id 0, its size, the name's length and the name.
    module.extend([0, 2, 1, b'v']);
    module
}

fn trapped(status: Option<&PluginStatus>) -> u64 {
    let json = status.map(PluginStatus::to_json).unwrap_or_default();
    json["counters"]["restarts"]["trap"].as_u64().unwrap_or_default()
}

impl Bench {
    /// A host with two pods.
    async fn with_pods() -> Self {
        let bench = Self::start();
        for name in ["a", "b"] {
            bench.source.add(&pod(name));
        }
        bench
    }

    /// What was refused, in order.
    async fn refused(&self, count: usize) -> Vec<String> {
        self.until("hello", |status| status.is_some_and(|it| it.dead_letters == count)).await;
        let name: PluginName = "hello".parse().expect("a name");
        let letters = self.plugins.dead_letters(&name, 0, usize::MAX).expect("it is there");
        let words = |letter: &informant_runtime::DeadLetter| {
            let json = letter.to_json();
            let [name, change] = ["name", "change"].map(|key| json[key].to_string());
            format!("{name} {change}").replace('"', "")
        };
        letters.iter().map(words).collect()
    }
}

/// Which events a plugin is told after it was told that it has synced; it is replaced by the same once.
async fn check(replay: &str, expect: &[&str]) {
    let bench = Bench::with_pods().await;
    let resource = "v1/pods".parse().expect("a resource");
    let informer = bench.informers.lease(&resource);
    bench.informers.start();
    bench.informers.wait_for_cache_sync(DEADLINE).await.expect("the pods are listed");
    bench.drop_in("hello.wasm", &guest(replay, ""));
    let told = if replay == "never" { 0 } else { 2 };
    bench.until("hello", |status| is(status, "running") && handled(status) == told).await;
    for _ in 0..2 {
        // Between two of these the informer's task has told whoever is new that this is all.
        let (call, called) = oneshot::channel();
        informer.informer().between_notifications(move || _ = call.send(()));
        called.await.expect("the informer runs");
    }
    bench.source.add(&pod("c"));
    assert_eq!(bench.refused(1).await, ["c added"]);
    bench.drop_in("hello.wasm", &again(guest(replay, "")));
    let reloaded = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["counters"]["reloads"] == 1)
    };
    bench.until("hello", |status| reloaded(status) && is(status, "running")).await;
    let told = if replay == "initial-and-reload" { told + 3 } else { told };
    bench.until("hello", |status| handled(status) == told).await;
    bench.source.delete(&pod("a"));
    assert_eq!(bench.refused(2).await, expect);
    assert_eq!(handled(bench.status("hello").as_ref()), told);
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_hears_that_it_has_synced_after_what_was_there_and_before_what_follows() {
    check("initial", &["c added", "a deleted"]).await;
}

#[tokio::test]
async fn a_plugin_that_is_told_again_hears_it_after_that() {
    check("initial-and-reload", &["c added", "a deleted"]).await;
}

#[tokio::test]
async fn a_plugin_to_which_nothing_is_replayed_hears_it_too() {
    check("never", &["c added", "a deleted"]).await;
}

/// Invariant 29.
#[tokio::test]
async fn a_trap_in_it_is_tried_again_and_given_up_and_events_go_on() {
    let bench = Bench::with_pods().await;
    bench.drop_in("hello.wasm", &guest("initial", "unreachable"));
    let given_up = |status: Option<&PluginStatus>| trapped(status) == 3 && is(status, "running");
    bench.until("hello", |status| given_up(status) && handled(status) == 2).await;
    bench.source.add(&pod("c"));
    bench.until("hello", |status| handled(status) == 3).await;
    assert_eq!(trapped(bench.status("hello").as_ref()), 3);
    let why = bench.status("hello").map(|status| status.why(|_, _| None)).unwrap_or_default();
    assert!(why.concat().starts_with("synced of v1/pods was given up: "), "{why:?}");
    bench.stop().await;
}
