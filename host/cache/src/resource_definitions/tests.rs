//! Definitions wake waiting reflectors, in paused time.

use super::*;
use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::list_watch::ListWatchError;
use crate::shared_informer::SharedIndexInformer;
use crate::testing::FakeControllerSource;

const WIDGETS: &str = r#"{"metadata":{"name":"widgets.example.com"}}"#;
const WIDGET: &str = r#"{"metadata":{"name":"a","namespace":"n"}}"#;

/// An informer of a custom resource that does not exist.
struct Bench {
    source: FakeControllerSource,
    factory: SharedInformerFactory,
    informer: SharedIndexInformer,
}

impl Bench {
    async fn new() -> Self {
        let source = FakeControllerSource::default();
        source.set_served(false);
        let options = FactoryOptions { seed: 1, ..Default::default() };
        let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
        let widgets = "example.com/v1/widgets".parse().expect("a resource");
        let informer = factory.for_resource(&widgets);
        factory.start();
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(informer.state().as_str(), "waiting");
        Self { source, factory, informer }
    }

    fn requests(&self) -> usize {
        self.source.requests().len()
    }

    /// Seconds until the informer has synced with `objects` objects.
    async fn synced_with(&self, objects: usize) -> f64 {
        let begun = Instant::now();
        while self.informer.state() != InformerState::Synced
            || self.informer.stats().objects != objects
        {
            tokio::time::sleep(Duration::from_millis(10)).await;
            assert!(begun.elapsed() < Duration::from_secs(600), "{:?}", self.informer);
        }
        begun.elapsed().as_secs_f64()
    }
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_defined_is_listed_at_once() {
    let bench = Bench::new().await;
    let before = bench.requests();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert!(bench.requests() - before <= 4, "watched, not polled");
    bench.source.set_served(true);
    bench.source.add(WIDGET);
    bench.source.definitions().add(WIDGETS);
    let waited = bench.synced_with(1).await;
    assert!(waited <= 0.05, "{waited} s");
    bench.factory.shutdown().await;
}

#[tokio::test(start_paused = true)]
async fn a_definition_that_is_not_established_yet_is_heard_of_again() {
    let bench = Bench::new().await;
    bench.source.definitions().add(WIDGETS);
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert_eq!(bench.informer.state().as_str(), "waiting");
    bench.source.set_served(true);
    bench.source.definitions().modify(WIDGETS);
    let waited = bench.synced_with(0).await;
    assert!(waited <= 0.05, "{waited} s");
}

#[tokio::test(start_paused = true)]
async fn other_definitions_wake_nobody() {
    let bench = Bench::new().await;
    let before = bench.requests();
    for _ in 0..100 {
        bench.source.definitions().add(r#"{"metadata":{"name":"gadgets.example.com"}}"#);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert!(bench.requests() - before <= 1);
}

#[tokio::test(start_paused = true)]
async fn where_definitions_may_not_be_listed_the_resource_is_polled() {
    let bench = Bench::new().await;
    let definitions = bench.source.definitions();
    for _ in 0..1000 {
        definitions.refuse_next(ListWatchError::Forbidden { message: "no".to_owned() });
    }
    definitions.end_watches(None);
    tokio::time::sleep(Duration::from_secs(10)).await;
    bench.source.set_served(true);
    let waited = bench.synced_with(0).await;
    assert!(waited <= 5.0, "{waited} s");
}

#[tokio::test(start_paused = true)]
async fn definitions_are_followed_only_while_somebody_waits() {
    let bench = Bench::new().await;
    bench.source.set_served(true);
    bench.source.definitions().add(WIDGETS);
    bench.synced_with(0).await;
    tokio::time::sleep(LINGER + Duration::from_secs(1)).await;
    let before = bench.source.definitions().requests().len();
    tokio::time::sleep(Duration::from_secs(3600)).await;
    assert_eq!(bench.source.definitions().requests().len(), before, "nobody asks any more");
}

#[tokio::test(start_paused = true)]
async fn a_resource_that_is_removed_and_made_again_is_emptied_and_filled() {
    let bench = Bench::new().await;
    for name in ["a", "b"] {
        bench.source.set_served(true);
        bench.source.add(&WIDGET.replace("\"a\"", &format!("{name:?}")));
        bench.source.definitions().add(WIDGETS);
        bench.synced_with(1).await;
        bench.source.set_served(false);
        bench.source.definitions().delete(WIDGETS);
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert_eq!(bench.informer.state().as_str(), "waiting");
        assert_eq!(bench.informer.stats().objects, 0);
    }
}

#[test]
fn only_resources_that_somebody_defines_have_a_signal() {
    let source = Arc::new(FakeControllerSource::default());
    let definitions = ResourceDefinitions::new(source, Arc::new(Semaphore::new(1)), 1);
    let signal = |gvr: &str| definitions.signal(&gvr.parse().expect("a resource"));
    assert!(signal("v1/pods").is_none());
    for number in 0..1_000 {
        assert!(signal(&format!("example.com/v1/widgets{number}")).is_some());
    }
    let _last = signal("example.com/v1/widgets");
    let known = definitions.shared.signals.known();
    assert!(known < 100, "{known}: those that are gone are forgotten");
}
