//! What outlives a host: one after another over the same state directory, each with what the cluster has by then.

use super::{Bench, DEADLINE, HELLO, handled, hello, is, pod, swap};
use informant_runtime::{Limits, PluginName, PluginStatus, Selection, StateDirectoryOptions};
use std::path::Path;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// Offset of `attempt` in an event.
const FIRST_ATTEMPT: &str = "(i32.eq (i32.load offset=56 (local.get $event)) (i32.const 1))";
/// Answers with a failure that is not to be tried again.
const REFUSES: &str = "(i32.store8 (i32.const 320) (i32.const 1))
    (i32.store8 (i32.const 336) (i32.const 2))
    (return (i32.const 320))";

/// Answers with a failure that is to be tried again after so many milliseconds.
fn later(ms: u32) -> String {
    format!(
        "(i32.store8 (i32.const 320) (i32.const 1))
        (i32.store8 (i32.const 336) (i32.const 1))
        (i64.store (i32.const 344) (i64.const {ms}))
        (return (i32.const 320))"
    )
}

fn name() -> PluginName {
    "hello".parse().expect("a name")
}

/// A host over the state directory with these pods and this plugin.
fn host(state: &Path, pods: &[&str], plugin: &[u8]) -> Bench {
    let keep_removed = Duration::from_secs(3_600);
    let options = StateDirectoryOptions { directory: state.join("state"), keep_removed };
    let bench = Bench::start_with(Some(options), &Limits::default());
    for name in pods {
        bench.source.add(&pod(name));
    }
    bench.drop_in("hello.wasm", plugin);
    bench
}

/// `hello` with this replay and this code, which `handle` begins with, as text.
fn text(replay: &str, code: &str) -> String {
    let resource = r#"\"resource\":\"v1/pods\""#;
    let replay = format!(r#",\"replay\":\"{replay}\""#);
    let length = 0x4d + replay.replace('\\', "").len();
    let text = swap(HELLO, resource, &format!("{resource}{replay}"));
    let text = swap(&text, r"\4d\00\00\00", &format!(r"\{length:02x}\00\00\00"));
    let begin = "(local $line i32) (local $end i32)\n";
    swap(&text, begin, &format!("{begin}{code}\n"))
}

fn plugin(replay: &str, code: &str) -> Vec<u8> {
    wat::parse_str(text(replay, code)).expect("it is well formed")
}

/// How many retries outlive the host.
fn kept(status: Option<&PluginStatus>) -> usize {
    status.and_then(|status| status.kept).map_or(usize::MAX, |kept| kept.retries)
}

fn reloads(status: Option<&PluginStatus>) -> u64 {
    status.map_or(0, |status| status.counters.reloads_ok.load(Relaxed))
}

/// Runs a host until every pod's event waits for its retry.
async fn leave_retries(state: &Path, pods: &[&str], plugin: &[u8]) {
    let bench = host(state, pods, plugin);
    bench.until("hello", |status| kept(status) == pods.len()).await;
    bench.stop().await;
}

impl Bench {
    /// Waits for so many dead letters and shows them: id, pod, change, reason and attempts.
    async fn letters(&self, count: usize) -> Vec<String> {
        self.until("hello", |status| status.is_some_and(|it| it.dead_letters == count)).await;
        let letters = self.plugins.dead_letters(&name(), 0, usize::MAX).expect("it is there");
        let shown = |letter: &informant_runtime::DeadLetter| {
            let json = letter.to_json();
            let words = ["name", "change", "reason"]
                .map(|key| json[key].as_str().expect("a text").to_owned());
            format!("{} {} #{}", letter.id, words.join(" "), letter.attempts)
        };
        letters.iter().map(shown).collect()
    }
}

/// What becomes of events that a host leaves behind: it had the pods `before` and the next one has `after`, whose plugin gives
/// everything up. Both ask for `replay`.
async fn check(replay: &str, before: &[&str], after: &[&str], expect: &[&str]) {
    let state = tempfile::tempdir().expect("a temporary directory");
    leave_retries(state.path(), before, &plugin(replay, &later(1_500))).await;
    let bench = host(state.path(), after, &plugin(replay, REFUSES));
    bench.letters(expect.len()).await;
    bench.until("hello", |status| status.is_some_and(|status| status.queue.depth == 0)).await;
    assert_eq!(bench.letters(expect.len()).await, expect, "and nothing else");
    bench.stop().await;
}

#[tokio::test]
async fn a_retry_goes_on_with_its_attempts_and_the_objects_present_state() {
    let expect = ["1 a added initial #2", "2 b added initial #2"];
    check("initial", &["a", "b"], &["a", "b"], &expect).await;
}

#[tokio::test]
async fn a_retry_of_an_object_that_is_gone_meanwhile_comes_and_then_its_end() {
    let expect = ["1 a added initial #2", "2 a deleted relist #1"];
    check("initial", &["a"], &[], &expect).await;
}

#[tokio::test]
async fn a_retry_comes_also_where_nothing_is_replayed() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = host(state.path(), &[], &plugin("never", &later(1_500)));
    bench.until("hello", |status| is(status, "running")).await;
    bench.informers.wait_for_cache_sync(DEADLINE).await.expect("the pods are listed");
    bench.source.add(&pod("a"));
    bench.until("hello", |status| kept(status) == 1).await;
    bench.stop().await;
    let bench = host(state.path(), &["a", "b"], &plugin("never", REFUSES));
    assert_eq!(bench.letters(1).await, ["1 a added watch #2"]);
    bench.stop().await;
}

#[tokio::test]
async fn what_has_been_told_in_the_end_is_kept_no_more() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let well = "(i32.store8 (i32.const 320) (i32.const 0))";
    let once = format!("{well} (if {FIRST_ATTEMPT} (then {}))", later(10));
    let bench = host(state.path(), &["a"], &plugin("initial", &once));
    bench.until("hello", |status| handled(status) == 1 && kept(status) == 0).await;
    bench.stop().await;
    // The letter says that subscriptions have begun, with whatever was left for them.
    let bench = host(state.path(), &["b"], &plugin("initial", REFUSES));
    assert_eq!(bench.letters(1).await, ["1 b added initial #1"]);
    let status = bench.status("hello").expect("it is there");
    assert_eq!((kept(Some(&status)), status.queue.depth), (0, 0));
    bench.stop().await;
}

#[tokio::test]
async fn retries_of_a_subscription_that_is_no_more_are_dropped() {
    let state = tempfile::tempdir().expect("a temporary directory");
    leave_retries(state.path(), &["a"], &plugin("initial", &later(10_000))).await;
    let renamed =
        swap(&text("initial", REFUSES), r#"\"name\":\"v1/pods\""#, r#"\"name\":\"v1/pots\""#);
    let bench = host(state.path(), &[], &wat::parse_str(renamed).expect("it is well formed"));
    let dropped = |status: Option<&PluginStatus>| {
        status.is_some_and(|status| status.to_json()["counters"]["dropped"] == 1)
    };
    bench.until("hello", |status| dropped(status) && kept(status) == 0).await;
    bench.stop().await;
}

#[tokio::test]
async fn dead_letters_keep_their_ids_and_ids_rise() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let refuses = plugin("initial", REFUSES);
    let bench = host(state.path(), &["a", "b"], &refuses);
    bench.letters(2).await;
    bench.admin.purge(&name(), Selection::Ids([2].into())).await.expect("it is purged");
    bench.stop().await;
    // What is there at once is what was left; then the first list tells of the pods again.
    let bench = host(state.path(), &["b"], &refuses);
    let expect = ["1 a added initial #1", "3 b added initial #1"];
    assert_eq!(bench.letters(2).await, expect);
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| reloads(status) == 1).await;
    bench.admin.redrive(&name(), Selection::All).await.expect("it is sent");
    bench.until("hello", |status| handled(status) == 2).await;
    bench.stop().await;
    let bench = host(state.path(), &[], &hello());
    bench.until("hello", |status| is(status, "running")).await;
    assert_eq!(bench.letters(0).await, [""; 0], "they have been told");
    bench.stop().await;
}

/// A host of a paused plugin whose only letter has been sent again.
async fn with_a_letter_under_way(state: &Path) -> Bench {
    let bench = host(state, &["a"], &plugin("initial", REFUSES));
    bench.letters(1).await;
    bench.admin.pause(&name()).await.expect("it is paused");
    bench.admin.redrive(&name(), Selection::All).await.expect("it is sent");
    bench.until("hello", |status| status.is_some_and(|status| status.queue.depth == 1)).await;
    assert_eq!(bench.letters(0).await, [""; 0]);
    bench
}

#[tokio::test]
async fn a_letter_that_was_sent_again_is_kept_until_the_plugin_has_been_told() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = with_a_letter_under_way(state.path()).await;
    bench.stop().await;
    let bench = host(state.path(), &[], &hello());
    assert_eq!(bench.letters(1).await, ["1 a added initial #1"]);
    assert!(is(bench.status("hello").as_ref(), "paused"), "and so is the pause");
    bench.stop().await;
}

#[tokio::test]
async fn a_letter_that_was_sent_again_comes_back_when_its_subscription_goes() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = with_a_letter_under_way(state.path()).await;
    let renamed =
        swap(&text("initial", REFUSES), r#"\"name\":\"v1/pods\""#, r#"\"name\":\"v1/pots\""#);
    bench.drop_in("hello.wasm", &wat::parse_str(renamed).expect("it is well formed"));
    bench.until("hello", |status| reloads(status) == 1).await;
    assert_eq!(bench.letters(1).await, ["1 a added initial #1"]);
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_whose_file_comes_back_goes_on() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let refuses = plugin("initial", REFUSES);
    let bench = host(state.path(), &["a"], &refuses);
    bench.letters(1).await;
    std::fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| status.is_none()).await;
    bench.drop_in("hello.wasm", &refuses);
    assert_eq!(bench.letters(2).await, ["1 a added initial #1", "2 a added initial #1"]);
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_comes_back_at_once_knows_of_the_call_that_was_under_way() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let slowly = "(local.set $line (i32.const 200000000))
        (loop $on (br_if $on (local.tee $line (i32.sub (local.get $line) (i32.const 1)))))";
    let refuses = plugin("initial", &format!("{slowly} {REFUSES}"));
    let bench = host(state.path(), &["a", "b"], &refuses);
    bench.letters(1).await;
    // The second pod is in the guest's hands.
    std::fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| status.is_none()).await;
    bench.drop_in("hello.wasm", &refuses);
    let told = ["a", "b", "a", "b"].iter().zip(1..);
    let expect: Vec<String> =
        told.map(|(pod, id)| format!("{id} {pod} added initial #1")).collect();
    assert_eq!(bench.letters(4).await, expect);
    bench.stop().await;
}

/// Writes one value, in every call, and then behaves as `then` says.
fn writer(then: &str) -> Vec<u8> {
    let set = r#"(import "informant:plugin/state@0.1.0" "set"
        (func $set (param i32 i32 i32 i32 i32 i32)))
        (import "informant:plugin/log@0.1.0" "log""#;
    let call = format!(
        "(call $set (i32.const 768) (i32.const 5) (i32.const 1)
            (i32.load offset=24 (local.get $event)) (i32.load offset=28 (local.get $event))
            (i32.const 400)) {then}"
    );
    let text = text("initial", &call);
    let import = r#"(import "informant:plugin/log@0.1.0" "log""#;
    wat::parse_str(swap(&text, import, set)).expect("it is well formed")
}

/// Keys and bytes of the plugin's state.
fn state_of(status: Option<&PluginStatus>) -> (usize, usize) {
    status.map_or((9, 9), |status| status.state_size)
}

#[tokio::test]
async fn what_a_call_wrote_is_there_once_it_succeeded() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = host(state.path(), &["a"], &writer(REFUSES));
    bench.letters(1).await;
    assert_eq!(state_of(bench.status("hello").as_ref()), (0, 0));
    bench.drop_in("hello.wasm", &writer(""));
    bench.until("hello", |status| reloads(status) == 1).await;
    bench.source.add(&pod("bcd"));
    bench.until("hello", |status| handled(status) == 1 && state_of(status) == (1, 8)).await;
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| reloads(status) == 2).await;
    assert_eq!(state_of(bench.status("hello").as_ref()), (1, 8), "it outlives a reload");
    bench.stop().await;
    let bench = host(state.path(), &[], &hello());
    bench.until("hello", |status| is(status, "running") && state_of(status) == (1, 8)).await;
    bench.stop().await;
}

#[tokio::test]
async fn a_second_host_is_refused_the_directory() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = host(state.path(), &[], &hello());
    let options = StateDirectoryOptions {
        directory: state.path().join("state"),
        keep_removed: Duration::ZERO,
    };
    let error = informant_runtime::check_state_directory(&options).expect_err("it is in use");
    assert!(error.to_string().contains("another host is using it"), "{error}");
    bench.stop().await;
    informant_runtime::check_state_directory(&options).expect("it is free again");
}

#[tokio::test]
async fn dead_letters_of_a_plugin_whose_file_is_gone_are_shown_and_thrown_away() {
    let state = tempfile::tempdir().expect("a temporary directory");
    let bench = host(state.path(), &["a", "b"], &plugin("initial", REFUSES));
    bench.letters(2).await;
    std::fs::remove_file(bench.directory().join("hello.wasm")).expect("the file was there");
    bench.until("hello", |status| status.is_none()).await;
    assert!(bench.plugins.dead_letters(&name(), 0, usize::MAX).is_none());
    let ids = async || {
        let letters = bench.plugins.kept_dead_letters(&name()).await;
        letters.map(|letters| letters.iter().map(|letter| letter.id).collect::<Vec<_>>())
    };
    assert_eq!(ids().await, Some(vec![1, 2]));
    let error = bench.admin.redrive(&name(), Selection::All).await.expect_err("nobody is there");
    assert!(error.to_string().starts_with("there is no plugin hello"), "{error}");
    let purged = bench.admin.purge(&name(), Selection::Ids([1].into())).await;
    assert_eq!(purged.as_deref(), Ok("1 dead letter thrown away"));
    assert_eq!(ids().await, Some(vec![2]));
    let nobody = "nobody".parse().expect("a name");
    bench.admin.purge(&nobody, Selection::All).await.expect_err("nothing is kept of it");
    assert!(bench.plugins.kept_dead_letters(&nobody).await.is_none());
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| status.is_some_and(|it| it.dead_letters == 1)).await;
    bench.stop().await;
}
