//! A plugin with one subscription, an object in the cache, and the answer about both.

use super::*;
use crate::contract::component::WasiImports;
use crate::contract::configuration::{Configurations, Layer};
use crate::contract::descriptor::Descriptor;
use crate::delivery::key_queue::Bounds;
use crate::delivery::mailbox::Settled;
use crate::delivery::subscription::SubscriptionHandler;
use crate::event::{Change, Event};
use crate::history::tests::object;
use crate::history::{DeliveryEnd, EndedDelivery};
use crate::kept::dead_letters::DeadLetter;
use crate::plugin::core::Replaying;
use crate::plugin::core::tests::core;
use crate::plugin::lifecycle::Input;
use informant_cache::testing::FakeControllerSource;
use informant_cache::workqueue::AddOptions;
use informant_cache::{FactoryOptions, ObjectKey, ResourceEventHandler as _};
use jiff::Timestamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

const ID: SubscriptionId = SubscriptionId(1);
/// The second of two subscriptions.
const SECOND: SubscriptionId = SubscriptionId(2);
const POD: &str = r#"{"metadata":{"namespace":"shop","name":"web","labels":{"app":"db"}},"spec":{"n":3},"status":{"phase":"Running"}}"#;

/// A plugin with one subscription to pods, with these keys.
struct Fixture {
    core: PluginCore,
    factory: SharedInformerFactory,
}

fn running(descriptor: &Descriptor) -> RunningVersion {
    let configurations = Configurations::new(Layer::default(), BTreeMap::new(), Default::default());
    let settings = configurations.and_then(|it| it.of(&"p".parse().expect("a name"), None));
    let specs = descriptor.subscriptions.iter();
    RunningVersion {
        version: "1".to_owned(),
        sha256: String::new(),
        wasi: Arc::new(WasiImports::default()),
        specs: [ID, SECOND].into_iter().zip(specs.cloned()).collect(),
        reads: Vec::new().into(),
        settings: Arc::new(settings.expect("nothing bounds it")),
    }
}

impl Fixture {
    async fn new(keys: &str) -> Self {
        Self::with(&format!(r#"{{"name":"s","resource":"v1/pods"{keys}}}"#)).await
    }

    /// The first of these subscriptions has a handler.
    async fn with(subscriptions: &str) -> Self {
        let source = FakeControllerSource::default();
        source.add(POD);
        let factory = SharedInformerFactory::new(Arc::new(source), FactoryOptions::default());
        let pods = "v1/pods".parse().expect("a resource");
        let informer = factory.for_resource(&pods);
        factory.start();
        factory.wait_for_cache_sync(Duration::from_secs(10)).await.expect("it syncs");
        let json = format!(r#"{{"version":"1","subscriptions":[{subscriptions}]}}"#);
        let descriptor = Descriptor::parse(json.as_bytes()).expect("a descriptor");
        let core = core();
        core.queue.look(|it| it.history.set_bytes_max(1 << 12));
        let spec = &descriptor.subscriptions[0];
        let handler = Arc::new(SubscriptionHandler::new(ID, spec, core.queue.clone()));
        handler.on_synced();
        let (subscription, indexer) = (spec.name.clone(), informer.indexer());
        core.replays(vec![Replaying { id: ID, subscription, handler, indexer }]);
        core.swapped(1, Timestamp::UNIX_EPOCH);
        core.took_over(running(&descriptor), Timestamp::UNIX_EPOCH);
        Self { core, factory }
    }

    /// The answer about a pod of this name.
    fn why(&self, name: &str) -> PluginWhy {
        self.answer(name).0
    }

    /// The suggested name.
    fn nearest(&self, name: &str) -> Option<String> {
        self.answer(name).1.nearest
    }

    fn answer(&self, name: &str) -> (PluginWhy, CachedObject) {
        let question = WhyQuestion {
            resource: "v1/pods".parse().expect("a resource"),
            key: ObjectKey::new("shop", name),
            plugin: None,
            shows_namespace: true,
        };
        let informers = self.factory.informers();
        let sight = Sight::new(&question, &informers, None);
        let why = sight.of(&self.core);
        let cached = sight.cached(std::slice::from_ref(&why));
        (why, cached)
    }

    fn pod(&self) -> Object {
        let informers = self.factory.informers();
        informers[0].indexer().get(&ObjectKey::new("shop", "web")).expect("it is there")
    }

    /// Adds a delivery of the pod in this state, with this end.
    fn told(&self, resource_version: &str, end: DeliveryEnd, error: &str) {
        self.ended(&EndedDelivery { resource_version, end, error, ..past() });
    }

    fn ended(&self, delivery: &EndedDelivery<'_>) {
        self.core.queue.look(|it| it.history.push(delivery));
    }

    /// Queues an update of the pod.
    fn push(&self) {
        self.core.queue.push(self.update());
    }

    fn update(&self) -> Event {
        Event::new(ID, Change::Updated, self.pod(), Instant::now())
    }
}

/// A delivery of the pod.
fn past() -> EndedDelivery<'static> {
    EndedDelivery { subscription: ID, ..crate::history::tests::past(Instant::now()) }
}

/// Checks the answer about the pod `web`, and each question of the subscription with the answer no.
async fn check(keys: &str, past: Option<(&str, DeliveryEnd)>, expect: &[&str]) {
    let fixture = Fixture::new(keys).await;
    if let Some((resource_version, end)) = past {
        fixture.told(resource_version, end, "");
    }
    let why = fixture.why("web");
    let refusals = why.subscriptions.iter().flat_map(|it| &it.refusals);
    let refusals = refusals.map(|it| format!("{}: {}", it.question, it.text));
    let found: Vec<String> = std::iter::once(why.answer.clone()).chain(refusals).collect();
    assert_eq!(found, expect, "{keys}: {why:?}");
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn each_question_that_is_answered_with_no_is_named_with_its_values() {
    check("", None, &["no-record"]).await;
    check(
        r#","namespaces":["a","b"]"#,
        None,
        &["refused", r#"namespaces: namespaces a, b: the object is in "shop""#],
    )
    .await;
    let label = "labelSelector: labelSelector app=web: label app is db";
    check(r#","labelSelector":"app=web""#, None, &["refused", label]).await;
    let missing = "labelSelector: labelSelector tier: label tier is not there";
    check(r#","labelSelector":"tier""#, None, &["refused", missing]).await;
    let field = r#"fieldSelector: fieldSelector status.phase!=Running: status.phase is "Running""#;
    check(r#","fieldSelector":"status.phase!=Running""#, None, &["refused", field]).await;
    let types = "types: types updated, deleted: added is not among them";
    check(r#","types":["updated","deleted"]"#, None, &["refused", types]).await;
    let replay =
        "replay: replay never: an object that was there first is delivered when it changes";
    check(r#","replay":"never""#, None, &["refused", replay]).await;
    let unchanged = "onlyIfChanged: onlyIfChanged: a change that leaves these values is not delivered; /spec/n is 3";
    let keys = r#","replay":"never","onlyIfChanged":["/spec/n"]"#;
    check(keys, None, &["refused", replay, unchanged]).await;
    let filter = r#"filter: filter object.spec.n > 3: object.spec.n is 3"#;
    check(r#","filter":"object.spec.n > 3""#, None, &["refused", filter]).await;
}

#[track_caller]
fn check_plain(text: &str, expect: &str) {
    assert!(text.contains(expect), "{text:?}");
    assert_eq!(crate::one_line::one_line(text, usize::MAX), text);
}

/// Checks that a text of the plugin's subscription stays on the line of this question.
async fn check_specified(keys: &str, question: &str) {
    let fixture = Fixture::new(keys).await;
    let why = fixture.why("web");
    let refusals = &why.subscriptions[0].refusals;
    let refusal = refusals.iter().find(|it| it.question == question);
    let refusal = refusal.unwrap_or_else(|| panic!("{question}: {why:?}"));
    let escaped = "\\u{1b}[2J\\u{9b}2J\\u{2028}\\u{202e}";
    check_plain(&refusal.text, escaped);
    check_plain(&why.because, if refusals.len() == 1 { escaped } else { "" });
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn texts_of_a_plugin_stay_on_their_lines_of_an_answer() {
    let text = r"\u001b[2J\u009b2J\u2028\u202e";
    check_specified(&format!(r#","fieldSelector":"metadata.name={text}""#), "fieldSelector").await;
    check_specified(&format!(r#","fieldSelector":"status.phase={text}""#), "fieldSelector").await;
    let filter = format!(r#","filter":"object.spec.n >\n3 && '{text}' != ''""#);
    check_specified(&filter, "filter").await;
    let unchanged = format!(r#","replay":"never","onlyIfChanged":["/spec/{text}"]"#);
    check_specified(&unchanged, "onlyIfChanged").await;
}

#[tokio::test]
async fn names_that_a_plugin_writes_and_reasons_stay_on_their_lines_of_an_answer() {
    let fixture = Fixture::new("").await;
    fixture.ended(&EndedDelivery { wrote: "patch v1/pods shop/a\nb\u{9b}: invalid", ..past() });
    fixture.push();
    let reason = "a\nb\u{9b}".to_owned();
    fixture.core.apply([Input::Tripped { reason }], Timestamp::UNIX_EPOCH);
    let why = fixture.why("web");
    check_plain(why.deliveries[0].wrote.as_deref().expect("it wrote"), "shop/a\\nb\\u{9b}");
    check_plain(&why.waiting[0].text, "tripped: a\\nb\\u{9b}");
    check_plain(&why.because, "tripped: a\\nb\\u{9b}");
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn what_was_delivered_decides_about_later_states() {
    let fixture = Fixture::new("").await;
    let version = fixture.pod().resource_version().to_owned();
    fixture.factory.shutdown().await;
    check("", Some((&version, DeliveryEnd::Ok)), &["delivered"]).await;
    check(r#","types":["added"]"#, Some((&version, DeliveryEnd::Ok)), &["delivered"]).await;
    let types = "types: types added: updated is not among them";
    check(r#","types":["added"]"#, Some(("0", DeliveryEnd::Ok)), &["refused", types]).await;
    let unchanged = "onlyIfChanged: onlyIfChanged: no change after resourceVersion 0; /spec/n is 3";
    let keys = r#","onlyIfChanged":["/spec/n"]"#;
    check(keys, Some(("0", DeliveryEnd::Ok)), &["refused", unchanged]).await;
    check(keys, Some((&version, DeliveryEnd::Ok)), &["delivered"]).await;
}

#[tokio::test]
async fn an_object_that_is_not_there_is_said_with_the_nearest_name() {
    let fixture = Fixture::new("").await;
    let why = fixture.why("wbe");
    assert_eq!((&*why.answer, &*why.because), ("absent", "s: the cache has no v1/pods shop/wbe"));
    assert_eq!(fixture.nearest("wep").as_deref(), Some("web"));
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn an_object_that_was_there_is_answered_with_no_other_name() {
    let fixture = Fixture::new("").await;
    fixture.ended(&EndedDelivery { object: object("wep"), ..past() });
    assert_eq!(fixture.nearest("wep"), None);
    fixture.factory.shutdown().await;
}

/// Checks the word and the line of the first waiting event.
#[track_caller]
fn check_waiting(fixture: &Fixture, word: &str, text: &str) {
    let why = fixture.why("web");
    let first = why.waiting.first().unwrap_or_else(|| panic!("nothing waits: {why:?}"));
    assert_eq!((&*why.answer, &*first.why), ("waits", word), "{why:?}");
    assert!(first.text.contains(text), "{why:?}");
    assert!(why.because.ends_with(&first.text), "{why:?}");
}

#[tokio::test]
async fn an_event_waits_for_its_plugin_or_for_its_turn() {
    let fixture = Fixture::new("").await;
    let (core, now) = (&fixture.core, Timestamp::UNIX_EPOCH);
    fixture.push();
    check_waiting(&fixture, "line", "it comes next");
    core.queue.look(|it| {
        it.keys.set_bounds(Bounds { keys: 1, bytes: 1 << 20 });
        it.keys.add("a", AddOptions::default(), Instant::now()).expect("there is room");
    });
    check_waiting(&fixture, "workqueue", "no room for its keys");
    assert_eq!(PluginStatus::of(core).to_json()["queue"]["notNow"], "workqueue");
    core.queue.look(|it| it.keys.clear());
    core.apply([Input::Paused], now);
    check_waiting(&fixture, "paused", "paused until `informant plugin resume p`");
    core.resumed(now);
    core.apply([Input::Tripped { reason: "20 of 20 failed".to_owned() }], now);
    check_waiting(&fixture, "tripped", "tripped: 20 of 20 failed");
    core.shows_breaker(now);
    let began = Instant::now();
    assert!(core.queue.pop(0, began).is_some());
    check_waiting(&fixture, "call", "the plugin is being called for it");
    fixture.told("1", DeliveryEnd::Failed, "no answer");
    core.queue.settle_event(0, Settled::RetryAt(began + Duration::from_secs(60)), began);
    check_waiting(&fixture, "retry", ": no answer");
    fixture.factory.shutdown().await;
}

/// Checks the answer after these deliveries of the newest state to the first and the second of two subscriptions. The
/// second one's filter refuses the pod.
async fn check_two(told: &[(SubscriptionId, DeliveryEnd)], answer: &str, because: &str) {
    let fixture = Fixture::with(
        r#"{"name":"all","resource":"v1/pods"},{"name":"some","resource":"v1/pods","filter":"object.spec.n > 3"}"#,
    )
    .await;
    let version = fixture.pod().resource_version().to_owned();
    for &(subscription, end) in told {
        let resource_version = &version;
        fixture.ended(&EndedDelivery { subscription, end, resource_version, ..past() });
    }
    let why = fixture.why("web");
    assert_eq!(why.answer, answer, "{told:?}: {why:?}");
    assert!(why.because.ends_with(because), "{told:?}: {why:?}");
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn a_delivery_counts_though_another_subscription_came_later() {
    let (ok, filtered) = ((ID, DeliveryEnd::Ok), (SECOND, DeliveryEnd::Filtered));
    check_two(&[ok, filtered], "delivered", ": ok").await;
    check_two(&[filtered, ok], "delivered", ": ok").await;
    check_two(&[(ID, DeliveryEnd::Enqueued), filtered], "enqueued", ": it became no key").await;
    check_two(&[], "no-record", "the history has no delivery of it").await;
    check_two(&[filtered], "no-record", ": filtered").await;
}

#[tokio::test]
async fn keys_of_an_object_that_is_gone_are_not_denied() {
    let fixture = Fixture::new(r#","enqueue":["self"]"#).await;
    let end = DeliveryEnd::Enqueued;
    fixture.ended(&EndedDelivery {
        object: object("gone"),
        change: Change::Deleted,
        end,
        ..past()
    });
    let why = fixture.why("gone");
    let because = ": its keys came from its last state, which is gone";
    assert!(why.answer == "enqueued" && why.because.ends_with(because), "{why:?}");
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn an_event_that_is_tried_again_has_no_error_of_another_object() {
    let fixture = Fixture::new("").await;
    let began = Instant::now();
    fixture.core.event_comes_again("pods shop/db: of another object");
    fixture.push();
    assert!(fixture.core.queue.pop(0, began).is_some());
    let retry = Settled::RetryAt(began + Duration::from_secs(60));
    fixture.core.queue.settle_event(0, retry, began);
    check_waiting(&fixture, "retry", "attempt 2 comes in ");
    assert!(!fixture.why("web").because.contains("another object"));
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn an_answer_has_the_first_of_many_waiting_events_and_the_number_of_the_others() {
    let fixture = Fixture::new("").await;
    (0..60).for_each(|_| fixture.push());
    let why = fixture.why("web");
    assert_eq!((why.waiting.len(), why.waiting_more), (50, 10));
    fixture.factory.shutdown().await;
}

#[tokio::test]
async fn a_state_that_one_subscription_took_and_another_gave_up_is_given_up() {
    let fixture =
        Fixture::with(r#"{"name":"all","resource":"v1/pods"},{"name":"too","resource":"v1/pods"}"#)
            .await;
    let version = fixture.pod().resource_version().to_owned();
    fixture.told(&version, DeliveryEnd::Ok, "");
    fixture.core.dead_letters.lock().push(DeadLetter {
        id: 0,
        subscription: "too".to_owned(),
        resource: "v1/pods".to_owned(),
        event: fixture.update(),
        attempts: 3,
        parked: false,
        error: "no answer".to_owned(),
        at: Timestamp::UNIX_EPOCH,
    });
    let why = fixture.why("web");
    assert_eq!((&*why.answer, why.because.ends_with("3 attempts: no answer")), ("given-up", true));
    let subscription = SECOND;
    let resource_version = &version;
    fixture.ended(&EndedDelivery { subscription, resource_version, ..past() });
    assert_eq!(fixture.why("web").answer, "delivered", "it took it later");
    fixture.factory.shutdown().await;
}
