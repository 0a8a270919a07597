//! Panics in the code that users give an informer, and in its source, and their effect.

use crate::informer_factory::{FactoryOptions, SharedInformerFactory};
use crate::list_watch::{ListerWatcher, ListerWatcherSource, Part};
use crate::testing::FakeControllerSource;
use crate::transform::Transform;
use informant_apimachinery::GroupVersionResource;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

#[tokio::test(start_paused = true)]
async fn a_hook_that_panics_when_a_transform_fails_harms_nobody() {
    let source = FakeControllerSource::default();
    source.add(r#"{"metadata":{"name":"a"}}"#);
    let options = FactoryOptions {
        transform: Some(Transform::new(|_| panic!("on purpose"))),
        watch_error_handler: Some(Arc::new(|_: &crate::WatchFailure<'_>| panic!("on purpose"))),
        ..Default::default()
    };
    let factory = SharedInformerFactory::new(Arc::new(source.clone()), options);
    let informer = factory.for_resource(&"v1/pods".parse().expect("a resource"));
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("it syncs");
    assert_eq!(informer.indexer().count(None), 1);
    assert_eq!(informer.stats().handler_panics, 1);
}

/// Panics at the first request.
struct Unsound(FakeControllerSource, AtomicBool);

impl ListerWatcherSource for Unsound {
    fn lister_watcher(
        &self,
        resource: &GroupVersionResource,
        part: &Part,
    ) -> Arc<dyn ListerWatcher> {
        assert!(self.1.swap(true, Ordering::SeqCst), "on purpose");
        self.0.lister_watcher(resource, part)
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_failed_is_replaced_for_who_asks_next() {
    let source = Unsound(FakeControllerSource::default(), false.into());
    let options = FactoryOptions::default();
    let factory = SharedInformerFactory::new(Arc::new(source), options);
    let pods: GroupVersionResource = "v1/pods".parse().expect("a resource");
    let failed = factory.for_resource(&pods);
    factory.start();
    failed.stopped().await;
    let informer = factory.for_resource(&pods);
    factory.start();
    factory.wait_for_cache_sync(Duration::from_secs(1)).await.expect("it syncs");
    assert!(failed.is_stopped() && informer.has_synced());
}
