//! Plugins that act as a service account: whose name their writes are made in, and what they are told as long as that may read it.

use super::configuration::{host, yaml};
use super::writes::{Answer, Cluster, patches};
use super::{Bench, HELLO, handled, hello, hello_again, hello_with, is, last_load, pod, swap};
use futures::future::BoxFuture;
use informant_cache::ObjectKey;
use informant_runtime::configuration::Configurations;
use informant_runtime::{
    AccessAnswer, AccessReview, AccessReviewer, NoCluster, NoHttp, PluginName, PluginStatus,
    WriteError,
};
use parking_lot::Mutex;
use serde_json::{Value, json};
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

/// An API server that says the same of everything.
struct Reviewer(Mutex<Result<AccessAnswer, String>>);

impl AccessReviewer for Reviewer {
    fn review(&self, review: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let of = (review.account.to_string(), review.resource.to_string(), review.namespace);
        assert_eq!(of, ("shop/reader".to_owned(), "v1/pods".to_owned(), None));
        Box::pin(std::future::ready(self.0.lock().clone()))
    }
}

impl Reviewer {
    fn new(answer: Result<AccessAnswer, String>) -> Arc<Self> {
        Arc::new(Self(Mutex::new(answer)))
    }

    fn allows(&self) {
        *self.0.lock() = Ok(AccessAnswer::Allowed);
    }

    fn denies(&self) {
        *self.0.lock() = Ok(AccessAnswer::Denied("no role".to_owned()));
    }

    fn bench(self: &Arc<Self>, configurations: Configurations) -> Bench {
        let ways = (Arc::new(NoCluster) as _, Arc::new(NoHttp) as _, self.clone() as _);
        Bench::start_reviewed(None, configurations, None, ways)
    }
}

fn acting() -> Configurations {
    host("hello: {serviceAccount: shop/reader}")
}

fn account(status: Option<&PluginStatus>) -> Value {
    status.map(|status| status.to_json()["serviceAccount"].clone()).unwrap_or_default()
}

/// How many of what the plugin asks for it may not read, for whatever reason.
fn refused(status: Option<&PluginStatus>, state: &str) -> bool {
    account(status)["refused"][0]["state"] == state
}

fn may_read_all(status: Option<&PluginStatus>) -> bool {
    account(status)["refused"] == json!([])
}

impl Bench {
    /// Waits until the cache has, or has not, these pods.
    async fn until_cached(&self, there: &[&str], gone: &[&str]) {
        let has = |name: &&str| {
            let informers = self.informers.informers();
            let key = ObjectKey::new("default", *name);
            informers.iter().any(|informer| informer.indexer().get(&key).is_some())
        };
        let seen = async {
            while !there.iter().all(has) || gone.iter().any(has) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        tokio::time::timeout(super::DEADLINE, seen).await.expect("it is seen");
    }
}

/// Invariant 36.
#[tokio::test]
async fn what_the_account_may_not_read_is_not_told_and_nothing_of_it_is_lost() {
    let reviewer = Reviewer::new(Err("no route to host".to_owned()));
    let bench = reviewer.bench(acting());
    for name in ["a", "b"] {
        bench.source.add(&pod(name));
    }
    bench.drop_in("hello.wasm", &hello());
    let asking = |status: Option<&PluginStatus>| {
        refused(status, "asking") && account(status).to_string().contains("no route to host")
    };
    bench.until("hello", |status| is(status, "running") && asking(status)).await;
    reviewer.denies();
    bench.until("hello", |status| refused(status, "denied")).await;
    bench.until_cached(&["a", "b"], &[]).await;
    let expect = json!({"name": "shop/reader", "refused": [{
        "subscription": "v1/pods", "resource": "v1/pods", "namespaces": [], "state": "denied",
        "reason": "v1/pods in all namespaces by the service account shop/reader may not be listed: no role",
    }]});
    assert_eq!(account(bench.status("hello").as_ref()), expect);
    assert_eq!(handled(bench.status("hello").as_ref()), 0);

    reviewer.allows();
    bench.until("hello", |status| may_read_all(status) && handled(status) == 2).await;
    reviewer.denies();
    bench.until("hello", |status| refused(status, "denied")).await;
    bench.source.delete(&pod("a"));
    bench.source.modify(&pod("b"));
    bench.source.add(&pod("c"));
    bench.until_cached(&["b", "c"], &["a"]).await;
    // A version that comes meanwhile is told nothing either.
    bench.drop_in("hello.wasm", &hello_again(2));
    let reloads = |status: &PluginStatus| status.counters.reloads_ok.load(Relaxed);
    bench.until("hello", |status| status.is_some_and(|status| reloads(status) == 1)).await;
    assert!(refused(bench.status("hello").as_ref(), "denied"));
    assert_eq!(handled(bench.status("hello").as_ref()), 2);

    reviewer.allows();
    // What is there, and the end of what was.
    bench.until("hello", |status| may_read_all(status) && handled(status) == 5).await;
    bench.source.modify(&pod("c"));
    bench.until("hello", |status| handled(status) == 6).await;
    let counts = bench.plugins.access();
    assert!(counts.failed.load(Relaxed) > 0 && counts.denied.load(Relaxed) > 1);
    assert_eq!(counts.asks.load(Relaxed), 1);
    bench.stop().await;
}

#[tokio::test]
async fn what_others_have_cached_beside_its_view_is_never_told() {
    let reviewer = Reviewer::new(Ok(AccessAnswer::Allowed));
    let bench = reviewer.bench(acting());
    bench.source.add(&pod("a"));
    bench.source.add(r#"{"metadata":{"name":"x","namespace":"elsewhere"}}"#);
    let all = bench.informers.lease(&"v1/pods".parse().expect("a resource"));
    bench.drop_in("hello.wasm", &hello_with(r#""fieldSelector":"metadata.namespace=default""#));
    bench.until("hello", |status| may_read_all(status) && handled(status) == 1).await;
    assert!(all.informer().synced().await);
    reviewer.denies();
    bench.until("hello", |status| refused(status, "denied")).await;
    reviewer.allows();
    bench.until("hello", |status| may_read_all(status) && handled(status) == 2).await;
    bench.source.add(&pod("b"));
    bench.until("hello", |status| handled(status) >= 3).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 3, "no end of what is elsewhere");
    bench.stop().await;
}

#[tokio::test]
async fn what_waits_when_the_account_may_read_no_more_waits_until_it_may_again() {
    let reviewer = Reviewer::new(Ok(AccessAnswer::Allowed));
    let bench = reviewer.bench(acting());
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running") && may_read_all(status)).await;
    let name: PluginName = "hello".parse().expect("a name");
    bench.admin.pause(&name).await.expect("it is paused");
    for name in ["a", "b"] {
        bench.source.add(&pod(name));
    }
    let waiting = |status: Option<&PluginStatus>| status.map_or(0, |status| status.queue.depth);
    bench.until("hello", |status| waiting(status) == 2).await;
    reviewer.denies();
    bench.until("hello", |status| refused(status, "denied") && waiting(status) == 0).await;
    bench.admin.resume(&name).await.expect("it is resumed");
    bench.until("hello", |status| is(status, "running")).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 0);
    reviewer.allows();
    // As they waited, and as they are there now.
    bench.until("hello", |status| handled(status) == 4).await;
    let dropped = bench.status("hello").expect("it runs").counters.dropped.load(Relaxed);
    assert_eq!(dropped, 0);
    bench.stop().await;
}

#[tokio::test]
async fn what_waits_for_the_account_waits_in_other_numbers_of_shards_too() {
    let reviewer = Reviewer::new(Ok(AccessAnswer::Allowed));
    let bench = reviewer.bench(acting());
    bench.drop_in("hello.yaml", &yaml("shards: 2"));
    bench.drop_in("hello.wasm", &hello());
    let has_shards = |status: Option<&PluginStatus>, shards: usize| {
        status.is_some_and(|status| status.shards.len() == shards)
    };
    let runs_in = |status: Option<&PluginStatus>, shards: usize| {
        is(status, "running") && has_shards(status, shards)
    };
    bench.until("hello", |status| runs_in(status, 2) && may_read_all(status)).await;
    let name: PluginName = "hello".parse().expect("a name");
    bench.admin.pause(&name).await.expect("it is paused");
    for name in ["a", "b", "c"] {
        bench.source.add(&pod(name));
    }
    let waiting = |status: Option<&PluginStatus>| status.map_or(0, |status| status.queue.depth);
    bench.until("hello", |status| waiting(status) == 3).await;
    reviewer.denies();
    bench.until("hello", |status| refused(status, "denied") && waiting(status) == 0).await;
    bench.drop_in("hello.yaml", &yaml("shards: 3"));
    let reloads = |status: &PluginStatus| status.counters.reloads_ok.load(Relaxed);
    bench.until("hello", |status| status.is_some_and(|status| reloads(status) == 1)).await;
    assert!(has_shards(bench.status("hello").as_ref(), 3));
    bench.admin.resume(&name).await.expect("it is resumed");
    bench.until("hello", |status| runs_in(status, 3)).await;
    let status = bench.status("hello");
    assert!(refused(status.as_ref(), "denied"));
    assert_eq!((handled(status.as_ref()), waiting(status.as_ref())), (0, 0));
    reviewer.allows();
    // As they waited, and as they are there now.
    bench.until("hello", |status| handled(status) == 6).await;
    let dropped = bench.status("hello").expect("it runs").counters.dropped.load(Relaxed);
    assert_eq!(dropped, 0);
    bench.stop().await;
}

#[tokio::test]
async fn a_plugin_that_acts_as_nobody_any_more_is_told_everything() {
    let reviewer = Reviewer::new(Ok(AccessAnswer::Denied(String::new())));
    let bench = reviewer.bench(host("ceiling: {serviceAccounts: [shop/reader]}"));
    bench.source.add(&pod("a"));
    bench.drop_in("hello.yaml", &yaml("serviceAccount: shop/reader"));
    bench.drop_in("hello.wasm", &hello());
    bench.until("hello", |status| is(status, "running") && refused(status, "denied")).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 0);
    bench.drop_in("hello.yaml", &yaml(""));
    bench.until("hello", |status| account(status).is_null() && handled(status) == 1).await;
    bench.drop_in("hello.yaml", &yaml("serviceAccount: shop/reader"));
    bench.until("hello", |status| refused(status, "denied")).await;
    bench.source.modify(&pod("a"));
    bench.source.add(&pod("b"));
    bench.until_cached(&["b"], &[]).await;
    assert_eq!(handled(bench.status("hello").as_ref()), 1);
    bench.stop().await;
}

#[tokio::test]
async fn writes_are_made_in_the_name_of_the_account() {
    let cluster = Cluster::new(Answer::Done);
    let rule = "writes: [{resources: [v1/pods], verbs: [patch]}]";
    let configurations = host(&format!("hello: {{serviceAccount: shop/reader, {rule}}}"));
    let reviewer = Reviewer::new(Ok(AccessAnswer::Allowed));
    let ways = (cluster.clone() as _, Arc::new(NoHttp) as _, reviewer as _);
    let bench = Bench::start_reviewed(None, configurations, None, ways);
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &patches("shop", "web", ""));
    bench.until("hello", |status| handled(status) == 1).await;
    assert_eq!(cluster.asked_by(), [Some("shop/reader".to_owned())]);
    let refusal = "pods is forbidden: User \"system:serviceaccount:shop:reader\" cannot patch";
    let message = refusal.to_owned();
    let reason = "Forbidden".to_owned();
    let refused = WriteError::Status { code: 403, reason, message, retry_after: None };
    cluster.answers(Answer::Refused(refused));
    bench.source.modify(&pod("a"));
    let expect = format!("the plugin answered: {refusal}");
    bench.until("hello", |status| super::writes::told(status) == expect).await;
    bench.stop().await;
}

/// An API server that answers once it is let.
struct Late(tokio::sync::Semaphore);

impl AccessReviewer for &'static Late {
    fn review(&self, _: AccessReview) -> BoxFuture<'static, Result<AccessAnswer, String>> {
        let late: &'static Late = self;
        Box::pin(async move {
            let permit = late.0.acquire().await;
            permit.map(|_| AccessAnswer::Allowed).map_err(|error| error.to_string())
        })
    }
}

/// Invariant 25.
#[tokio::test]
async fn the_first_to_act_in_a_name_waits_for_the_answer_before_it_starts() {
    let late: &'static Late = Box::leak(Box::new(Late(tokio::sync::Semaphore::new(0))));
    let ways = (Arc::new(NoCluster) as _, Arc::new(NoHttp) as _, Arc::new(late) as _);
    let bench = Bench::start_reviewed(None, acting(), None, ways);
    bench.source.add(&pod("a"));
    bench.drop_in("hello.wasm", &asks_at_start());
    let asked =
        |status: Option<&PluginStatus>| is(status, "loading") && last_load(status) == "null: null";
    bench.until("hello", asked).await;
    bench.drop_in("other.wasm", &hello());
    bench.until("other", |status| is(status, "running")).await;
    assert!(asked(bench.status("hello").as_ref()), "it waits, and nothing was refused");
    late.0.add_permits(1);
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    bench.stop().await;
}

/// The shipped plugin, but it asks the cache about pods while it starts and traps if it may not.
fn asks_at_start() -> Vec<u8> {
    let memory = r#"(memory (export "memory") 1)"#;
    let import = r#"(import "informant:plugin/indexer@0.1.0" "has-synced" (func $has_synced (param i32 i32 i32)))"#;
    let start = r#"#start") (param $config i32) (param $len i32) (result i32)"#;
    // Where the descriptor says v1/pods; and 400: the answer, whose first byte is not 0 if it is an error.
    let asks = "(call $has_synced (i32.const 557) (i32.const 7) (i32.const 400))
        (if (i32.load8_u (i32.const 400)) (then unreachable))";
    let text = swap(HELLO, memory, &format!("{import} {memory}"));
    let text = swap(&text, start, &format!("{start} {asks}"));
    wat::parse_str(text).expect("it is well formed")
}

#[tokio::test]
async fn a_version_that_acts_in_another_name_reads_in_that_while_it_starts() {
    let reviewer = Reviewer::new(Ok(AccessAnswer::Allowed));
    let bench = reviewer.bench(host("ceiling: {serviceAccounts: [shop/reader]}"));
    bench.source.add(&pod("a"));
    // What the account may read is known already when the version starts that asks for it.
    bench.drop_in("other.yaml", &yaml("serviceAccount: shop/reader"));
    bench.drop_in("other.wasm", &hello());
    bench.until("other", |status| is(status, "running") && may_read_all(status)).await;
    bench.drop_in("hello.wasm", &asks_at_start());
    bench.until("hello", |status| is(status, "running") && handled(status) == 1).await;
    for (number, yaml) in [(1, yaml("serviceAccount: shop/reader")), (2, yaml(""))] {
        bench.drop_in("hello.yaml", &yaml);
        let reloads = |status: &PluginStatus| status.counters.reloads_ok.load(Relaxed);
        bench.until("hello", |status| status.is_some_and(|it| reloads(it) == number)).await;
        bench.source.modify(&pod("a"));
        bench.until("hello", |status| handled(status) == 1 + number).await;
    }
    let retried = bench.status("hello").map(|status| status.counters.retry.load(Relaxed));
    assert_eq!(retried, Some(0), "nothing was withheld from whoever may read it");
    bench.stop().await;
}
