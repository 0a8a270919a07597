//! What of a resource is listed and watched for the plugins that want something of it.

use super::{Bench, PluginStatus, handled, hello, hello_with, is};
use std::collections::BTreeSet;

fn pod(namespace: &str, name: &str) -> String {
    format!(r#"{{"metadata":{{"name":"{name}","namespace":"{namespace}"}}}}"#)
}

/// `hello` that wants the pods of these namespaces.
fn of(namespaces: &[&str]) -> Vec<u8> {
    hello_with(&format!(r#""namespaces":{}"#, serde_json::json!(namespaces)))
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
