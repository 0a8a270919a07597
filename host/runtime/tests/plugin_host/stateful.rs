//! Guests that hand what they know to the version that replaces them.

use super::{Bench, HELLO, handled, is, pod, swap};
use informant_runtime::PluginStatus;

/// `hello` that wants its objects again after a reload, with a snapshot of five bytes and this in `restore`, whose last parameter is
/// the length of what comes.
pub(super) fn guest(snapshot: &str, restore: &str) -> Vec<u8> {
    let resource = r#"\"resource\":\"v1/pods\""#;
    let replay = r#",\"replay\":\"initial-and-reload\""#;
    let text = swap(HELLO, resource, &format!("{resource}{replay}"));
    let text = swap(&text, r"\4d\00\00\00", r"\6b\00\00\00");
    let stateful = format!(
        r#"(memory (export "memory") 1)
        ;; 400: ok(some(five bytes at 448))
        (data (i32.const 400) "\00\00\00\00\01\00\00\00\c0\01\00\00\05\00\00\00")
        (data (i32.const 448) "seven")
        (func (export "informant:plugin/stateful@0.1.0#snapshot") (result i32)
          {snapshot} (i32.const 400))
        (func (export "informant:plugin/stateful@0.1.0#restore")
          (param i32 i32 i32) (param $length i32) (result i32)
          {restore} (i32.const 320))"#
    );
    let text = swap(&text, r#"(memory (export "memory") 1)"#, &stateful);
    wat::parse_str(text).expect("it is well formed")
}

/// Traps unless the five bytes came.
const FIVE: &str = "(if (i32.ne (local.get $length) (i32.const 5)) (then unreachable))";
/// Answers with an error.
const REFUSES: &str = "(i32.store8 (i32.const 320) (i32.const 1))
    (i32.store (i32.const 324) (i32.const 448)) (i32.store (i32.const 328) (i32.const 5))";

fn load(status: Option<&PluginStatus>) -> String {
    super::last_load(status)
}

impl Bench {
    /// A host that has told the first version of one pod and then loads the second.
    async fn replaced(first: &[u8], second: &[u8]) -> Self {
        let bench = Self::start();
        bench.source.add(&pod("a"));
        bench.drop_in("hello.wasm", first);
        bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
        bench.drop_in("hello.wasm", second);
        bench
    }

    /// How often it was told of something, once it knows of a second pod.
    async fn told(&self) -> u64 {
        let before = handled(self.status("hello").as_ref());
        self.source.add(&pod("b"));
        self.until("hello", |status| handled(status) > before).await;
        self.source.delete(&pod("b"));
        self.until("hello", |status| handled(status) > before + 1).await;
        handled(self.status("hello").as_ref())
    }
}

fn reloaded(status: Option<&PluginStatus>) -> bool {
    status.is_some_and(|status| status.to_json()["counters"]["reloads"] == 1)
}

#[tokio::test]
async fn a_version_that_knows_what_the_one_before_knew_is_told_nothing_again() {
    let bench = Bench::replaced(&guest("", ""), &guest("", FIVE)).await;
    bench.until("hello", |status| reloaded(status) && is(status, "running")).await;
    assert_eq!(bench.told().await, 3, "a, then b and its end");
    bench.stop().await;
}

#[tokio::test]
async fn without_a_snapshot_the_replay_is_made() {
    let bench = Bench::replaced(&guest("unreachable", ""), &guest("", FIVE)).await;
    bench.until("hello", |status| reloaded(status) && handled(status) == 2).await;
    assert_eq!(bench.told().await, 4, "a, a again, then b and its end");
    bench.stop().await;
}

#[tokio::test]
async fn a_version_that_cannot_restore_does_not_take_over() {
    let bench = Bench::replaced(&guest("", ""), &guest("", REFUSES)).await;
    let refused = "\"failed\": \"restore failed: the plugin answered: seven\"";
    bench.until("hello", |status| load(status) == refused && is(status, "running")).await;
    assert_eq!(bench.told().await, 3);
    bench.drop_in("hello.wasm", &guest("", "unreachable"));
    bench.until("hello", |status| load(status).contains("restore failed: trap")).await;
    bench.until("hello", |status| is(status, "running")).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_snapshot_that_is_too_large_is_not_carried_over() {
    let large =
        "(i32.store (i32.const 412) (i32.const 1048577)) (drop (memory.grow (i32.const 32)))";
    let bench = Bench::replaced(&guest(large, ""), &guest("", FIVE)).await;
    bench.until("hello", |status| reloaded(status) && handled(status) == 2).await;
    bench.stop().await;
}
