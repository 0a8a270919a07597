//! What of a resource is listed and watched for the plugins that want something of it.

use super::admin::REFUSES;
use super::{Bench, PluginStatus, handled, hello, hello_text_with, hello_with, is, swap};
use informant_runtime::{DeadLetter, Limits, PluginName, Selection, StateDirectoryOptions};
use std::collections::BTreeSet;
use std::time::Duration;

fn pod(namespace: &str, name: &str) -> String {
    // As in a cluster, no two objects have one UID.
    format!(
        r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}","uid":"{namespace}-{name}"}}}}"#
    )
}

/// `hello` that wants the pods of these namespaces.
fn of(namespaces: &[&str]) -> Vec<u8> {
    hello_with(&format!(r#""namespaces":{}"#, serde_json::json!(namespaces)))
}

/// The same, which is told of nothing that was there before.
fn never_of(namespaces: &[&str]) -> Vec<u8> {
    let namespaces = serde_json::json!(namespaces);
    hello_with(&format!(r#""replay":"never","namespaces":{namespaces}"#))
}

fn reloads(status: Option<&PluginStatus>) -> bool {
    status.is_some_and(|status| status.to_json()["counters"]["reloads"] == 1)
}

impl Bench {
    /// A host with a pod in each of three namespaces.
    fn with_namespaces() -> Self {
        let bench = Self::start();
        for namespace in ["a", "b", "c"] {
            bench.source.add(&pod(namespace, "x"));
        }
        bench
    }

    /// What has been asked for since so many requests.
    fn asked_since(&self, requests: usize) -> Vec<String> {
        let asked = self.source.requests_by_part().split_off(requests);
        let parts: BTreeSet<String> = asked.iter().map(|(part, _)| part.to_string()).collect();
        parts.into_iter().collect()
    }

    async fn handles(&self, name: &str, count: u64) {
        self.until(name, |status| is(status, "running") && handled(status) == count).await;
    }
}

/// Invariant 10.
#[tokio::test]
async fn a_plugin_of_some_namespaces_has_those_watched_alone() {
    let bench = Bench::with_namespaces();
    bench.drop_in("hello.wasm", &of(&["a"]));
    bench.handles("hello", 1).await;
    assert_eq!(bench.asked_since(0), ["namespace a"]);
    // Another version wants more: it is told all of it.
    let asked = bench.source.requests_by_part().len();
    bench.drop_in("hello.wasm", &of(&["a", "b"]));
    bench.handles("hello", 3).await;
    assert_eq!(bench.asked_since(asked), ["namespace b"]);
    // And one that wants another is told that it has left the first.
    let asked = bench.source.requests_by_part().len();
    bench.drop_in("hello.wasm", &of(&["b", "c"]));
    bench.handles("hello", 6).await;
    assert_eq!(bench.asked_since(asked), ["namespace c"]);
    bench.source.modify(&pod("a", "x"));
    bench.source.modify(&pod("c", "x"));
    bench.handles("hello", 7).await;
    bench.stop().await;
}

#[tokio::test]
async fn one_that_wants_all_is_served_from_one_watch_and_disturbs_nobody() {
    let bench = Bench::with_namespaces();
    bench.drop_in("narrow.wasm", &of(&["a"]));
    bench.handles("narrow", 1).await;
    let asked = bench.source.requests_by_part().len();
    bench.drop_in("wide.wasm", &hello());
    bench.handles("wide", 3).await;
    assert_eq!(bench.asked_since(asked), ["all namespaces"]);
    bench.source.modify(&pod("a", "x"));
    bench.source.modify(&pod("b", "x"));
    bench.handles("wide", 5).await;
    bench.handles("narrow", 2).await;
    bench.stop().await;
}

/// Invariant 10.
#[tokio::test]
async fn where_all_namespaces_are_refused_who_wants_some_of_them_is_served() {
    let bench = Bench::with_namespaces();
    bench.source.set_refuses_whole(true);
    bench.drop_in("wide.wasm", &hello());
    bench.until("wide", |status| is(status, "running")).await;
    bench.drop_in("narrow.wasm", &of(&["a", "c"]));
    bench.handles("narrow", 2).await;
    // What is there for others is no secret to it.
    bench.handles("wide", 2).await;
    bench.source.set_refuses_whole(false);
    bench.handles("wide", 3).await;
    bench.source.modify(&pod("a", "x"));
    bench.handles("wide", 4).await;
    bench.handles("narrow", 3).await;
    let restarts = |status: Option<PluginStatus>| {
        status.map(|status| status.to_json()["counters"]["restarts"].clone())
    };
    assert_eq!(restarts(bench.status("narrow")), Some(serde_json::json!({})));
    bench.stop().await;
}

#[tokio::test]
async fn one_namespace_that_is_refused_takes_nothing_from_the_others() {
    let bench = Bench::with_namespaces();
    bench.source.set_refuses_namespace("b", true);
    bench.drop_in("hello.wasm", &never_of(&["a", "b"]));
    bench.until("hello", |status| is(status, "running")).await;
    let listed = || bench.asked_since(0).contains(&"namespace a".to_owned());
    while !listed() {
        tokio::task::yield_now().await;
    }
    bench.source.modify(&pod("a", "x"));
    bench.handles("hello", 1).await;
    // What a later list shows was not there before.
    bench.source.add_drop_watch(&pod("a", "y"));
    bench.source.reset_watch();
    bench.handles("hello", 2).await;
    bench.stop().await;
}

/// Of what has come into its view a plugin is told that wants no replay, whoever else has had it cached.
async fn check_enters(others: &[&str]) {
    let bench = Bench::with_namespaces();
    if !others.is_empty() {
        bench.drop_in("other.wasm", &of(others));
        bench.handles("other", others.len() as u64).await;
    }
    bench.drop_in("hello.wasm", &never_of(&["a"]));
    bench.until("hello", |status| is(status, "running")).await;
    bench.source.add(&pod("a", "y"));
    bench.handles("hello", 1).await;
    bench.drop_in("hello.wasm", &never_of(&["a", "b"]));
    bench.until("hello", |status| reloads(status) && is(status, "running")).await;
    bench.handles("hello", 2).await;
    bench.source.add(&pod("b", "y"));
    bench.handles("hello", 3).await;
    bench.stop().await;
}

#[tokio::test]
async fn what_a_wider_view_has_more_is_told_where_it_is_listed_for_it() {
    check_enters(&[]).await;
}

#[tokio::test]
async fn what_a_wider_view_has_more_is_told_where_others_have_it() {
    check_enters(&["b"]).await;
}

/// A plugin with a selector and a dead letter. Its informer covers less than the namespace.
async fn with_a_dead_letter() -> Bench {
    let text = hello_text_with(r#""labelSelector":"!none""#);
    let begin = "(local $line i32) (local $end i32)\n";
    let text = swap(&text, begin, &format!("{begin}{REFUSES}\n"));
    let bench = Bench::start();
    bench.source.add(&pod("a", "x"));
    bench.drop_in("hello.wasm", &wat::parse_str(text).expect("it is well formed"));
    bench.until("hello", |status| status.is_some_and(|status| status.dead_letters == 1)).await;
    bench
}

#[tokio::test]
async fn dead_letters_of_a_subscription_with_a_selector_are_sent_again() {
    let bench = with_a_dead_letter().await;
    let name: PluginName = "hello".parse().expect("a name");
    let sent = bench.admin.redrive(&name, Selection::All).await.expect("it is listed");
    assert!(sent.starts_with("1 dead letter"), "{sent}");
    bench.stop().await;
}

#[tokio::test]
async fn dead_letters_whose_informer_has_stopped_are_not_said_to_be_sent() {
    let bench = with_a_dead_letter().await;
    bench.informers.shutdown().await;
    let name: PluginName = "hello".parse().expect("a name");
    let refused = bench.admin.redrive(&name, Selection::All).await.expect_err("nothing is sent");
    assert!(refused.to_string().contains("the dead letters stay"), "{refused}");
    assert_eq!(bench.plugins.dead_letters(&name, 0, usize::MAX).expect("it runs").len(), 1);
    bench.stop().await;
}

#[tokio::test]
async fn dead_letters_stay_while_it_is_not_known_what_has_become_of_their_objects() {
    let state = tempfile::tempdir().expect("a directory");
    let text = hello_text_with(r#""namespaces":["a","b"]"#);
    let begin = "(local $line i32) (local $end i32)\n";
    let text = swap(&text, begin, &format!("{begin}{REFUSES}\n"));
    let plugin = wat::parse_str(text).expect("it is well formed");
    let start = || {
        let (directory, keep_removed) = (state.path().join("state"), Duration::from_secs(3_600));
        let options = StateDirectoryOptions { directory, keep_removed };
        let bench = Bench::start_with(Some(options), &Limits::default());
        for namespace in ["a", "b"] {
            bench.source.add(&pod(namespace, "x"));
        }
        bench
    };
    let letters = |status: Option<&PluginStatus>| status.map_or(0, |status| status.dead_letters);
    let bench = start();
    bench.drop_in("hello.wasm", &plugin);
    bench.until("hello", |status| letters(status) == 2).await;
    bench.stop().await;

    let bench = start();
    bench.source.set_refuses_namespace("b", true);
    bench.drop_in("hello.wasm", &plugin);
    // That of the one is told again, and fails again.
    bench.until("hello", |status| letters(status) == 3).await;
    let name: PluginName = "hello".parse().expect("a name");
    let sent = bench.admin.redrive(&name, Selection::All).await.expect("the one is listed");
    assert!(
        sent.contains("; 1 stay, for their subscriptions are gone, not followed, or not listed"),
        "{sent}"
    );
    let stays = |letter: &DeadLetter| letter.to_json()["namespace"] == "b";
    let left = bench.plugins.dead_letters(&name, 0, usize::MAX).expect("it runs");
    assert_eq!(left.iter().filter(|letter| stays(letter)).count(), 1);
    bench.stop().await;
}
