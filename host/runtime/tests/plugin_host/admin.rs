//! What a running host is asked to do: pause, resume, reload, roll back, and the dead letters.

use super::limits::guest;
use super::{Bench, HELLO, handled, hello, hello_again, is, pod, swap};
use informant_runtime::{AdminError, Limits, PluginName, PluginStatus, Selection};
use jiff::Timestamp;
use std::time::Duration;

/// Answers with a failure that is not to be tried again.
pub(super) const REFUSES: &str = "(i32.store8 (i32.const 320) (i32.const 1))
    (i32.store8 (i32.const 336) (i32.const 2))
    (return (i32.const 320))";

fn name() -> PluginName {
    "hello".parse().expect("a name")
}

impl Bench {
    /// A host that runs `hello` and has told it of one pod.
    async fn with_hello() -> Self {
        let bench = Self::start();
        bench.source.add(&pod("a"));
        bench.drop_in("hello.wasm", &hello());
        bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
        bench
    }

    fn sha256(&self) -> String {
        self.status("hello").expect("it is there").to_json()["sha256"].to_string()
    }

    fn dead_letters(&self) -> Vec<String> {
        let letters = self.plugins.dead_letters(&name(), 0, usize::MAX).expect("it is there");
        let shown = |letter: &informant_runtime::DeadLetter| {
            let json = letter.to_json();
            format!("{} {} {} {}", json["id"], json["name"], json["change"], json["reason"])
        };
        letters.iter().map(shown).collect()
    }
}

#[tokio::test]
async fn a_paused_plugin_keeps_its_events_until_it_is_resumed() {
    let bench = Bench::with_hello().await;
    bench.admin.pause(&name()).await.expect("it is paused");
    assert!(is(bench.status("hello").as_ref(), "paused"));
    bench.source.add(&pod("b"));
    bench.until("hello", |status| status.is_some_and(|status| status.queue.depth == 1)).await;
    bench.drop_in("hello.wasm", &hello_again(2));
    let before = bench.sha256();
    bench.until("hello", |_| bench.sha256() != before).await;
    let status = bench.status("hello");
    assert!(
        is(status.as_ref(), "paused") && handled(status.as_ref()) == 1,
        "a new version waits too"
    );
    bench.admin.resume(&name()).await.expect("it is resumed");
    bench.until("hello", |status| is(status, "running") && handled(status) == 2).await;
    bench.stop().await;
}

/// `hello` whose `stop` never ends by itself.
fn stops_for_ever() -> Vec<u8> {
    let stop = r#"(func (export "informant:plugin/lifecycle@0.1.0#stop")"#;
    let text = swap(HELLO, &format!("{stop})"), &format!("{stop} (loop (br 0)))"));
    wat::parse_str(text).expect("it is well formed")
}

/// The old version ends after the first event of the new one. Nothing is taken for the new version before that end.
#[tokio::test(flavor = "multi_thread")]
async fn a_pause_during_the_end_of_an_old_version_leaves_the_next_event() {
    let limits = Limits { stop_deadline: Duration::from_millis(500), ..Limits::default() };
    let bench = Bench::start_with(None, &limits);
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &stops_for_ever());
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    bench.admin.pause(&name()).await.expect("it is paused");
    bench.source.add(&pod("b"));
    bench.source.add(&pod("c"));
    bench.until("hello", |status| status.is_some_and(|status| status.queue.depth == 2)).await;
    let before = bench.sha256();
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |_| bench.sha256() != before).await;
    bench.admin.resume(&name()).await.expect("it is resumed");
    bench.until("hello", |status| handled(status) >= 2).await;

    let asked = Timestamp::now();
    bench.admin.pause(&name()).await.expect("it is paused");
    let status = bench.status("hello").expect("it is there");
    let error = &status.to_json()["lastError"];
    let text = error["message"].as_str().unwrap_or_default();
    assert!(text.starts_with("stop of the old version failed"), "{error}");
    let ended: Timestamp = error["at"].as_str().unwrap_or_default().parse().expect("a time");
    // On a slow machine the pause may come later than that end.
    if asked < ended {
        assert_eq!(handled(Some(&status)), 2, "b, and not c");
    }
    bench.stop().await;
}

#[tokio::test]
async fn the_version_before_takes_over_again_and_back() {
    let bench = Bench::with_hello().await;
    let error = bench.admin.rollback(&name()).await.expect_err("there was none");
    let error = error.to_string();
    let expect = "there is no version before this one since the host started; version ";
    assert!(error.starts_with(expect) && error.ends_with(" goes on"), "{error}");
    let first = bench.sha256();
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |status| is(status, "running") && bench.sha256() != first).await;
    let second = bench.sha256();
    for expect in [&first, &second, &first] {
        // The host may still be busy with the end of the load.
        while let Err(error) = bench.admin.rollback(&name()).await {
            assert!(error.to_string().contains("is being loaded"), "{error}");
        }
        assert_eq!(bench.sha256(), *expect);
    }
    bench.source.add(&pod("b"));
    bench.until("hello", |status| handled(status) == 2).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_changed_configuration_does_not_bring_back_what_was_rolled_back_from() {
    let bench = Bench::with_hello().await;
    let first = bench.sha256();
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |status| is(status, "running") && bench.sha256() != first).await;
    let second = bench.sha256();
    while let Err(error) = bench.admin.rollback(&name()).await {
        assert!(error.to_string().contains("is being loaded"), "{error}");
    }
    let configuration =
        "apiVersion: informant.dev/v1alpha1\nkind: PluginConfiguration\nlimits: {attempts: 3}";
    bench.drop_in("hello.yaml", configuration.as_bytes());
    let attempts = |status: Option<&PluginStatus>| {
        status.map(|it| it.to_json()["configuration"]["limits.attempts"]["value"].clone())
    };
    bench.until("hello", |status| attempts(status) == Some("3".into())).await;
    assert_eq!(bench.sha256(), first);
    bench.admin.reload(&name()).await.expect("it is loaded");
    assert_eq!(bench.sha256(), second, "who asks for the file gets it");
    bench.stop().await;
}

/// What is dropped in after a rollback takes over, unless it is what was rolled back from.
#[tokio::test]
async fn what_was_rolled_back_from_is_what_the_file_has() {
    let bench = Bench::with_hello().await;
    let rollback = async || {
        while let Err(error) = bench.admin.rollback(&name()).await {
            assert!(error.to_string().contains("is being loaded"), "{error}");
        }
    };
    let first = bench.sha256();
    bench.drop_in("hello.wasm", &hello_again(2));
    bench.until("hello", |status| is(status, "running") && bench.sha256() != first).await;
    let second = bench.sha256();
    rollback().await;
    rollback().await;
    assert_eq!(bench.sha256(), second, "as the file has it");
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running") && bench.sha256() == first).await;
    rollback().await;
    assert_eq!(bench.sha256(), second);
    bench.drop_in("hello.wasm", &hello_again(3));
    bench.until("hello", |status| is(status, "running") && bench.sha256() != second).await;
    assert_ne!(bench.sha256(), first);
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running") && bench.sha256() == first).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_file_is_loaded_again_when_somebody_asks_for_it() {
    let bench = Bench::with_hello().await;
    let answer = bench.admin.reload(&name()).await.expect("it is loaded");
    assert!(answer.starts_with("version 0.1.0 ("), "{answer}");
    let reloads =
        bench.status("hello").expect("it is there").to_json()["counters"]["reloads"].clone();
    assert_eq!(reloads, 1);
    let nobody: PluginName = "nobody".parse().expect("a name");
    let error = bench.admin.reload(&nobody).await.expect_err("there is none");
    assert_eq!(error, AdminError::NoSuchPlugin(nobody));
    bench.stop().await;
}

#[tokio::test]
async fn dead_letters_are_kept_sent_again_and_thrown_away() {
    let bench = Bench::start();
    bench.source.add(&pod("a"));
    bench.source.add(&pod("b"));
    bench.drop_in("hello.wasm", &guest("", REFUSES));
    bench.until("hello", |_| bench.status("hello").is_some_and(|it| it.dead_letters == 2)).await;
    assert_eq!(bench.dead_letters(), [r#"1 "a" "added" "initial""#, r#"2 "b" "added" "initial""#]);
    bench.admin.redrive(&name(), Selection::Ids([1].into())).await.expect("it is sent");
    bench.until("hello", |_| bench.dead_letters().len() == 2).await;
    assert_eq!(
        bench.dead_letters(),
        [r#"2 "b" "added" "initial""#, r#"3 "a" "added" "redrive""#],
        "it failed again"
    );
    let purged = bench.admin.purge(&name(), Selection::Ids([2].into())).await;
    assert_eq!(purged.as_deref(), Ok("1 dead letter thrown away"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running")).await;
    let reloaded = |status: Option<&informant_runtime::PluginStatus>| {
        status.is_some_and(|status| status.to_json()["counters"]["reloads"] == 1)
    };
    bench.until("hello", reloaded).await;
    bench.admin.redrive(&name(), Selection::All).await.expect("it is sent");
    bench.until("hello", |status| handled(status) == 1).await;
    assert!(bench.dead_letters().is_empty());
    let error = bench.admin.redrive(&name(), Selection::All).await.expect_err("there is none");
    assert_eq!(error.to_string(), "there is no such dead letter");
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_only_fails_is_tripped_and_recovers_with_a_good_version() {
    let bench = Bench::start();
    for number in 0..300 {
        bench.source.add(&pod(&format!("p{number}")));
    }
    bench.drop_in("hello.wasm", &guest("", REFUSES));
    bench.until("hello", |status| is(status, "tripped")).await;
    let status = bench.status("hello").expect("it is there");
    assert_eq!(status.state.reason(), Some("20 of the last 20 calls failed"));
    // In a minute there are no more than 110 pauses.
    assert!((20..200).contains(&status.dead_letters), "the others wait");
    assert_eq!(status.replays.len(), 1);
    bench.drop_in("hello.wasm", &hello());
    let all = |status: Option<&PluginStatus>| {
        let dead = status.map_or(0, |status| status.dead_letters);
        handled(status) + dead as u64 == 300
    };
    bench.until("hello", |status| is(status, "running") && all(status)).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_tripped_plugin_that_is_resumed_tries_at_once() {
    let bench = Bench::start();
    for number in 0..5 {
        bench.source.add(&pod(&format!("p{number}")));
    }
    bench.drop_in("hello.wasm", &guest("", "unreachable"));
    bench.until("hello", |status| is(status, "tripped")).await;
    let trips = |status: Option<&informant_runtime::PluginStatus>| {
        status.map_or(0, |status| status.counters.trips.load(std::sync::atomic::Ordering::Relaxed))
    };
    assert_eq!(trips(bench.status("hello").as_ref()), 1);
    bench.admin.resume(&name()).await.expect("it is resumed");
    bench.until("hello", |status| trips(status) == 2).await;
    bench.stop().await;
}
